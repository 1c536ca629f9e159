"""Effectivities of three ways to measure the residual, over the diffusion."""

import matplotlib.pyplot as plt
import numpy as np
import shared

import stfem
from stfem.estimators import AllDualEstimator, AllL2Estimator

rule = stfem.Siac(order=2)
estimators = {
    "all in L²": (AllL2Estimator(rule), shared.GREEN, "s--"),
    "all in the dual norm": (AllDualEstimator(rule), shared.ORANGE, "^:"),
    "split": (stfem.SplitEstimator(rule), shared.BLUE, "o-"),
}
values = np.logspace(0, -8, 9)
effectivity = {name: [] for name in estimators}
for eps in values:
    time = 0.05 if eps > 0.1 else 0.25
    problem = stfem.problems.linear_advection_diffusion(1, eps, time)
    solution = stfem.solve(problem, cells=16, degree=1, initial_correction=rule, history=True)
    for name, (estimator, _, _) in estimators.items():
        effectivity[name].append(stfem.estimate(solution, estimator).effectivity)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), width_ratios=(3, 2))
for name, (_, colour, style) in estimators.items():
    left.loglog(values, effectivity[name], style, color=colour, label=name)
    right.semilogx(values, effectivity[name], style, color=colour)
left.set(xlabel="diffusion ε (dimensionless)", ylabel="bound / error (dimensionless)")
left.legend()
right.set(xlabel="diffusion ε (dimensionless)", xlim=(5e-4, 2.0), ylim=(0.95, 1.55), title="close to 1")
