"""How a solution was computed, as far as a file can hold it: numerical fluxes and time stepping.

What a user has written is described by values that it takes, so that it is known again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stfem.equations import Equation, is_diagonal
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.io.levels import RecordedLevels
from stfem.meshes.grid import TensorGrid
from stfem.problems import Problem, Torus
from stfem.problems.recipes import Recipe, describe
from stfem.semidiscretization import Gmres
from stfem.spaces.stencil import Array
from stfem.timestepping import (
    AdditiveTableau,
    ButcherTableau,
    DiagonallyImplicitRungeKutta,
    ExplicitRungeKutta,
    ImplicitExplicitRungeKutta,
    ImplicitRungeKutta,
    ImplicitTableau,
    Stepper,
)

__all__ = ["RECIPES", "describe_flux", "describe_penalty", "describe_stepper"]

_FLUXES: dict[str, ConvectiveFlux] = {
    "flux_engquist_osher": flux_engquist_osher,
    "flux_rusanov": flux_rusanov,
    "flux_upwind": flux_upwind,
}
RECIPES = {
    "flux": Recipe(lambda name: _FLUXES[name], {"name": lambda flux: flux.__name__}),
    "interior penalty": Recipe.of(InteriorPenalty, "penalty"),
    "explicit stepper": Recipe.of(ExplicitRungeKutta, "tableau"),
    "implicit-explicit stepper": Recipe.of(ImplicitExplicitRungeKutta, "tableau"),
    "fully implicit stepper": Recipe.of(ImplicitRungeKutta, "tableau", "solver"),
    "diagonally implicit stepper": Recipe.of(DiagonallyImplicitRungeKutta, "tableau", "solver"),
    "gmres": Recipe.of(Gmres, "tolerance", "iterations", "restart", "fill", "drop", "warn"),
    "recorded levels": Recipe.of(RecordedLevels, "levels", "order"),
    "tableau": Recipe.of(ButcherTableau, "name", "a", "b", "order", "c", "embedded", "embedded_order"),
    "implicit tableau": Recipe.of(ImplicitTableau, "name", "a", "order"),
    "pair of tableaux": Recipe.of(AdditiveTableau, "name", "explicit", "implicit", "order"),
}
_STATES = 16


def describe_flux(flux: ConvectiveFlux, equation: Equation) -> Any:
    """Name of a shipped flux; values of any other at random traces."""
    if any(flux is shipped for shipped in _FLUXES.values()):
        return {"is": "flux", "name": flux.__name__}
    if not callable(flux):
        raise TypeError(f"flux: expected a function such as stfem.fluxes.flux_upwind, got {flux!r}")
    rng = np.random.default_rng(23)
    minus, plus = (equation.probe_states(rng, _STATES) for _ in range(2))
    x = rng.uniform(0.0, 1.0, (equation.dim, _STATES))
    values = [flux(equation, minus, plus, x, 0.37, direction) for direction in range(equation.dim)]
    return {"is": "function", "values": np.stack(values)}


def describe_penalty(penalty: InteriorPenalty, problem: Problem, cells: Any, degree: int) -> Any:
    """Factor of the shipped rule; coefficients of any other on the grid, on meshes those per 1/h."""
    if type(penalty) is InteriorPenalty:
        return describe(penalty, RECIPES)
    if not hasattr(penalty, "coefficient"):
        raise TypeError(f"penalty: expected a penalty such as InteriorPenalty(10.0), got {penalty!r}")
    equation, domain = problem.equation, problem.domain
    on_torus = isinstance(domain, Torus)
    spacing = TensorGrid(domain.lengths, cells).spacing if isinstance(domain, Torus) else (1.0,)
    diagonal = not on_torus or is_diagonal(equation.diffusion)
    values = [penalty.coefficient(degree, h, equation.dim, diagonal) for h in spacing]
    return {"is": "function", "values": np.array(values)}


def describe_stepper(stepper: Stepper) -> Any:
    """Tableau of a shipped stepper; of any other its properties and one step for a differential equation."""
    if any(type(stepper) is recipe.make for recipe in RECIPES.values()):
        return describe(stepper, RECIPES)
    if isinstance(stepper, type) or not hasattr(stepper, "step"):
        raise TypeError(f"stepper: expected a stepper such as ExplicitRungeKutta(RK4), got {stepper!r}")
    ode, u = _Trial(), np.linspace(0.5, 1.0, 4)
    rate = ode.rhs_hyperbolic(0.3, u) + ode.rhs_parabolic(0.3, u)
    return {
        "is": "own stepper",
        "order": stepper.order,
        "implicit": bool(getattr(stepper, "implicit", False)),
        "values": np.array(stepper.step(ode, 0.3, u, 0.1, rate)),
    }


class _Trial:
    """u' = (cos t − u²) − ku, k = 1, 2, 3, 4."""

    has_diffusion = True

    def __init__(self) -> None:
        self._k = np.arange(1.0, 5.0)

    def rhs_hyperbolic(self, t: float, u: Array, /) -> Array:
        return np.asarray(np.cos(t) - u**2)

    def rhs_parabolic(self, t: float, u: Array, /) -> Array:
        return -self._k * u

    def solve_parabolic(self, rhs: Array, shift: float, /) -> Array:
        return rhs / (1.0 + shift * self._k)
