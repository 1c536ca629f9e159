"""
A numerical flux of your own
============================

A numerical flux is a function of the two traces. Any consistent and conservative function will do, and
the bound holds for whatever the scheme computes with it. Here: how much dissipation does the solution
need?
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem
from stfem import testing

# %%
# The mean of both sides, with a share ``theta`` of the dissipation of Rusanov's flux.


def damped(theta):
    def flux(equation, u_minus, u_plus, x, t, direction):
        f_minus, f_plus = (equation.flux(u, x, t, direction) for u in (u_minus, u_plus))
        speed = np.maximum(*(equation.wave_speed(u, x, t, direction) for u in (u_minus, u_plus)))
        return 0.5 * (f_minus + f_plus) - 0.5 * theta * speed * (u_plus - u_minus)

    return flux


# %%
# ``stfem.testing`` measures what is required of a flux.

problem = stfem.problems.viscous_burgers(dim=1, eps=1e-3, final_time=0.05)
assert testing.flux_consistency_defect(damped(0.5), problem.equation) < 1e-14
assert testing.flux_conservation_defect(damped(0.5), problem.equation) == 0.0

# %%
# Errors and bounds over the amount of dissipation:

shares = [0.0, 0.1, 0.25, 0.5, 1.0, 2.0]
runs = [stfem.certify(problem, cells=24, degree=2, flux=damped(theta), cfl=0.4) for theta in shares]
figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.semilogy(shares, [run.bound for run in runs], "o-", label="bound of sup ‖u − û‖")
axes.semilogy(shares, [run.error for run in runs], "s--", label="true sup ‖u − û‖")
axes.semilogy(shares, [run.error_dg for run in runs], "^:", label="true ‖u − u_h‖ at T")
axes.set(xlabel="share of Rusanov's dissipation (dimensionless)", ylabel="L² norm (units of u)")
axes.legend()

assert all(1.0 <= run.effectivity < 2.0 for run in runs)
