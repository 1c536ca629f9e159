"""Checks of what a semidiscretization is asked for."""

from __future__ import annotations

from typing import cast

import numpy as np

from stfem.checks import checked_instance, checked_whole, described, real_array
from stfem.equations import Equation
from stfem.fluxes import (
    ConvectiveFlux,
    InteriorPenalty,
    flux_engquist_osher,
    flux_rusanov,
    flux_upwind,
)
from stfem.problems import Problem

__all__ = ["check_scheme", "checked_degree"]

_SHIPPED = (flux_engquist_osher, flux_rusanov, flux_upwind)
_STATES = 6


def checked_degree(degree: object, largest: int) -> int:
    """The degree, if it is a whole number from 0 to ``largest``.

    Raises
    ------
    ValueError, TypeError
        Otherwise.
    """
    return checked_whole("degree", degree, 0, largest)


def check_scheme(problem: object, flux: object, penalty: object) -> InteriorPenalty:
    """Problem and numerical fluxes are of their kinds, and a flux of one's own has the values of one.

    Returns
    -------
    InteriorPenalty
        The penalty, by default the shipped one.

    Raises
    ------
    TypeError, ValueError
        Naming what is not, with expected and got.
    """
    equation = checked_instance("problem", problem, Problem, "a Problem").equation
    if isinstance(flux, type) or not callable(flux):
        raise TypeError(f"flux: expected a function such as stfem.fluxes.flux_upwind, got {described(flux)}")
    if not any(flux is shipped for shipped in _SHIPPED):
        _probe(flux, equation)
    if penalty is None:
        return InteriorPenalty()
    if isinstance(penalty, type) or not hasattr(penalty, "coefficient"):
        raise TypeError(
            f"penalty: expected a penalty such as InteriorPenalty(10.0), got {described(penalty)}"
        )
    return cast(InteriorPenalty, penalty)


def _probe(flux: ConvectiveFlux, equation: Equation) -> None:
    """One call at random states, which must come back as they were."""
    rng = np.random.default_rng(29)
    traces = [equation.probe_states(rng, _STATES) for _ in range(2)]
    given = [trace.copy() for trace in traces]
    x = np.full((equation.dim, _STATES), 0.37)
    values = real_array(flux(equation, given[0], given[1], x, 0.1, 0), "flux")
    if values.shape != traces[0].shape:
        raise ValueError(f"flux: expected shape {traces[0].shape} as of its traces, got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("flux: expected finite values at admissible states, got others")
    if not all(map(np.array_equal, traces, given)):
        raise ValueError(
            "flux: expected a function that leaves its traces alone, got one that writes to them"
        )
