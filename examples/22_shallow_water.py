r"""
Shallow water: an entropy turns residuals into bounds
=====================================================

The depth :math:`h` and the discharge :math:`m=hv` of shallow water with diffusion,

.. math:: \partial_th+\partial_xm=\varepsilon\,\partial_{xx}h,\qquad
          \partial_tm+\partial_x\Big(\frac{m^2}{h}+\frac{h^2}2\Big)=\varepsilon\,\partial_{xx}m .

The energy :math:`\eta=\frac{m^2}{2h}+\frac{h^2}2` is a strictly convex entropy. Errors are measured by the
relative entropy, on a convex set of states.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem
from stfem.data import cosine
from stfem.equations import ConservationSystem, ShallowWater, StateSet

# %%
# A bump at rest breaks up into two waves. No solution is known, and none is needed.

two_pi = 2 * np.pi
water = ShallowWater(diffusion=1e-4, dim=1, lower=0.8, upper=1.2, speed=0.15)
start = (1.0 + cosine(two_pi, amplitude=0.1), 0.0)
problem = stfem.Problem(water, stfem.Torus(1.0), start, final_time=0.2)
result = stfem.certify(problem, cells=32, degree=2)
print(result)
assert result.guaranteed

# %%
# The flux is no polynomial in :math:`(h,m)`. It is analytic, and what the quadrature leaves out is bounded,
# so that the result is guaranteed all the same. The one thing that no computation can verify is said:

print(result.assumptions[0])
assert "depth" in result.assumptions[0]

# %%
# Where the solution is known, the bound can be compared with the error. It does not deteriorate as the
# diffusion vanishes:

for eps in (0.0, 1e-6, 1e-4, 1e-2):
    known = stfem.certify(stfem.problems.shallow_water(1, eps), cells=16, degree=2)
    print(f"ε = {eps:<6g} error {known.error:.3e}  bound {known.bound:.3e}  {known.effectivity:.2f}")
    assert 1.0 <= known.effectivity < 2.0

# %%
# The same system from nothing but its flux and its entropy, as Python functions. Jacobian, wave speeds and
# all constants are computed; as samples prove nothing, the estimate says so.


def flux(u):
    return np.stack([u[1], u[1] ** 2 / u[0] + 0.5 * u[0] ** 2])


def energy(u):
    return u[1] ** 2 / (2.0 * u[0]) + 0.5 * u[0] ** 2


states = StateSet(lower=np.array([0.8, -0.2]), upper=np.array([1.2, 0.2]))
own = ConservationSystem([flux], energy, states, diffusion=1e-4)
again = stfem.certify(stfem.Problem(own, problem.domain, start, 0.2), cells=32, degree=2)
print(f"bound {again.bound:.3e} instead of {result.bound:.3e}")
print(*again.assumptions, sep="\n")
assert not again.guaranteed
assert again.bound > result.bound

# %%
# A coarser solution and what encloses its error at the final time:

coarse = stfem.certify(problem, cells=10, degree=1)
lower, upper = coarse.enclosure
print(f"error of the solution on ten cells: between {lower:.4e} and {upper:.4e}")
x = np.linspace(0.0, 1.0, 400, endpoint=False)[None]
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.plot(x[0], 1.0 + 0.1 * np.cos(two_pi * x[0]), ":", color="grey", label="depth at t = 0")
axes.plot(x[0], coarse.solution(x)[0], "--", label="10 cells, degree 1")
axes.plot(x[0], result.solution(x)[0], label="32 cells, degree 2")
axes.set(xlabel="x (dimensionless)", ylabel="depth h (dimensionless)")
axes.legend()
