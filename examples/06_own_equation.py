r"""
An equation of your own
=======================

A scalar conservation law with the flux :math:`f(u)=u^3/3`, which is neither convex nor concave:

.. math:: \partial_t u + \partial_x \tfrac{u^3}{3} - \varepsilon\,\partial_{xx}u = 0 .

No exact solution is needed to trust the result.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem
from stfem.data import sine
from stfem.equations import ScalarConservationLaw

# %%
# A polynomial flux is given by its coefficients, lowest power first. Everything else the library
# derives: wave speeds, sonic points of the Engquist–Osher flux, the rate at which errors can grow.

equation = ScalarConservationLaw((0.0, 0.0, 0.0, 1.0 / 3.0), dim=1, diffusion=1e-3)
problem = stfem.Problem(equation, stfem.Torus(1.0), initial=sine(2 * np.pi, amplitude=0.5), final_time=0.1)

coarse = stfem.certify(problem, cells=32, degree=2)
print(coarse)
assert coarse.guaranteed

# %%
# A check that needs no theory: a run on a grid four times as fine, whose own bound is far smaller, takes
# the place of the exact solution. The distance between both reconstructions can then be at most the sum
# of the two bounds, and the error of the coarse solution lies in its enclosure.

fine = stfem.certify(problem, cells=96, degree=3)
points = (np.arange(4000) + 0.5)[None] / 4000
difference = coarse.solution(points) - fine.solution(points)
error = np.sqrt(np.mean(difference**2))
lower, upper = coarse.enclosure
slack = fine.enclosure[1]
print(f"error of u_h: {error:.4e}, enclosed in [{lower:.4e}, {upper:.4e}]")
assert lower - slack <= error <= upper + slack
assert slack < 0.05 * error

# %%
# Positive and negative values both travel to the right, because :math:`f'(u)=u^2`; at :math:`u=0` the
# wave stands still.

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.plot(points[0], 0.5 * np.sin(2 * np.pi * points[0]), ":", color="grey", label="t = 0")
axes.plot(points[0], coarse.solution(points), label=f"t = {coarse.solution.time:g}")
axes.set(xlabel="x (dimensionless)", ylabel="u (dimensionless)")
axes.legend()
