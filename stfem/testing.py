"""Conformance checks for a user's own equations, fluxes, steppers, reconstructions and estimators.

Each returns the size of a defect, or numbers to be compared; none raises for a large one. In a test suite one
line then does: ``assert flux_consistency_defect(my_flux, equation) < 1e-12``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from stfem.checks import (
    checked_instance,
    checked_list,
    checked_number,
    checked_whole,
    described,
    real_array,
)
from stfem.equations import Equation
from stfem.equations.probe_entropy import entropy_defects as _entropy_defects
from stfem.estimators import Estimate
from stfem.fluxes import ConvectiveFlux, flux_rusanov
from stfem.problems import CATALOGUE, Problem, Torus
from stfem.reconstruction import Reconstruction
from stfem.reconstruction.checks import (
    continuity_defect,
    flux_continuity_defect,
    moment_defect,
    reproduction_defect,
    scheme_flux_defect,
    time_continuity_defect,
)
from stfem.semidiscretization import Semidiscretization
from stfem.solving import Estimator, certify
from stfem.spaces.stencil import Array
from stfem.timestepping import Node, Stepper, integrate

__all__ = [
    "GuaranteeCase",
    "conservation_defect",
    "continuity_defect",
    "entropy_defects",
    "flux_conservation_defect",
    "flux_consistency_defect",
    "flux_continuity_defect",
    "guarantee_cases",
    "jacobian_defect",
    "moment_defect",
    "reconstruction_defects",
    "reproduction_defect",
    "scheme_flux_defect",
    "stepper_order",
    "time_continuity_defect",
]

_TIME = 0.37
_STATES = 64


def jacobian_defect(equation: Equation) -> float:
    """max |f_i'(u) v − ( f_i(u + δv) − f_i(u − δv) )/2δ| relative to its largest entry, at random states.

    About 1e-9 for a correct Jacobian: the error of the central difference.
    """
    u, x = _probe(equation)
    v = np.random.default_rng(1).uniform(-1.0, 1.0, u.shape)
    step, defect = 1e-6, 0.0
    for i in range(equation.dim):
        product = equation.jacobian_product(u, v, x, _TIME, i)
        above, below = (equation.flux(u + sign * step * v, x, _TIME, i) for sign in (1.0, -1.0))
        difference = (above - below) / (2.0 * step)
        scale = max(1e-300, float(np.abs(product).max()), float(np.abs(difference).max()))
        defect = max(defect, float(np.abs(product - difference).max()) / scale)
    return defect


def entropy_defects(equation: Equation) -> dict[str, float]:
    """By how much the entropy of a system contradicts its flux and its own constants, at random states (T4).

    Returns
    -------
    dict
        "gradient" and "hessian", against differences; "compatibility", the asymmetry of D²η Df_i, which
        vanishes exactly where Dη Df_i = Dq_i has a solution q; "convexity", "residual weight", "initial
        weight" and "rate", by how much those constants are exceeded; with diffusion also "coupling" of
        diffusing components with others, "dissipation", "flux weight", "third" and "fourth". All relative;
        differences and rounding leave about 1e-8.

    Raises
    ------
    TypeError
        For an equation without an entropy.
    """
    checked_instance("equation", equation, Equation, "an Equation")
    if equation.entropy is None:
        raise TypeError(f"equation: expected one with an entropy, got {type(equation).__name__}")
    return _entropy_defects(equation, equation.entropy)


def flux_consistency_defect(flux: ConvectiveFlux, equation: Equation) -> float:
    """max |F(u, u) − f_i(u)| relative to the largest of f, at random states."""
    _check_flux(flux)
    u, x = _probe(equation)
    defects = []
    for i in range(equation.dim):
        exact = equation.flux(u, x, _TIME, i)
        values = real_array(flux(equation, u, u, x, _TIME, i), "flux")
        if values.shape != exact.shape:
            raise ValueError(f"flux: expected shape {exact.shape}, got {values.shape}")
        defects.append(_relative(values - exact, exact))
    return max(defects)


def flux_conservation_defect(flux: ConvectiveFlux, equation: Equation) -> float:
    """max |Σ_faces of a ring (F leaving − F entering)|: what a flux with hidden state or randomness spoils.

    The two cells of a face call the flux with the same traces and must get the same value.
    """
    _check_flux(flux)
    u, x = _probe(equation)
    states = u[:, ::-1]
    defects = []
    for i in range(equation.dim):
        leaving, entering = (real_array(flux(equation, u, states, x, _TIME, i), "flux") for _ in range(2))
        defects.append(_relative(leaving - entering, leaving))
    return max(defects)


def conservation_defect(
    equation: Equation,
    flux: ConvectiveFlux = flux_rusanov,
    cells: int = 4,
    degree: int = 1,
) -> float:
    """|d/dt ∫_Ω u| over max |d/dt of a cell mean| for the semidiscretization without source and reaction."""
    semi = _semidiscretization(equation, flux, cells, degree)
    u = _random_field(semi)
    rate = semi.rhs(0.0, u)
    means = _means(rate, equation.dim)
    reaction = equation.reaction
    if not reaction.is_zero:
        raise ValueError(f"reaction: expected none (it does not conserve), got {reaction!r}")
    totals = np.abs(means.sum(axis=1))
    return float(totals.max()) / max(1e-300, float(np.abs(means).max()))


class _Oscillator:
    """u' = −u + t + Pu with P = −u, u(0) = 1: a smooth solution in closed form."""

    has_diffusion = True

    def rhs_hyperbolic(self, t: float, u: Array, /) -> Array:
        return np.asarray(-u + t)

    def rhs_parabolic(self, t: float, u: Array, /) -> Array:
        return np.asarray(-u)

    def solve_parabolic(self, rhs: Array, shift: float, /) -> Array:
        return np.asarray(rhs / (1.0 + shift))

    @staticmethod
    def exact(t: float) -> float:
        """u = t/2 − 1/4 + (5/4) e^{−2t}."""
        return float(0.5 * t - 0.25 + 1.25 * np.exp(-2.0 * t))


