r"""
Kernels and spline orders
=========================

The reconstruction is the convolution of the numerical solution with a kernel of B-splines (T2.2). Their
order is a choice, and so is what the bound is about: a smoother :math:`\hat u` has a smaller residual,
up to a point.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import BSpline

import stfem
from stfem.reconstruction import kernel_coefficients

# %%
# The kernels for degree 2, in units of the cell size. All reproduce polynomials of degree 4; their
# coefficients are exact fractions.

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
x = np.linspace(-5.0, 5.0, 1001)
for order, style in ((3, "-"), (4, "--"), (6, ":")):
    knots = np.arange(order + 1) - 0.5 * order
    spline = BSpline.basis_element(knots, extrapolate=False)
    coefficients = kernel_coefficients(2, order)
    values = sum(
        float(c) * np.nan_to_num(spline(x - g)) for g, c in zip(range(-2, 3), coefficients, strict=True)
    )
    axes.plot(x, values, style, label=f"splines of order {order}")
axes.set(xlabel="distance (cells)", ylabel="kernel (1 / cell)")
axes.legend()
print("order 4:", *kernel_coefficients(2, 4))

# %%
# One problem, one numerical solution per order (its initial value is corrected for the reconstruction),
# and the bound of each.

problem = stfem.problems.linear_advection_diffusion(dim=1, eps=1e-2, final_time=0.25)
rows = {}
for order in range(2, 9):
    estimator = stfem.SplitEstimator(stfem.Siac(order), spectral=False)
    rows[order] = stfem.certify(problem, cells=16, degree=2, estimator=estimator)

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.semilogy(list(rows), [run.bound for run in rows.values()], "o-", label="bound")
axes.semilogy(list(rows), [run.error for run in rows.values()], "s--", label="true error of û")
axes.set(xlabel="spline order ℓ", ylabel="L² norm (units of u · length$^{1/2}$)")
axes.legend()

# %%
# From the default order on (4 for degree 2) not much is gained; lower orders lose smoothness that the
# residual needs. Splits by frequency (N6), left out above, take much of that loss back.

default = stfem.certify(problem, cells=16, degree=2)
smoothed = stfem.certify(problem, cells=16, degree=2, estimator=stfem.SplitEstimator(stfem.Siac(2)))
print(f"order 2: {rows[2].bound:.2e}, with splits by frequency {smoothed.bound:.2e}")
assert default.bound <= 1.001 * rows[4].bound
assert rows[2].bound > 3.0 * rows[4].bound
assert smoothed.bound < 0.7 * rows[2].bound
assert all(run.effectivity >= 1.0 for run in rows.values())
