r"""
Time steps that follow the solution
===================================

Equal time steps have to be as short as the fastest moment of a run asks for. Here they follow the temporal
part of the residual.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem
from stfem.data import cosine, sine
from stfem.problems import ExactData
from stfem.problems.manufactured import balance, initial_value
from stfem.timestepping import StepControl

# %%
# A slow wave of amplitude 1/100, which a source swells a hundredfold around :math:`t=1/2` and takes back:
# :math:`u=(\cos^{16}\pi(t-\tfrac12)+0.01)\sin2\pi(x-0.02\,t)`.

two_pi = 2.0 * np.pi
swell = (0.5 + 0.5 * cosine(0.0, frequency=two_pi, phase=-np.pi)) ** 8 + 0.01
exact = swell * sine(two_pi, frequency=-0.02 * two_pi)
equation = stfem.equations.AdvectionDiffusion(0.02, 1e-2)
problem = stfem.Problem(
    equation,
    stfem.Torus(1.0),
    initial_value(exact),
    final_time=1.0,
    source=balance(equation, exact),
    exact=ExactData([exact]),
)

# %%
# After every step the numerical solution is interpolated in time, and put into the equations that the steps
# are to solve. What is left, :math:`r`, may be :math:`\int\|r\|\,dt\le` ``tol`` over the run; each step
# has its share, and is tried again where it takes more.

runs = {}
for tol in (1e-5, 1e-6, 1e-7):
    run = runs[tol] = stfem.certify(problem, cells=24, degree=3, step_control=StepControl(tol))
    rejected = run.facts["rejected_steps"]
    print(f"tol {tol:g}: {run.solution.steps} steps, {rejected} rejected, bound {run.bound:.2g}")
    assert run.guaranteed
    assert run.error <= run.bound

# %%
# Equal steps, as many as the last run took:

last = runs[1e-7]
equal = stfem.certify(problem, cells=24, degree=3, dt=1.0 / last.solution.steps)
print(f"equal steps: bound {equal.bound:.2g}, controlled: {last.bound:.2g}")
assert equal.error <= equal.bound

# %%
# Steps get shorter before the wave swells and longer behind it. With a diffusion that is stepped implicitly
# they change by factors of two only, since every new size costs factorisations.

figure, (above, below) = plt.subplots(2, 1, sharex=True, layout="constrained")
t = np.linspace(0.0, 1.0, 400)
above.plot(t, np.cos(np.pi * (t - 0.5)) ** 16 + 0.01, color="black")
above.set_ylabel("amplitude")
for tol, run in runs.items():
    below.stairs(run.solution.sizes, run.solution.times, baseline=None, label=f"tol = {tol:g}")
below.set_yscale("log")
below.set_xlabel("t")
below.set_ylabel("time step")
below.legend()
plt.show()

sizes, middles = last.solution.sizes, 0.5 * (last.solution.times[1:] + last.solution.times[:-1])
assert sizes[abs(middles - 0.5) < 0.1].max() < 0.6 * sizes.max()
