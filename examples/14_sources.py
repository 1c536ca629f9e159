"""
Sources, and what makes a bound guaranteed
==========================================

A right-hand side may be given in several ways. They differ in what can be proved.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem
from stfem.data import Approximated, Polynomial, sine
from stfem.problems import ExactData

# %%
# We choose the solution :math:`u=\sin2\pi(x-t)` of
# :math:`\partial_tu+\partial_xu-\varepsilon\partial_{xx}u=g`, so that :math:`g=4\pi^2\varepsilon\,u`. As
# data that know their own integrals:

two_pi = 2.0 * np.pi
eps = 1e-2
solution = sine(two_pi, frequency=-two_pi)
source = eps * two_pi**2 * solution


def certified(given):
    problem = stfem.Problem(
        stfem.equations.AdvectionDiffusion(1.0, eps),
        stfem.Torus(1.0),
        initial=sine(two_pi),
        final_time=0.3,
        source=given,
        exact=ExactData([solution]),
    )
    return stfem.certify(problem, cells=16, degree=2)


exact = certified(source)
print(exact)
assert exact.guaranteed

# %%
# As a Python function, of which the library sees only values. The number is the same, the proof is not:
# an integral of an unknown function cannot be bounded from samples.


def function(x, t):
    return eps * two_pi**2 * np.sin(two_pi * (x[0] - t))


sampled = certified(function)
print(sampled.guaranteed, *sampled.assumptions)
assert not sampled.guaranteed
assert np.isclose(sampled.bound, exact.bound, rtol=0.05)

# %%
# In between: an approximation with a proved bound of its error. Here :math:`g` is stated up to
# :math:`10^{-6}`, which enters the bound as :math:`10^{-6}` times the length of the time interval.

known = certified(Approximated(source, error_sup=1e-6))
print(f"bound {exact.bound:.3e}, with an uncertain source {known.bound:.3e}")
assert known.guaranteed
assert exact.bound < known.bound <= exact.bound + 1.1e-6 * 0.3

# %%
# How much uncertainty a bound bears can be read off a picture:

uncertainties = np.logspace(-7, -2, 6)
bounds = [certified(Approximated(source, error_sup=size)).bound for size in uncertainties]
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.loglog(uncertainties, bounds, "o-", label="bound")
axes.axhline(exact.bound, ls="--", color="black", lw=0.8, label="bound with the exact source")
axes.loglog(uncertainties, 0.3 * uncertainties, ":", color="grey", label="uncertainty × T")
axes.set(xlabel="stated error of the source (units of u / time)", ylabel="L² norm (units of u)")
axes.set_ylim(bottom=0.3 * exact.bound)
axes.legend()
assert np.all(np.diff(bounds) > 0.0)

# %%
# Polynomials in space and time are exact as well. A source that is switched on linearly in time:

ramp = Polynomial([[0.0, 1.0]])
problem = stfem.Problem(stfem.equations.AdvectionDiffusion(1.0, eps), stfem.Torus(1.0), 0.0, 0.5, source=ramp)
result = stfem.certify(problem, cells=8, degree=1)
x = np.array([[0.1, 0.7]])
print("u = t²/2:", result.solution(x))
assert np.allclose(result.solution(x), 0.125, atol=1e-12)
assert result.bound < 1e-12
