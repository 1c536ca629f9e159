r"""
Boundaries: a pulse leaves, a layer stays
=========================================

On a domain with boundaries, what is known there decides what can be proved. Where the flow leaves, the
condition "no diffusive flux" keeps every error from growing, and lets a pulse out without a trace. A value
given there instead makes a layer as thin as :math:`\varepsilon`, which no ordinary mesh resolves.
"""

import matplotlib.pyplot as plt
import numpy as np
import skfem

import stfem
from stfem.problems import leaving_pulse, outflow_layer
from stfem.reconstruction import TwoStage, VertexPatches

# %%
# A mesh of triangles, its inner vertices moved at random. ``with_defaults`` names the sides ``left``,
# ``right``, ``bottom`` and ``top``.


def triangles(n):
    mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2)
    inner = ((mesh.p > 1e-9) & (mesh.p < 1.0 - 1e-9)).all(axis=0)
    moves = np.random.default_rng(0).uniform(-0.2 / n, 0.2 / n, mesh.p.shape)
    return skfem.MeshTri(mesh.p + moves * inner, mesh.t).with_defaults()


mesh = triangles(12)

# %%
# The pulse. The catalogue has an exact solution for it, diffusion included: values given at the left side,
# ``Outflow()`` at the right one, nothing through the walls.

problem = leaving_pulse(dim=2, eps=1e-3, final_time=0.6, mesh=mesh)
for name, condition in problem.domain.boundary.items():
    print(f"{name:7}", type(condition).__name__)

sharp = stfem.MeshEstimator((TwoStage(),))
runs = [
    stfem.certify(leaving_pulse(2, 1e-3, final_time=time, mesh=mesh), degree=1, estimator=sharp)
    for time in (0.2, 0.4, 0.6)
]
for time, run in zip((0.2, 0.4, 0.6), runs, strict=True):
    lower, upper = run.enclosure
    print(f"t = {time}: error of û {run.error_final:.1e} ≤ {run.bound_final:.1e}, of u_h {run.error_dg:.1e}")
    assert run.error <= run.bound
    assert lower <= run.error_dg <= upper

# %%
# The pulse crosses the boundary at :math:`t=\tfrac12`; nothing comes back.

figure, panels = plt.subplots(1, 3, figsize=(9.0, 3.2), layout="constrained", sharey=True)
side = (np.arange(40) + 0.5) / 40.0
points = np.stack(np.meshgrid(side, side, indexing="ij"))
for panel, time, run in zip(panels, (0.2, 0.4, 0.6), runs, strict=True):
    values = run.solution(points.reshape(2, -1)).reshape(40, 40)
    image = panel.pcolormesh(side, side, values.T, vmin=0.0, vmax=1.5)
    panel.triplot(*mesh.p, mesh.t.T, color="white", lw=0.2)
    panel.set(title=f"t = {time:g}", xlabel="x (dimensionless)", aspect="equal")
panels[0].set(ylabel="y (dimensionless)")
figure.colorbar(image, label="u (units of u)")

# %%
# Had we taken an outflow where the flow enters, half of :math:`b\cdot n\,e^2` would feed the error, and no
# bound free of :math:`1/\varepsilon` exists. That is said before anything is computed.

open_ends = stfem.Box(0.0, 1.0, {"left": stfem.Outflow(), "right": stfem.Outflow()})
entering = stfem.Problem(stfem.equations.AdvectionDiffusion(1.0, 1e-3), open_ends, 0.0, 1.0)
message = ""
try:
    stfem.certify(entering, cells=8, degree=1)
except ValueError as error:
    message = str(error)
print(message)
assert "b·n = -1" in message

# %%
# The layer: the value 0 is given where the flow leaves. Cells are 600 times as wide as the layer. A
# polynomial that is forced to the value ruins the bound; ``lifted`` takes the value off the polynomial and
# adds the layer in closed form instead.

layer = outflow_layer(eps=1e-4, final_time=0.2, mesh=triangles(16))
solution = stfem.solve(layer, degree=1, history=True)
forced = stfem.estimate(solution, stfem.MeshEstimator((VertexPatches(),)))
lifted = stfem.estimate(solution, stfem.MeshEstimator((VertexPatches(), TwoStage()), lifted=("right",)))
print(f"forced to the value {forced.bound:.1e}, with the layer lifted {lifted.bound:.1e}")
assert lifted.bound < 0.1 * forced.bound
