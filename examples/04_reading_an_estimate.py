"""
Where a bound comes from
========================

An estimate is more than a number: it says which part of the computation is responsible for the error,
and where on the grid.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem

# %%
# Two runs of the same problem, with little and with much diffusion.

runs = {}
for eps in (1e-4, 1e-1):
    problem = stfem.problems.linear_advection_diffusion(dim=2, eps=eps, final_time=0.2)
    runs[eps] = stfem.certify(problem, cells=12, degree=1)

for eps, result in runs.items():
    print(f"ε = {eps:g}: bound {result.bound:.3e}, true error {result.error:.3e}")
    for name, value in result.parts.items():
        print(f"    {name:10} {value:.3e}")

# %%
# ``initial`` is the error at :math:`t=0`, ``hyperbolic`` what convection and time stepping contribute
# (measured in :math:`L^2`), ``parabolic`` what diffusion contributes (measured in the dual norm).
# ``temporal`` is the share of the interpolation in time in the hyperbolic part, and ``growth`` the
# factor by which the equation itself may amplify errors; it is 1 here, because the velocity has no
# divergence.
#
# With much diffusion, what was contributed early has decayed: shares refer to the bound at the time of
# the picture.

small_diffusion = runs[1e-4].plot()
large_diffusion = runs[1e-1].plot()

# %%
# ``indicators_sq`` are squares per cell. They add up to the squared residual parts, so that they can
# steer a refinement.

result = runs[1e-4]
total = result.parts["hyperbolic"] ** 2 + result.parts["parabolic"] ** 2
assert np.isclose(result.indicators_sq.sum(), total)

figure, axes = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
image = axes.imshow(np.sqrt(result.indicators_sq).T, origin="lower", extent=(0, 1, 0, 1), cmap="cividis")
axes.set(xlabel="x (dimensionless)", ylabel="y (dimensionless)")
figure.colorbar(image, label="local indicator (units of u)")

# %%
# ``history`` holds the same over time, one entry per slab.

assert result.history["bound"][-1] == result.bound_final
assert all(run.effectivity >= 1.0 for run in runs.values())
