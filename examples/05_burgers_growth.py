r"""
Burgers' equation and the growth of errors
==========================================

Where a nonlinear solution steepens, errors can be amplified. The bound follows them with a factor
:math:`\exp\int\mu`, where :math:`2\mu` is the largest value of :math:`-\partial_x\hat u` (T4.1). What
that costs is seen on a solution that is known from the Cole–Hopf transformation. (What diffusion takes
back of the factor is left out here; :ref:`sphx_glr_gallery_23_sharp_growth.py` has it.)
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem

# %%
# From :math:`u_0=\sin2\pi x`, the inviscid equation would form a shock at :math:`t=1/(2\pi)\approx0.16`.
# Here :math:`\varepsilon=0.02` limits the slope.

problem = stfem.problems.burgers_cole_hopf(eps=0.02, final_time=0.4)
estimator = stfem.SplitEstimator(spectral=False)
result = stfem.certify(problem, cells=32, degree=2, estimator=estimator)
print(result)

# %%
# The factor grows quickly while the slope is steep. The true error does not use it up: on both sides of
# a steep front, characteristics run into each other and errors cancel, which an energy argument cannot
# see.

time = result.history["time"]
growth = np.exp(np.cumsum(0.5 * np.maximum(result.history["growth"], 0.0) * np.diff(time, prepend=0.0)))
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
left.semilogy(time, result.history["bound"], label="bound of ‖u − û‖")
left.semilogy(time, result.history["error"], "--", label="true ‖u − û‖")
left.set(xlabel="time t (units of the problem)", ylabel="L² norm (units of u · length$^{1/2}$)")
left.legend()
right.semilogy(time, growth, color="black")
right.set(xlabel="time t (units of the problem)", ylabel="growth factor (dimensionless)")

before = time < 0.1
effectivity = result.history["bound"] / result.history["error"]
assert np.all(effectivity >= 1.0)
assert effectivity[before].max() < 2.0 < 5.0 < effectivity[-1]

# %%
# The bound in :math:`L^1` has no such factor (T4.4). In one dimension it is the one to look at for steep
# solutions.

print(f"L² bound at T: {result.bound_final:.2e},  L¹ bound at T: {result.bound_l1:.2e}")
assert result.bound_l1 < result.bound_final
