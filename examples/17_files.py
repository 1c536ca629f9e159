"""
Files, ParaView and scikit-fem
==============================

A run is saved and read again, exported with its jumps and indicators, and a computation of another package
gets a bound.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import meshio
import numpy as np
import skfem
from skfem.helpers import dot, grad

import stfem
from stfem.io import from_skfem, write_vtk, write_vtk_series

folder = tempfile.TemporaryDirectory()  # all files of this example, removed at its end
here = Path(folder.name)

# %%
# The two files of a run are archives of plain arrays; nothing in them is executed when they are read.
# What is read is what was saved, and a loaded solution is estimated like any other.

problem = stfem.problems.sheared_pulse(dim=2, eps=1e-3, final_time=0.2)
result = stfem.certify(problem, cells=6, degree=2)
result.solution.save(here / "run.npz")
result.save(here / "estimate.npz")

loaded = stfem.Solution.load(here / "run.npz")
print(loaded)
assert np.array_equal(loaded.values, result.solution.values)
assert stfem.Estimate.load(here / "estimate.npz").bound == stfem.estimate(loaded).bound

# %%
# For ParaView every cell has nodes of its own, as many as its polynomials need. ``movie.pvd`` is a
# series of such files.

write_vtk(here / "u.vtu", result.solution, result)
write_vtk_series(here / "movie.pvd", result.solution, result, times=(0.0, 0.1, 0.2))
print(*sorted(str(path.relative_to(here)) for path in here.rglob("*")), sep="\n")

# %%
# What the file holds: nine values per cell, at nodes of its own (white), and an indicator per cell.

mesh = meshio.read(here / "u.vtu")
nodes, eta = mesh.cells[0].data, mesh.cell_data["eta"][0]
x, y, _ = mesh.points.T
ring = nodes[:, [0, 4, 1, 5, 2, 6, 3, 7]]
triangles = np.stack([ring, np.roll(ring, -1, axis=1), np.repeat(nodes[:, 8:], 8, axis=1)], axis=2)

figure, panels = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained", sharey=True)
faces, style = triangles.reshape(-1, 3), {"cmap": "cividis", "rasterized": True}
field = panels[0].tripcolor(x, y, faces, mesh.point_data["u_h"], shading="gouraud", **style)
panels[0].plot(x, y, ".", color="white", ms=1.5)
squares = panels[1].tripcolor(x, y, faces, facecolors=1e3 * np.repeat(eta, 8), **style)
for axes in panels:
    axes.set(xlabel="x (dimensionless)", aspect="equal", xlim=(0, 1), ylim=(0, 1))
panels[0].set_ylabel("y (dimensionless)")
figure.colorbar(field, ax=panels[0], label="u_h (dimensionless)", shrink=0.9)
figure.colorbar(squares, ax=panels[1], label="indicator (10⁻³ units of u)", shrink=0.9)
assert np.isclose(np.sum(eta**2), result.indicators_sq.sum())

# %%
# The other way: diffusion of a sine wave, computed in scikit-fem with continuous elements and implicit
# Euler steps. The wave vanishes at both ends, so that boundary values do the work of periodicity.

diffusion, two_pi = 1e-2, 2.0 * np.pi
line = skfem.MeshLine1.init_tensor(np.linspace(0.0, 1.0, 13))
element = skfem.ElementLineP2()
basis = skfem.Basis(line, element)


@skfem.BilinearForm
def mass(u, v, _):
    return u * v


@skfem.BilinearForm
def stiffness(u, v, _):
    return diffusion * dot(grad(u), grad(v))


def euler(steps):
    u = np.sin(two_pi * basis.doflocs[0])
    m, a = mass.assemble(basis), stiffness.assemble(basis)
    levels = [u]
    for _ in range(steps):
        u = skfem.solve(*skfem.condense(m + a / steps, m @ u, D=basis.get_dofs()))
        levels.append(u)
    return levels


# %%
# The time levels become a solution. Its bound needs neither the exact solution nor any knowledge of how
# the levels were computed; the true error is there to compare.

decay = diffusion * two_pi**2
wave = stfem.Problem(
    stfem.equations.AdvectionDiffusion((0.0,), diffusion),
    stfem.Torus(1.0),
    initial=stfem.data.sine(two_pi),
    final_time=1.0,
    exact=lambda x, t: np.exp(-decay * t) * np.sin(two_pi * x[0]),
    exact_gradient=lambda x, t: two_pi * np.exp(-decay * t) * np.cos(two_pi * x),
)
counts = (8, 16, 32, 64, 128)
runs = [stfem.estimate(from_skfem(wave, line, element, euler(steps), degree=2)) for steps in counts]
for steps, run in zip(counts, runs, strict=True):
    print(f"{steps:4} steps: bound {run.bound:.2e}, true error {run.error:.2e}")
    assert run.guaranteed
    assert run.error <= run.bound

figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
axes.loglog(counts, [run.bound for run in runs], "o-", color="#0072B2", label="guaranteed bound")
axes.loglog(counts, [run.error for run in runs], "s--", color="#D55E00", label="true error")
axes.set_xticks(counts, [str(steps) for steps in counts], minor=False)
axes.minorticks_off()
axes.set(xlabel="Euler steps in scikit-fem (dimensionless)", ylabel="‖u − û‖ (units of u)")
axes.legend(frameon=False)

# %%
folder.cleanup()
