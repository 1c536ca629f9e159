"""The mesh at the start: fine enough for the initial value."""

from __future__ import annotations

import numpy as np

from stfem.adaptivity.forecast import refined_to
from stfem.adaptivity.marking import Marking
from stfem.adaptivity.mesh_search import MeshSearch, StoppedError
from stfem.adaptivity.trial import first_trial
from stfem.estimators.mesh_errors import MeshErrors
from stfem.meshes.quadrature import Array
from stfem.problems import Domain
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.semidiscretization.unstructured.diffusion import cell_diffusion
from stfem.timestepping.integrate import node_at

__all__ = ["initial_values", "started_mesh"]

#: Meshes that are tried.
_MOST = 60


def initial_values(search: MeshSearch, semi: UnstructuredSemidiscretization) -> Array:
    """U_0, projected, or as the options of the run have it."""
    correction = search.options["initial_correction"]
    if isinstance(correction, bool):
        return semi.project(semi.problem.initial)
    result: Array = correction.of(semi)
    return result


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
    for _ in range(_MOST):
        squares = _initial_sq(search, domain)
        sizes = domain.mesh().cell_measures
        in_l1 = float(np.sqrt(sizes * squares).sum())
        error = in_l1 if search.norm == "l1" else float(np.sqrt(squares.sum()))
        if error <= tol:
            return domain
        goal = float(squares.sum()) * (tol / error) ** 2
        # û has the degree q + 1
        trial = refined_to(first_trial(domain), squares, goal, marking, search.degree + 1, rounds)
        domain = trial.domain
    raise StoppedError(f"no mesh brings the initial error below {tol:.3g}, got {error:.3g} at last")


def _initial_sq(search: MeshSearch, domain: Domain) -> Array:
    semi = search.on(domain)
    reconstruction = search.estimator.reconstructions[0].bind(semi)
    node = reconstruction.at_node(node_at(semi, 0.0, initial_values(search, semi), 0))
    errors = MeshErrors(semi.problem, reconstruction.target, cell_diffusion(semi.problem.equation, semi.mesh))
    return errors.initial_sq(node.state[0], semi.problem.initial[0])
