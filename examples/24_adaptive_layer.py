r"""
A layer that moves, and a mesh that follows
===========================================

A front of width :math:`\sqrt{w^2+4\varepsilon t}` crosses a square. Small cells are needed where it is, and
nowhere else; the bound says where that is, window by window of the time.
"""

import matplotlib.pyplot as plt
import numpy as np
import skfem

import stfem
from stfem.problems import moving_front

# %%
# One number is asked for: the bound of :math:`\sup_t\|u-\hat u\|`. The mesh that is given is only where the
# search starts. Initial and boundary values are functions here, whose integrals are not proved: hence
# ``unproved``.

mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, 5)] * 2)
problem = moving_front(dim=2, eps=1e-4, width=0.02, final_time=0.12, mesh=mesh)
result = stfem.certify(problem, tol=4e-2, degree=2, unproved=True)
print(result)
print(result.search)
assert result.error <= result.bound <= 4e-2
lower, upper = result.enclosure
assert lower <= result.error_dg <= upper

# %%
# Every window has a mesh of its own. At a change the reconstruction jumps; the jump is integrated exactly on
# the cells that both meshes have in common, and it is part of the bound.

solution = result.solution
times = [0.0, 0.5 * solution.time, solution.time]
figure, panels = plt.subplots(1, 3, figsize=(11.0, 4.3), sharey=True, layout="constrained")
for axes, t in zip(panels, times, strict=True):
    cells = solution.mesh_at(t).mesh()
    axes.triplot(*cells.vertices, cells.cells.T, lw=0.4, color="0.3")
    axes.plot([0.25 + 1.25 * t, (0.25 + 1.25 * t - 0.5)], [0.0, 1.0], color="C1", lw=1.0)
    axes.set(title=f"t = {t:.3g}, {cells.size} cells", aspect="equal", xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    axes.set(xlabel="x (dimensionless)")
panels[0].set(ylabel="y (dimensionless)")

# %%
# The bound grows evenly: each window may spend its part of the tolerance, and what is left by earlier ones.

figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.plot(result.history["time"], result.history["bound"], label="bound of ‖u − û‖")
axes.plot([0.0, solution.time], [0.0, 4e-2], ":", color="0.5", label="tolerance, spread over time")
for start, _ in solution.meshes[1:]:
    axes.axvline(start, color="0.85", lw=0.8, zorder=0)
axes.set(xlabel="time t (dimensionless)", ylabel="L² norm (dimensionless)", xlim=(0.0, solution.time))
axes.set(ylim=(0.0, None))
axes.legend()

# %%
# A uniform mesh with as many unknowns does not see the layer well.

uniform = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, 18)] * 2)
plain = stfem.certify(moving_front(2, 1e-4, 0.02, 0.12, uniform), degree=2)
sizes = [int(result.facts["dofs_mean"]), plain.solution.values.size]
print(f"adaptive: {sizes[0]} unknowns, {result.bound:.2e}; uniform: {sizes[1]} unknowns, {plain.bound:.2e}")
assert result.bound < plain.bound