def stepper_order(stepper: Stepper, steps: int = 16) -> float:
    """Order observed on u' = (−u + t) + (−u) up to t = 1, with `steps` and twice as many steps.

    To be compared with the `order` that the stepper declares. Both right-hand sides take part, and the time
    of each stage: a source frozen at the start of a step costs the order.
    """
    steps = checked_whole("steps", steps, 1, 10_000)
    if isinstance(stepper, type) or not callable(getattr(stepper, "step", None)):
        raise TypeError(f"stepper: expected one such as ExplicitRungeKutta(RK4), got {described(stepper)}")
    problem, errors = _Oscillator(), []
    for count in (steps, 2 * steps):
        *_, last = integrate(problem, stepper, np.ones((1, 1)), 1.0, 1.0 / count)
        errors.append(abs(float(last.values[0, 0]) - problem.exact(1.0)))
    return float(np.log2(errors[0] / max(errors[1], 1e-300)))


def reconstruction_defects(
    reconstruction: Reconstruction, problem: Problem, cells: int, degree: int
) -> dict[str, float]:
    """What the bound needs of a reconstruction, for random coefficients; all vanish up to round-off.

    Returns
    -------
    dict
        "continuity" and "flux_continuity" (jumps, T2), "linearity" of S, and "mean", |∫_Ω û − ∫_Ω u_h|.
    """
    semi = Semidiscretization(problem, cells, degree)
    if isinstance(reconstruction, type) or not callable(getattr(reconstruction, "bind", None)):
        raise TypeError(f"reconstruction: expected one such as Siac(), got {described(reconstruction)}")
    bound, dim = reconstruction.bind(semi), semi.grid.dim
    u, rate = _random_field(semi, 1), _random_field(semi, 2)
    node = bound.at_node(Node(0.0, u, rate))
    combined = bound.field(u - 0.5 * rate)
    parts = node.state[0] - 0.5 * node.state[1]
    shift = _means(node.state[0], dim).mean(axis=1) - _means(u, dim).mean(axis=1)
    return {
        "continuity": continuity_defect(node.state, dim),
        "flux_continuity": flux_continuity_defect(node, dim),
        "linearity": _relative(combined - parts, combined),
        "mean": float(np.abs(shift).max()),
    }


