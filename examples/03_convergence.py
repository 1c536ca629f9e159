"""
A convergence study
===================

On a smooth solution the numerical solution converges with order :math:`q+1` and its reconstruction with
order :math:`2q+1`. The bound follows the reconstruction.
"""

import matplotlib.pyplot as plt
import numpy as np
from tabulate import tabulate

import stfem

# %%
# The experimental order of convergence (EOC) compares each grid with the one before.

problem = stfem.problems.linear_advection_diffusion(dim=1, eps=1e-4, final_time=0.2)
counts = [8, 16, 32, 64]
runs = {q: [stfem.certify(problem, cells=n, degree=q) for n in counts] for q in (1, 2, 3)}


def orders(values):
    return np.log2(np.array(values[:-1]) / np.array(values[1:]))


for degree, results in runs.items():
    columns = {
        "‖u−u_h‖": [result.error_dg for result in results],
        "‖u−û‖": [result.error for result in results],
        "bound": [result.bound for result in results],
    }
    table = {"N": counts}
    for name, values in columns.items():
        table[name] = [f"{value:.2e}" for value in values]
        table[f"EOC {name}"] = ["", *(f"{order:.2f}" for order in orders(values))]
    print(f"degree {degree}")
    print(tabulate(table, headers="keys", disable_numparse=True), end="\n\n")

# %%
# Bounds (filled) and true errors (open) of the reconstruction lie on top of each other; the errors of
# :math:`u_h` are the dotted lines. Degree 3 ends at round-off, which a bound has to include.

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for (degree, results), colour in zip(runs.items(), ("#0072B2", "#D55E00", "#009E73"), strict=True):
    axes.loglog(counts, [r.bound for r in results], "o-", color=colour, label=f"degree {degree}")
    axes.loglog(counts, [r.error for r in results], "s", mfc="none", ms=9, color=colour)
    axes.loglog(counts, [r.error_dg for r in results], ":", color=colour)
axes.set(xlabel="cells N", ylabel="L² norm (units of u)")
axes.set_xticks(counts, [str(count) for count in counts])
axes.set_xticks([], minor=True)
axes.legend()

for degree, results in runs.items():
    order = orders([result.bound for result in results])[1]
    assert 2 * degree + 0.5 < order < 2 * degree + 1.8
    assert all(result.effectivity >= 1.0 for result in results)
