"""The mesh at the start: fine enough for the initial value."""

from __future__ import annotations

import numpy as np

from stfem.adaptivity.marking import Marking
from stfem.adaptivity.mesh_search import MeshSearch, StoppedError
from stfem.adaptivity.trial import first_trial
from stfem.estimators.mesh_errors import MeshErrors
from stfem.meshes.quadrature import Array
from stfem.problems import Domain
from stfem.reconstruction.start import corrected_start
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.semidiscretization.unstructured.diffusion import cell_diffusion
from stfem.timestepping.integrate import node_at

__all__ = ["initial_values", "started_mesh"]

#: Meshes that are tried.
_MOST = 60
#: So many of them lower the error by at least this factor, unless a rule marks too little;
_ROUNDS, _FALLS = 8, 0.98
#: and so many by at least this one where the error, relative to the initial value, is as small as round-off.
_ROUNDS_AT_LAST, _FALLS_AT_LAST, _ROUND_OFF = 2, 0.5, 1e-14


def initial_values(search: MeshSearch, semi: UnstructuredSemidiscretization) -> Array:
    """U_0, projected, or as the options of the run have it."""
    corrected = corrected_start(semi, search.options["initial_correction"], False)
    return semi.project(semi.problem.initial) if corrected is None else corrected


def started_mesh(search: MeshSearch, tol: float, marking: Marking, rounds: int) -> Domain:
    """A mesh on which ‖u_0 − û(0)‖ is at most a tolerance, in the norm of the search.

    Raises
    ------
    StoppedError
        Where none is found within the limits.
    """
    domain = search.problem.domain
    if not isinstance(domain, Domain):
        raise TypeError(f"domain: expected a Domain, got {domain!r}")
    errors: list[float] = []
    for _ in range(_MOST):
        squares, size = _initial_sq(search, domain)
        sizes = domain.mesh().cell_measures
        in_l1 = float(np.sqrt(sizes * squares).sum())
        error = in_l1 if search.norm == "l1" else float(np.sqrt(squares.sum()))
        if error <= tol:
            return domain
        errors.append(error)
        small = float(np.sqrt(squares.sum())) <= _ROUND_OFF * size
        count, falls = (_ROUNDS_AT_LAST, _FALLS_AT_LAST) if small else (_ROUNDS, _FALLS)
        if len(errors) > count and error > falls * errors[-1 - count]:
            raise StoppedError(
                f"the initial error no longer falls when cells are refined: it is {min(errors):.3g} at best, "
                f"and its part of the tolerance is {tol:.3g}"
            )
        goal = float(squares.sum()) * (tol / error) ** 2
        # û has the degree q + 1
        domain = search.refined(first_trial(domain), squares, goal, marking, rounds, 1).domain
    raise StoppedError(f"no mesh brings the initial error below {tol:.3g}, got {error:.3g} at last")


def _initial_sq(search: MeshSearch, domain: Domain) -> tuple[Array, float]:
    """‖u_0 − û(0)‖² in every cell, and ‖U_0‖."""
    semi = search.on(domain)
    reconstruction = search.estimator.reconstructions[0].bind(semi)
    values = initial_values(search, semi)
    node = reconstruction.at_node(node_at(semi, 0.0, values, 0))
    errors = MeshErrors(semi.problem, reconstruction.target, cell_diffusion(semi.problem.equation, semi.mesh))
    squares = errors.initial_sq(node.state[0], semi.problem.initial[0])
    return squares, float(np.sqrt((semi.mesh.cell_measures * values**2).sum()))
