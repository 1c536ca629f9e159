r"""
Without time: what holds an error
=================================

In time, an error that is made once is carried away or fades. A stationary problem has no such excuse: its
bound has to come from something in the equation. It is reaction, or diffusion with values given all around,
or the flow itself, which carries everything out in the time that it takes to cross the domain.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import skfem

import stfem
from stfem.problems import interior_layer, rotating_corner, stationary_layer
from stfem.reconstruction import TwoStage, TwoStageMixed, VertexPatches

# %%
# A step of the values at the inflow, at (0, ¼), becomes a layer inside. The exact solution is known; for
# :math:`\varepsilon=10^{-4}` the layer is about a cell wide, for :math:`10^{-6}` a tenth of that.


def triangles(n):
    mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2)
    inner = ((mesh.p > 1e-9) & (mesh.p < 1.0 - 1e-9)).all(axis=0)
    moves = np.random.default_rng(0).uniform(-0.2 / n, 0.2 / n, mesh.p.shape)
    return skfem.MeshTri(mesh.p + moves * inner, mesh.t).with_defaults()


mesh = triangles(16)
sharp = stfem.MeshEstimator((VertexPatches(), TwoStageMixed()))
for eps in (1e-2, 1e-4, 1e-6):
    problem = interior_layer(eps, reaction=0.0, upstream=0.25, mesh=mesh)
    estimate = stfem.estimate(stfem.solve_stationary(problem, degree=1), sharp)
    lower, upper = estimate.enclosure
    factor = estimate.parts["growth"]
    print(f"eps = {eps:g}: error {estimate.error:.1e} ≤ {estimate.bound:.1e}, factor {factor:.2f}")
    assert estimate.error <= estimate.bound
    assert lower <= estimate.error_dg <= upper

# %%
# Nothing reacts here. With diffusion alone the bound would grow like :math:`1/\varepsilon`; a weight that
# decays along the flow keeps it from that, at the price of the factor above, at most :math:`e`.
#
# The same on the re-entrant corner: the velocity rotates, reaction holds the error, and the exact solution
# has the singularity :math:`r^{2/3}`. Indicators say where the mesh should be finer.

corner = rotating_corner(eps=1e-2, refinements=3)
solution = stfem.solve_stationary(corner, degree=1)
estimate = stfem.estimate(solution, sharp)
print(f"energy norm: {estimate.error_energy:.1e} ≤ {estimate.bound_energy:.1e}")
assert estimate.error_energy <= estimate.bound_energy

domain = corner.domain.mesh().source
centres = domain.p[:, domain.t].mean(axis=1)
figure, panels = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained", sharey=True)
triangulation = (domain.p[0], domain.p[1], domain.t.T)
shown = panels[0].tripcolor(*triangulation, facecolors=solution(centres))
figure.colorbar(shown, label="u_h (units of u)")
marked = panels[1].tripcolor(*triangulation, facecolors=np.log10(estimate.indicators_sq), cmap="magma")
figure.colorbar(marked, label="log10 of the indicators, squared")
for panel in panels:
    panel.set(xlabel="x (dimensionless)", aspect="equal")
panels[0].set(ylabel="y (dimensionless)")

worst = centres[:, np.argmax(estimate.indicators_sq)]
print(f"largest indicator at {np.hypot(*worst):.2f} from the corner")
assert np.hypot(*worst) < 0.2

# %%
# A layer at the outflow that no cell resolves, lifted: the bound is of the size of the error.

layer = stationary_layer(eps=1e-4, mesh=mesh)
solution = stfem.solve_stationary(layer, degree=1)
forced = stfem.estimate(solution)
lifted = stfem.estimate(solution, stfem.MeshEstimator((VertexPatches(), TwoStage()), lifted=("right",)))
print(f"forced to the value {forced.bound:.1e}, with the layer lifted {lifted.bound:.1e}")
assert lifted.bound < 0.1 * forced.bound

# %%
# An iterative solver that is stopped early: a warning says so, and the bound knows.

solver = stfem.Gmres(iterations=3, fill=1.0, drop=0.5, warn=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    early = stfem.solve_stationary(interior_layer(1e-2, mesh=mesh), degree=1, solver=solver)
print(caught[0].message)
unfinished = stfem.estimate(early)
print(f"error {unfinished.error:.1e} ≤ {unfinished.bound:.1e}; left by the solver {early.residual:.1e}")
assert unfinished.error <= unfinished.bound
