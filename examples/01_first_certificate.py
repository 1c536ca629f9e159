"""
A first certificate
===================

A wave on a periodic square is carried along and diffuses a little. We solve for it with a discontinuous
Galerkin method and ask how wrong the result is.
"""

import numpy as np

import stfem
from stfem.data import cosine, sine

# %%
# An equation, a domain and data state the problem. The initial value is a trigonometric polynomial,
# which the library integrates exactly:
#
# .. math:: \partial_tu+\nabla\cdot(b\,u)-\varepsilon\Delta u=0,\qquad u(x,y,0)=\sin2\pi x\,\cos2\pi y .

equation = stfem.equations.AdvectionDiffusion(velocity=(1.0, 0.5), diffusion=1e-4)
wave = sine((2 * np.pi, 0.0)) * cosine((0.0, 2 * np.pi))
problem = stfem.Problem(equation, domain=stfem.Torus((1.0, 1.0)), initial=wave, final_time=0.5)

# %%
# One call solves it and bounds the error. The bound is about a smooth reconstruction :math:`\hat u` of
# the numerical solution :math:`u_h`; the error of :math:`u_h` itself is enclosed from both sides.

result = stfem.certify(problem, cells=12, degree=2)
print(result)

# %%
# ``guaranteed`` says that nothing in this bound is left unproved: no unknown constant, no quadrature error.

assert result.guaranteed
lower, upper = result.enclosure
assert 0.0 < lower < upper
print(f"the error of u_h at T lies in [{lower:.4e}, {upper:.4e}]")

# %%
# The numerical solution, cell by cell:

solution_figure = result.solution.plot()

# %%
# And how the bound grows over time, with the parts that make it up:

bound_figure = result.plot()
