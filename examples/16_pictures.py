r"""
Pictures
========

Solutions, bounds and tables draw themselves: with their jumps, in colours that colour-blind readers tell
apart and that survive grey print, in the width of a column. The page on pictures lists all functions; here
they are at work.
"""

import numpy as np
import skfem

import stfem
from stfem import Siac, plotting
from stfem.estimators import AllDualEstimator
from stfem.problems import linear_advection_diffusion, viscous_burgers

# %%
# Solutions and reconstructions
# -----------------------------
#
# A discontinuous Galerkin solution jumps from cell to cell. It is drawn up to both of its limits at every
# face, and no line crosses a jump. The thin line is the reconstruction :math:`\hat u`, which the bounds are
# about. Five cells and polynomials of degree 1 show the difference best.

coarse = stfem.certify(linear_advection_diffusion(dim=1, eps=1e-3, final_time=0.3), cells=5, degree=1)
curve = coarse.solution.plot(reconstruction=Siac())

# %%
# In two dimensions both stand side by side, with the same colours.

plane = stfem.certify(linear_advection_diffusion(dim=2, eps=1e-2, final_time=0.1), cells=(10, 6), degree=1)
maps = plane.solution.plot(reconstruction=Siac())

# %%
# What lies on a line through the square, and what on planes through a cube: a slice is a direction, counted
# from 0, and a position.

lines = plotting.plot_solution(plane.solution, reconstruction=Siac(), slices=[(1, 0.25), (0, 0.5)])

# %%

cube = stfem.certify(linear_advection_diffusion(dim=3, eps=1e-2, final_time=0.02), cells=5, degree=1)
slices = plotting.plot_solution(cube.solution, slices=[(2, 0.1), (1, 0.6), (0, 0.3)])

# %%
# Where the error comes from
# --------------------------
#
# The local indicators :math:`\eta_K` of the estimate, cell by cell. Their squares sum to the squared
# residual parts.

indicators = plotting.plot_indicators(plane)
total = plane.parts["hyperbolic"] ** 2 + plane.parts["parabolic"] ** 2
assert np.isclose(plane.indicators_sq.sum(), total)

# %%
# The same function draws any numbers per cell on the meshes of scikit-fem. Here cells are refined towards the
# corner of an L, and show the mean size of :math:`h_K\,|\nabla r^{2/3}|`, with :math:`r` the distance from
# the corner.

mesh = skfem.MeshTri.init_lshaped().refined(2)
for radius in (0.5, 0.25, 0.12):
    mesh = mesh.refined(np.flatnonzero(np.hypot(*mesh.p[:, mesh.t].mean(axis=1)) < radius))
distance = np.hypot(*mesh.p[:, mesh.t].mean(axis=1))
size = np.ptp(mesh.p[:, mesh.t], axis=1).max(axis=0)
slope = size * 2 / 3 * distance ** (-1 / 3)
corner = plotting.plot_cells(slope**2, mesh, label=r"$h_K\,|\nabla r^{2/3}|$ (units of $u$)")

# %%
# Bounds over time
# ----------------
#
# The parts that make up a bound, and its shares. With splines of order 2 the second derivatives of
# :math:`\hat u` are rough, and the dual norm takes part of the residual.

wave = linear_advection_diffusion(dim=1, eps=0.3, final_time=0.1)
rough = stfem.certify(
    wave, cells=16, degree=2, estimator=stfem.SplitEstimator(Siac(2)), initial_correction=False
)
parts = rough.plot()
assert all(rough.parts[name] > 0.0 for name in ("initial", "hyperbolic", "parabolic"))

# %%
# The residual itself, slab by slab: its hyperbolic part in :math:`L^2`, and the square of its parabolic part
# in the dual norm.

residual = plotting.plot_residual(rough)

# %%
# Bounds of several estimators, with the true error:

solution = stfem.solve(linear_advection_diffusion(dim=1, eps=1e-4, final_time=0.3), cells=16, degree=2)
estimates = {
    "split": stfem.estimate(solution),
    "unsplit, dual norm": stfem.estimate(solution, AllDualEstimator()),
}
bounds = plotting.plot_bound(estimates)
assert estimates["split"].bound < 0.1 * estimates["unsplit, dual norm"].bound

# %%
# For nonlinear equations early residuals grow. Drawing into axes of one's own puts panels together:

burgers = stfem.certify(viscous_burgers(dim=1, eps=1e-2, final_time=0.3), cells=24, degree=2)
panels = plotting.PaperFigure(7.0, 2.6)
left, right = panels.subplots(1, 2)
plotting.plot_bound(burgers, axes=left)
plotting.plot_growth(burgers, axes=right)
panels.unify()
assert burgers.parts["growth"] > 1.0

# %%
# Tables
# ------
#
# Rows of results against the mesh size: bounds are filled, true errors hollow, and the triangles show the
# orders :math:`2q+1`.


def row(eps, degree, cells):
    result = stfem.certify(linear_advection_diffusion(1, eps, 0.1), cells=cells, degree=degree)
    case = {"eps": eps, "degree": degree, "cells": cells, "h": 1.0 / cells}
    return case | {"bound": result.bound, "error": result.error, "effectivity": result.effectivity}


rows = [row(1e-3, degree, cells) for degree in (1, 2) for cells in (8, 16, 32)]
convergence = plotting.plot_convergence(rows, varied=("cells", "degree"))

# %%
# Effectivity against the diffusion; :math:`\varepsilon=0` stands beyond the break of the axis.

sweep = [row(eps, degree, 16) for degree in (1, 2) for eps in (1.0, 1e-2, 1e-4, 1e-6, 0.0)]
effectivity = plotting.plot_effectivity(sweep, varied=("eps", "degree"))
assert all(1.0 <= case["effectivity"] < 2.0 for case in sweep)
