"""Problems of the catalogue with random parameters: further cases of guarantee_campaign.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from guarantee_cases import MAX_SLABS, SMALL_EPS, Attack, random_cells, random_estimator, random_steps
from guarantee_meshes import MeshAttack, mesh_rules
from random_problems import Array, Case

from stfem import MeshEstimator, Problem, Siac, problems

#: Factories, the dimensions they know (none where they take no such argument) and the least diffusion.
ON_TORUS: tuple[tuple[Callable[..., Problem], tuple[int, ...], float], ...] = (
    (problems.linear_advection_diffusion, (1, 2), 0.0),
    (problems.sheared_pulse, (2,), 1e-3),
    (problems.viscous_burgers, (1, 2), 0.0),
    (problems.burgers_cole_hopf, (), 0.02),
    (problems.diffusive_p_system, (1, 2), 0.0),
    (problems.viscous_p_system, (1, 2), 0.0),
    (problems.shallow_water, (1, 2), 0.0),
    (problems.isothermal_euler, (1, 2), 0.0),
    (problems.isentropic_euler, (1, 2), 0.0),
    (problems.acoustics, (1, 2, 3), 0.0),
)
BOUNDED: tuple[tuple[Callable[..., Problem], tuple[int, ...], float], ...] = (
    (problems.transient_wave, (1, 2), 0.0),
    (problems.moving_front, (1, 2), 0.0),
    (problems.leaving_pulse, (1, 2), 0.0),
    (problems.robin_outflow, (), 0.0),
    (problems.cellular_flow, (), 0.0),
    (problems.nonlinear_wave, (1, 2), 0.0),
    (problems.burgers_front, (1, 2), 0.02),
)
#: Wave number that quadratures of errors resolve, of fronts too; in three dimensions there are only waves.
HIGHEST, HIGHEST_3D = 40.0, 15.0


@dataclass(frozen=True, eq=False)
class Component:
    """One component of the exact solution of a problem, on products of points."""

    problem: Problem
    index: int
    highest: float = HIGHEST
    fastest: float = HIGHEST

    @property
    def reach(self) -> Array:
        """Largest wave numbers in each direction."""
        dim = self.problem.equation.dim
        return np.full(dim, self.highest if dim < 3 else HIGHEST_3D)

    def __call__(self, axes: Sequence[Array], times: Array, direction: int | None = None) -> Array:
        x = np.stack(np.meshgrid(*axes, indexing="ij"))
        exact, gradient = self.problem.exact, self.problem.exact_gradient
        if exact is None or gradient is None:
            raise ValueError("exact: expected a problem with a solution and its gradient, got none")
        if direction is None:
            return np.stack([exact(x, t)[self.index] for t in times.tolist()])
        return np.stack([gradient(x, t)[direction, self.index] for t in times.tolist()])


def catalogue_attack(seed: int) -> Attack | MeshAttack:
    """Case number `seed`."""
    rng = np.random.default_rng([seed, 5])
    torus = bool(rng.random() < 0.6)
    choices = ON_TORUS if torus else BOUNDED
    factory, dims, least = choices[int(rng.integers(len(choices)))]
    where = {"dim": int(rng.choice(dims))} if dims else {}
    eps = float(10.0 ** rng.uniform(math.log10(max(least, 1e-10)), 0.0))
    if least == 0.0 and rng.random() < 0.3:
        eps = float(rng.choice((0.0, *SMALL_EPS)))
    final_time = float(10.0 ** rng.uniform(-2.5, -1.0))
    degree = int(rng.integers(1, 4 - (where.get("dim", 1) > 1)))

    def problem(duration: float) -> Problem:
        return factory(**where, eps=eps, final_time=duration)

    if not torus:
        dim = problem(final_time).equation.dim
        cells = tuple(int(n) for n in rng.integers(2, (14, 5)[dim - 1], dim))
        solving = {"cells": cells, "dt": final_time / int(rng.integers(2, 9))}
        estimator = MeshEstimator(mesh_rules(rng, eps > 1e-200))
        return MeshAttack(
            seed,
            "catalogue",
            factory.__name__,
            problem(final_time),
            None,
            degree,
            estimator,
            solving,
            HIGHEST,
        )
    dim = problem(final_time).equation.dim
    cells, reconstruction = random_cells(rng, dim), Siac()
    scalar = problem(final_time).equation.components == 1
    estimator = random_estimator(rng, reconstruction, scalar)
    slabs = MAX_SLABS if dim == 1 else 3
    steps = slabs * (estimator.spacing or 1)
    final_time, solving = random_steps(rng, problem, final_time, steps, cells, degree, {})
    chosen = problem(final_time)
    fields = tuple(Component(chosen, c) for c in range(chosen.equation.components))
    case = Case(seed, "catalogue", chosen, fields, cells, degree, reconstruction, 1, True, solving)
    return Attack(case, estimator, factory.__name__, HIGHEST)
