"""
A shock, where the bound in L² must fail
========================================

When a shock forms and no diffusion limits its slope, the bound in :math:`L^2` grows without limit: the
stability of :math:`L^2` that it rests on is lost there. It stays a bound, but says nothing any more. The
bound in :math:`L^1` rests on Kružkov's entropies and survives.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem
from stfem.data import sine

# %%
# Burgers' equation without diffusion, from :math:`u_0=\tfrac12+\tfrac14\sin2\pi x`. The shock forms at
# :math:`t=2/\pi\approx0.64`.

two_pi = 2.0 * np.pi
equation = stfem.equations.Burgers(dim=1)
initial = 0.5 + 0.25 * sine(two_pi)
shock_time = 2.0 / np.pi

rows = []
for time in (0.2, 0.4, 0.55, 0.64, 0.8, 1.0):
    problem = stfem.Problem(equation, stfem.Torus(1.0), initial, final_time=time)
    rows.append((time, stfem.certify(problem, cells=64, degree=1, cfl=0.4)))
    result = rows[-1][1]
    print(
        f"t = {time:4}:  L² {result.bound_final:.1e}   L¹ {result.bound_l1:.1e}   "
        f"growth {result.parts['growth']:.1e}"
    )

# %%
# The growth factor is :math:`\exp\int\mu` with :math:`2\mu=\sup(-\partial_x\hat u)`; after the shock
# that slope is as steep as the grid allows, and finer grids make it worse.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
times = [time for time, _ in rows]
left.semilogy(times, [run.bound_final for _, run in rows], "o-", label="bound in L²")
left.semilogy(times, [run.bound_l1 for _, run in rows], "s--", label="bound in L¹")
left.axvline(shock_time, color="grey", lw=0.8)
left.set(xlabel="time t (units of the problem)", ylabel="bound (units of u)")
left.legend()
x = np.linspace(0.0, 1.0, 800, endpoint=False)[None]
for time, run in rows[1::2]:
    right.plot(x[0], run.solution(x), label=f"t = {time:g}")
right.set(xlabel="x (dimensionless)", ylabel="u (units of u)")
right.legend()

before, after = rows[0][1], rows[-1][1]
assert before.parts["growth"] < 1.5
assert after.bound_final > 1.0
assert after.bound_l1 < 0.1
