"""A coarse numerical solution with its jumps, the reconstruction, and the errors of both."""

import matplotlib.pyplot as plt
import numpy as np
import shared

import stfem
from stfem.spaces.legendre import legendre_values

problem = stfem.problems.linear_advection_diffusion(dim=1, eps=1e-3, final_time=0.3)
solution = stfem.solve(problem, cells=6, degree=1)
bound = stfem.Siac().bind(solution.semidiscretization)


def pieces(field, cells):
    """Points and values of a modal field, cell by cell, a gap between."""
    s = np.linspace(0.0, 1.0, 41)
    values = legendre_values(field.shape[0] - 1, s) @ field
    points = (np.arange(cells) + s[:, None]) / cells
    gap = np.full((1, cells), np.nan)
    return (np.concatenate([part, gap]).T.ravel() for part in (points, values))


x, u_h = pieces(solution.values[0], 6)
y, u_hat = pieces(bound.field(solution.values)[0], bound.grid.cells[0])
exact = [problem.exact(z[None], solution.time)[0] for z in (x, y)]
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.4))
left.plot(x, exact[0], color=shared.GREY, lw=4, alpha=0.4, label="exact solution u")
left.plot(x, u_h, color=shared.ORANGE, label="numerical solution $u_h$")
left.plot(y, u_hat, color=shared.BLUE, ls="--", label="reconstruction û")
left.set(xlabel="x (dimensionless)", ylabel="u (dimensionless)")
left.legend()
right.plot(x, exact[0] - u_h, color=shared.ORANGE, label="u − $u_h$")
right.plot(y, exact[1] - u_hat, color=shared.BLUE, ls="--", label="u − û")
right.set(xlabel="x (dimensionless)", ylabel="error (dimensionless)")
right.legend()
