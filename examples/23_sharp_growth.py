r"""
Bounds through a viscous shock
==============================

Gronwall's inequality pays for the steepest slope as if the error sat there and nowhere else. Diffusion
forbids that: an error so narrow would decay. With the diffusion taken into account the bound follows a
solution through its shock.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem

# %%
# Viscous Burgers from :math:`u_0=\sin2\pi x`; a shock forms at :math:`t\approx0.16`. Both estimators see
# the same solution.

problem = stfem.problems.burgers_cole_hopf(eps=0.02, final_time=0.5)
solution = stfem.solve(problem, cells=32, degree=2)
sharp = stfem.estimate(solution)
pointwise = stfem.estimate(solution, stfem.SplitEstimator(spectral=False))
for name, result in (("pointwise rate", pointwise), ("default", sharp)):
    print(f"{name}: effectivity {result.effectivity:.1f}, growth {result.parts['growth']:.1f}")
    print(f"    {result.explanation}")

# %%
# How much do small errors really grow? :func:`stfem.stability_factor` linearises the scheme around the
# solution and finds the perturbation that grows most from a time :math:`t` to the end, by solving
# forwards and, for the dual problem, backwards. That is an estimate and proves nothing, but it tells how
# much of a growth factor is the price of the argument.

growth = stfem.stability_factor(solution)
print(growth)
assert growth.factor < sharp.parts["growth"] < pointwise.parts["growth"]

# %%
# In :math:`L^1` no error grows at all (T4.4), and the dual problem sees that residuals which oscillate
# cancel (N10). The error in this norm is summed up at many points, at a few final times.

times, points = np.array([0.05, 0.1, 0.2, 0.3, 0.5]), (np.arange(20000) + 0.5)[None] / 20000
errors, bounds = [], []
for time in times:
    shorter = stfem.problems.burgers_cole_hopf(eps=0.02, final_time=time)
    run = stfem.certify(shorter, cells=32, degree=2)
    errors.append(np.mean(np.abs(run.solution.reconstruct()(points) - shorter.exact(points, time))))
    bounds.append(run.bound_l1)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
for result, style, name in ((pointwise, ":", "bound, pointwise rate"), (sharp, "-", "bound")):
    left.semilogy(result.history["time"], result.history["bound"], style, color="C0", label=name)
left.semilogy(sharp.history["time"], sharp.history["error"], "--", color="black", label="true error")
left.set(xlabel="time t (units of the problem)", ylabel="‖u − û‖ in L²")
middle.semilogy(times, bounds, "o-", color="C0", label="bound")
middle.semilogy(times, errors, "s--", color="black", label="true error")
middle.set(xlabel="final time T (units of the problem)", ylabel="‖u − û‖ in L¹ at T")
right.plot(growth.times, growth.factors, "o-", color="C1")
right.set(xlabel="time t (units of the problem)", ylabel="estimated growth from t to T", ylim=(0.0, 2.2))
left.legend()
middle.legend()

assert np.all(sharp.history["error"] <= sharp.history["bound"])
assert sharp.effectivity < 5.0 < 20.0 < pointwise.effectivity
assert np.all(np.array(errors) <= bounds)
