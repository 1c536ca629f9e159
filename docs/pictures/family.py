"""Which member of the flux family is best, over the diffusion: single members, and the cheapest one."""

import matplotlib.pyplot as plt
import numpy as np
import shared

import stfem

values = np.logspace(0, -5, 11)
members = {
    "λ = 0 alone (scheme flux)": ((0.0,), shared.ORANGE, "^:"),
    "λ = 1 alone (all in L²)": ((1.0,), shared.GREEN, "s--"),
    "cheapest member on every slab": (None, shared.BLUE, "o-"),
}
effectivity = {name: [] for name in members}
for eps in values:
    time = 0.05 if eps > 0.1 else 0.25
    problem = stfem.problems.linear_advection_diffusion(1, eps, time)
    solution = stfem.solve(problem, cells=24, degree=3, initial_correction=stfem.Siac(4), history=True)
    for name, (chosen, _, _) in members.items():
        options = {} if chosen is None else {"members": chosen}
        estimator = stfem.SplitEstimator(stfem.Siac(4), **options)
        effectivity[name].append(stfem.estimate(solution, estimator).effectivity)
figure, axes = plt.subplots(figsize=(6.4, 3.6))
for name, (_, colour, style) in members.items():
    axes.semilogx(values, effectivity[name], style, color=colour, label=name)
axes.set(xlabel="diffusion ε (dimensionless)", ylabel="bound / error (dimensionless)", ylim=(0.9, None))
axes.legend()
