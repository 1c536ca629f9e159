r"""
Enclosing the error of the numerical solution
=============================================

:math:`\hat u-u_h` is known, and :math:`\|u-\hat u\|` is bounded. The triangle inequality turns both into
an interval for the error of :math:`u_h` itself (T4.5). Since the reconstruction converges faster, the
interval closes.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem

# %%
# The exact solution serves to check the interval, not to compute it.

counts = [4, 8, 16, 32]
figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for degree, colour in ((1, "C0"), (2, "C1"), (3, "C2")):
    problem = stfem.problems.linear_advection_diffusion(dim=1, eps=1e-4, final_time=0.5)
    runs = [stfem.certify(problem, cells=count, degree=degree) for count in counts]
    true = np.array([run.error_dg for run in runs])
    lower, upper = np.array([run.enclosure for run in runs]).T
    assert np.all((lower <= true) & (true <= upper))
    axes.fill_between(counts, lower / true, upper / true, alpha=0.3, color=colour, label=f"degree {degree}")
    width = (upper - lower) / true
    print(f"degree {degree}: relative width", *(f"{number:.1e}" for number in width))
    assert width[-1] < 0.5 * width[1]
axes.axhline(1.0, color="black", lw=0.8)
axes.set(
    xscale="log", ylim=(0.0, 3.0), xlabel="cells", ylabel="enclosure / true error of u_h (dimensionless)"
)
axes.set_xticks(counts, [str(count) for count in counts])
axes.set_xticks([], minor=True)
axes.legend()