@dataclass(frozen=True)
class GuaranteeCase:
    """One certified problem with a known solution."""

    name: str
    eps: float
    estimate: Estimate

    @property
    def violated(self) -> tuple[str, ...]:
        """Names of the bounds below their true error by more than round-off, 1e-9 relative."""
        result = self.estimate
        lower, upper = result.enclosure
        pairs = {
            "bound": (result.error, result.bound),
            "bound_final": (result.error_final, result.bound_final),
            "bound_energy": (result.error_energy, result.bound_energy),
            "enclosure above": (result.error_dg, upper),
            "enclosure below": (lower, result.error_dg),
        }
        return tuple(
            name
            for name, (low, high) in pairs.items()
            if low is not None and high is not None and not low <= high * (1.0 + 1e-9) + 1e-13
        )


def guarantee_cases(
    estimator: Estimator | None = None,
    problems: Iterable[str] = tuple(CATALOGUE),
    eps: Iterable[float] = (0.0, 1e-6, 1e-3, 1e-1),
    cells: int = 6,
    degree: int = 1,
    dim: int = 1,
    **options: object,
) -> Iterator[GuaranteeCase]:
    """Certify problems of the catalogue, whose solutions are known, with an estimator (T4).

    Parameters
    ----------
    estimator
        `SplitEstimator()` by default.
    problems
        Names in `stfem.problems.CATALOGUE`.
    eps
        Diffusion parameters; those that a problem refuses are left out.
    cells, degree, dim
        Grid, polynomial degree and space dimension; problems without that dimension take the nearest.
    options
        Further arguments of `certify`: flux, stepper, penalty, dt, ….

    Yields
    ------
    GuaranteeCase
        ``assert not case.violated`` is the check.
    """
    values = tuple(checked_number("eps", value, "a diffusion", 0.0) for value in checked_list("eps", eps))
    checked_whole("dim", dim, 1, 3)
    names = checked_list("problems", problems)
    for name in names:
        if not isinstance(name, str) or name not in CATALOGUE:
            raise ValueError(f"problems: expected some of {', '.join(CATALOGUE)}, got {described(name)}")
    for name in names:
        for value in values:
            problem = _catalogue_problem(name, value, dim)
            if problem is not None:
                result = certify(problem, cells=cells, degree=degree, estimator=estimator, **options)  # type: ignore[arg-type]
                yield GuaranteeCase(name, value, result)


def _catalogue_problem(name: str, eps: float, dim: int) -> Problem | None:
    factory = CATALOGUE[name]
    final_time = 0.02 if eps < 0.1 else 0.005
    if name == "burgers_cole_hopf":
        return factory(eps, final_time) if eps >= 1e-3 else None
    nearest = {"sheared_pulse": max(dim, 2), "shallow_water": min(dim, 2)}
    return factory(nearest.get(name, dim), eps, final_time)


def _check_flux(flux: object) -> None:
    if isinstance(flux, type) or not callable(flux):
        raise TypeError(f"flux: expected a function such as stfem.fluxes.flux_upwind, got {described(flux)}")


def _probe(equation: Equation) -> tuple[Array, Array]:
    """Admissible random states ``(m, 64)`` and points ``(d, 64)``."""
    checked_instance("equation", equation, Equation, "an Equation")
    rng = np.random.default_rng(0)
    return equation.probe_states(rng, _STATES), rng.uniform(0.0, 1.0, (equation.dim, _STATES))


def _semidiscretization(
    equation: Equation, flux: ConvectiveFlux, cells: int, degree: int
) -> Semidiscretization:
    checked_instance("equation", equation, Equation, "an Equation")
    constant = tuple(float(value) for value in equation.probe_states(np.random.default_rng(0), 1)[:, 0])
    problem = Problem(equation, Torus((1.0,) * equation.dim), constant, 1.0)
    return Semidiscretization(problem, cells, degree, flux)


def _random_field(semidiscretization: Semidiscretization, seed: int = 0) -> Array:
    """Constant state of the problem with small random coefficients on top."""
    noise = np.random.default_rng(seed).uniform(-1.0, 1.0, semidiscretization.shape)
    base = semidiscretization.project(semidiscretization.problem.initial)
    return np.asarray(base + 0.01 * noise)


def _means(field: Array, dim: int) -> Array:
    """Means over the cells of a modal field ``(m, p…, N…)``: array (m, number of cells)."""
    cells = int(np.prod(field.shape[-dim:]))
    return field.reshape(len(field), -1, cells)[:, 0]


def _relative(difference: Array, value: Array) -> float:
    scale = float(np.abs(value).max())
    size = float(np.abs(difference).max())
    return size / scale if scale > 0.0 else size
