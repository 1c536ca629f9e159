r"""
A tolerance without time
========================

A layer inside the domain, or one at its boundary: cells are needed there, and hardly anywhere else. The loop
solves, estimates, marks the cells with the largest indicators and bisects them, until the *bound* of the
error is at most a tolerance. Each mesh on the way has a bound of its own.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import skfem

import stfem
from stfem import plotting
from stfem.adaptivity import mark_dorfler
from stfem.problems import hemker_channel, interior_layer
from stfem.reconstruction import TwoStageMixed

# %%
# A step of the values at the inflow becomes a layer of width :math:`\sqrt\varepsilon`, here 0.01, along the
# flow. The first mesh has 32 triangles, none of which sees it.

mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, 5)] * 2).with_defaults()
problem = interior_layer(1e-4, upstream=0.25, mesh=mesh)
attempts = []
result = stfem.certify(problem, tol=5e-3, degree=2, unproved=True, callback=attempts.append)
print(result.search)
print(f"true error {result.error:.1e} ≤ bound {result.bound:.1e} ≤ 5e-3")
assert result.error <= result.bound <= 5e-3
assert all(attempt.certificate.error <= attempt.bound for attempt in attempts)

# %%
# ``unproved=True``: the values on the boundary are functions, which are interpolated, so that the bound is
# not proved to the last digit. The callback kept all certificates, to compare them with meshes that are
# refined everywhere.

uniform = []
try:
    stfem.certify(
        problem,
        tol=5e-3,
        degree=2,
        unproved=True,
        max_dofs=6_200,
        marking=partial(mark_dorfler, theta=1.0),
        callback=uniform.append,
    )
except stfem.ToleranceError as error:
    print(error)

figure, axes = plt.subplots(figsize=(5.4, 3.4), layout="constrained")
for kind, found, colour in (("adaptive", attempts, "#0072B2"), ("uniform", uniform, "#D55E00")):
    dofs = [attempt.dofs for attempt in found]
    axes.loglog(dofs, [attempt.bound for attempt in found], "o-", color=colour, label=f"{kind}, bound")
    errors = [attempt.certificate.error for attempt in found]
    axes.loglog(dofs, errors, "o--", mfc="white", color=colour, label=f"{kind}, true error")
axes.set(xlabel="unknowns (dimensionless)", ylabel="L² norm (units of u · length)")
axes.legend(loc="lower left")
same = uniform[-1].bound
enough = min(attempt.dofs for attempt in attempts if attempt.bound <= same)
print(f"bound {same:.1e}: {uniform[-1].dofs} unknowns of a uniform mesh, {enough} of an adaptive one")
assert enough < uniform[-1].dofs / 3

# %%
# The indicators of the last mesh: by now they are of the same size nearly everywhere.

figure = plotting.plot_indicators(result)

# %%
# Hemker's cylinder in a channel: 1 on the cylinder, 0 at the inflow. All data are constant and the bound is
# guaranteed. Nothing reacts: errors are held by the time alone that the flow takes to leave.

channel = stfem.certify(hemker_channel(2e-2, cells=1), tol=1.0, degree=2)
print(channel)
assert channel.guaranteed
figure = channel.solution.plot(reconstruction=TwoStageMixed())
