r"""
Why the grid has to be uniform
==============================

On a uniform grid the kernel (T2.2) finds an accuracy in :math:`u_h` that is not to be seen: the error of
:math:`u_h` oscillates within each cell, and in the same way in all of them. On an irregular grid it does
not. The library refuses such grids; here the filter is written out, to see what would become of it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import BSpline

from stfem.reconstruction import kernel_coefficients
from stfem.spaces.legendre import gauss, legendre_values

# %%
# The projection of a wave to polynomials of degree 1 stands for a numerical solution.

degree, order = 1, 4
support = degree + 0.5 * order  # of the kernel, in cells to either side
spline = BSpline.basis_element(np.arange(order + 1) - 0.5 * order, extrapolate=False)
kernel = [float(c) for c in kernel_coefficients(degree, order)]
abscissae, weights = gauss(8)


def wave(x):
    return np.sin(2.0 * np.pi * x)


def projection(nodes):
    points = nodes[:-1, None] + np.diff(nodes)[:, None] * abscissae
    return (wave(points) * weights) @ legendre_values(degree, abscissae)


# %%
# Its convolution with the kernel at one point: between the knots of the kernel and the nodes of the grid the
# integrand is a polynomial, which Gauss points integrate exactly.


def filtered(x, nodes, modes, h):
    knots = x + h * np.arange(-support, support + 1.0)
    inside = np.concatenate([nodes - 1.0, nodes, nodes + 1.0])
    ends = np.unique(np.concatenate([knots, inside[(inside > knots[0]) & (inside < knots[-1])]]))
    y = ends[:-1, None] + np.diff(ends)[:, None] * abscissae
    splines = sum(c * np.nan_to_num(spline((x - y) / h - g)) for g, c in enumerate(kernel, start=-degree))
    cells = np.clip(np.searchsorted(nodes, y % 1.0, side="right") - 1, 0, len(nodes) - 2)
    local = (y % 1.0 - nodes[cells]) / np.diff(nodes)[cells]
    basis = legendre_values(degree, local.ravel()).reshape(*y.shape, -1)
    values = np.einsum("pqk,pqk->pq", basis, modes[cells])
    return float(np.diff(ends) @ ((splines * values) @ weights)) / h


# %%
# Irregular grids have inner nodes that are moved at random, by up to 30 per cent of a cell.

rng = np.random.default_rng(1)
counts = [8, 16, 32, 64]
points = (np.arange(199) + 0.5) / 199
errors = {"uniform": [], "irregular": []}
for count in counts:
    for name, spread in (("uniform", 0.0), ("irregular", 0.6)):
        nodes = np.arange(count + 1) / count
        nodes[1:-1] += spread * rng.uniform(-0.5, 0.5, count - 1) / count
        modes = projection(nodes)
        values = np.array([filtered(x, nodes, modes, 1.0 / count) for x in points])
        errors[name].append(np.sqrt(np.mean((values - wave(points)) ** 2)))

orders = {name: np.log2(np.array(sizes[:-1]) / sizes[1:]) for name, sizes in errors.items()}
for name, sizes in errors.items():
    print(f"{name:10}", *(f"{size:.1e}" for size in sizes), " orders", *(f"{o:.2f}" for o in orders[name]))

# %%
# On uniform grids the order is twice that of the projection; on irregular ones nothing is gained. The bound
# would be as large as the error of :math:`u_h`, and the enclosure could not close.

figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.loglog(counts, errors["irregular"], "s--", label="irregular grid")
axes.loglog(counts, errors["uniform"], "o-", label="uniform grid")
axes.set(xlabel="cells N", ylabel="error of the filtered projection (units of u)")
axes.set_xticks(counts, [str(count) for count in counts])
axes.set_xticks([], minor=True)
axes.legend()

assert orders["uniform"][-1] > 3.8
assert orders["irregular"][-1] < 2.5
