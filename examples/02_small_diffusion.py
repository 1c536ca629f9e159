"""
Sharp for every diffusion
=========================

The residual of the reconstruction can be measured in the :math:`L^2` norm, or in the norm dual to the
diffusion, or it can be split between the two. For one and the same numerical solution we compare the
three bounds with the true error as :math:`\varepsilon\to0`.
"""

import matplotlib.pyplot as plt

import stfem
from stfem.estimators import AllDualEstimator, AllL2Estimator

# %%
# The travelling wave of the catalogue has a known solution, so that every estimate comes with its
# effectivity, bound over error.

estimators = {
    "split": stfem.SplitEstimator(),
    "all in L²": AllL2Estimator(),
    "all in the dual norm": AllDualEstimator(),
}
values = [1.0, 0.3, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8]
effectivity = {name: [] for name in estimators}
for eps in values:
    problem = stfem.problems.linear_advection_diffusion(
        dim=1, eps=eps, final_time=0.05 if eps > 0.1 else 0.25
    )
    solution = stfem.solve(problem, cells=16, degree=2, history=True)
    for name, estimator in estimators.items():
        effectivity[name].append(stfem.estimate(solution, estimator).effectivity)

# %%
# Measured in the dual norm alone, the convective part of the residual costs a factor
# :math:`\varepsilon^{-1/2}`. In :math:`L^2` alone, second derivatives of the reconstruction count in
# full where diffusion dominates. With the smooth kernel that is used by default they are good enough to
# lose a few per cent only; with the roughest one, splines of order 2, it is a factor of eight.

figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
styles = {"split": "o-", "all in L²": "s--", "all in the dual norm": "^:"}
for name, numbers in effectivity.items():
    axes.loglog(values, numbers, styles[name], label=name)
axes.set(xlabel="diffusion ε (units of the problem)", ylabel="effectivity: bound / error (dimensionless)")
axes.legend()

assert all(1.0 <= number < 2.0 for number in effectivity["split"])
assert all(a >= 0.999 * b for a, b in zip(effectivity["all in L²"], effectivity["split"], strict=True))
assert effectivity["all in the dual norm"][-1] > 100.0

rough = stfem.Siac(order=2)
problem = stfem.problems.linear_advection_diffusion(dim=1, eps=0.1, final_time=0.25)
solution = stfem.solve(problem, cells=16, degree=2, initial_correction=rough)
split, unsplit = (stfem.estimate(solution, kind(rough)) for kind in (stfem.SplitEstimator, AllL2Estimator))
print(f"splines of order 2: split {split.effectivity:.2f}, all in L² {unsplit.effectivity:.2f}")
assert unsplit.effectivity > 5.0 * split.effectivity

# %%
# At :math:`\varepsilon=0` the split bound is as sharp as ever; the dual norm does not exist there.

advection = stfem.problems.linear_advection_diffusion(dim=1, eps=0.0, final_time=0.25)
limit = stfem.certify(advection, cells=16, degree=2)
print(f"effectivity at ε = 0: {limit.effectivity:.4f}")
assert limit.effectivity < 1.05
