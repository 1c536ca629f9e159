r"""
A system: gas dynamics with viscosity
=====================================

The p-system in Lagrangian coordinates, with the specific volume :math:`\tau`, the velocity :math:`v` and
the pressure :math:`p=\tau^{-2}`:

.. math:: \partial_t\tau-\nabla\cdot v=g_\tau,\qquad \partial_tv+\nabla p(\tau)-\varepsilon\Delta v=g_v .

Only the velocity diffuses. The error is measured through the relative entropy, which asks for a set of
states.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem

# %%
# The catalogue has this problem with sources chosen such that the solution is known.

problem = stfem.problems.diffusive_p_system(dim=1, eps=1e-2, final_time=0.1)
result = stfem.certify(problem, cells=24, degree=2)
print(result)

# %%
# The bound holds under one assumption that no computation can verify, and says so. That the
# *reconstruction* stays in the set of states is verified.

print(result.assumptions[0])
assert "specific volume" in result.assumptions[0]
assert 1.0 <= result.effectivity < 3.0

# %%
# A wider set of states asks less of the solution and costs sharpness.

equation = problem.equation
wide = stfem.equations.DiffusivePSystem(equation.diffusion, dim=1, lower=0.5, upper=2.0)
relaxed = stfem.Problem(wide, problem.domain, problem.initial, 0.1, problem.source, exact=problem.exact)
loose = stfem.certify(relaxed, cells=24, degree=2)
print(f"effectivity: {result.effectivity:.2f} on [0.85, 1.15], {loose.effectivity:.2f} on [0.5, 2]")
assert loose.bound > result.bound

# %%
# Both components at the final time:

x = np.linspace(0.0, 1.0, 400, endpoint=False)[None]
volume, velocity = result.solution(x)
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.plot(x[0], volume, label="specific volume τ")
axes.plot(x[0], velocity, "--", label="velocity v")
axes.set(xlabel="x (dimensionless)", ylabel="value (dimensionless)")
axes.legend()
