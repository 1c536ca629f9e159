"""Which mesh the next window may want, and how far indicators fall when cells are bisected.

Nothing here enters a bound: a bad forecast costs a repetition or some unknowns.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stfem.adaptivity.marking import Marking
from stfem.adaptivity.trial import Trial, first_trial
from stfem.equations import Equation
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems.bounded import Domain

__all__ = ["coarsenings", "following", "refined_to", "velocity"]

#: Cells up to this multiple of a wanted size are small enough: sizes are powers of ½ of those at the start.
_ENOUGH = 1.5
#: Corners and centre: places of a cell that are followed.
_INWARDS = 0.9
#: Rounds of refinement of a forecast.
_ROUNDS = 40


def refined_to(
    trial: Trial, indicators_sq: Array, target: float, marking: Marking, degree: int, rounds: int
) -> Trial:
    """Refined by a rule, round by round, until the indicators expected add up to a target at most.

    A bisection leaves each half η²/2 · 2^{−2(q+1)/d}, as for a residual of order q + 1.

    Parameters
    ----------
    trial
        Meshes so far.
    indicators_sq
        η_K² of its cells.
    target
        For their sum.
    marking
        The rule.
    degree
        q.
    rounds
        At most so many; the first is always taken.
    """
    expected, size = indicators_sq, trial.domain.mesh().cell_measures
    power = 1.0 + 2.0 * (degree + 1) / trial.domain.dim
    for n in range(rounds):
        if n and expected.sum() <= target:
            break
        trial, origins = trial.refined(marking(expected))
        finer = trial.domain.mesh().cell_measures
        expected, size = expected[origins] * (finer / size[origins]) ** power, finer
    return trial


def coarsenings(
    indicators_sq: Array, allowed: float, coarsening: Marking, degree: int, dim: int, most: int
) -> Index:
    """How many bisections of every cell may be undone, so that the indicators expected stay small enough.

    Parameters
    ----------
    indicators_sq
        η_K² of the cells.
    allowed
        What their sum may become.
    coarsening
        The rule.
    degree, dim
        q and d.
    most
        Largest number of a cell.
    """
    expected, result = indicators_sq, np.zeros(len(indicators_sq), dtype=np.intp)
    for _ in range(most):
        marked = coarsening(expected)
        grown = expected.copy()
        grown[marked] *= 2.0 ** (2.0 * (degree + 1) / dim)
        if grown.sum() > allowed:
            break
        expected = grown
        result[marked] += 1
    return result


def velocity(equation: Equation, mesh: UnstructuredMesh, values: Array, t: float) -> Array:
    """f'(u) at the centres of the cells ``(d, C)``, for their means of u ``(m, C)``."""
    if equation.components > 1:
        return np.zeros((mesh.dim, mesh.size))
    one = np.ones_like(values)
    return np.stack(
        [equation.jacobian_product(values, one, mesh.centroids, t, i)[0] for i in range(mesh.dim)]
    )


def following(domain: Domain, wanted: Array, displacements: Iterable[Array], levels: Index) -> Trial:
    """A mesh for sizes that move along.

    Parameters
    ----------
    domain
        The mesh that the sizes belong to.
    wanted
        Volume that is small enough where a cell is now ``(C,)``.
    displacements
        Ways ``(d, C)`` that the cells go.
    levels
        How many bisections of a cell may be undone where nothing smaller arrives.
    """
    mesh, trial = domain.mesh(), first_trial(domain)
    corners = mesh.vertices[:, mesh.cells]
    places = np.concatenate(
        [mesh.centroids[:, None], mesh.centroids[:, None] + _INWARDS * (corners - mesh.centroids[:, None])],
        axis=1,
    )
    points = np.concatenate([(places + way[:, None]).reshape(mesh.dim, -1) for way in displacements], axis=1)
    sizes = np.tile(wanted, points.shape[1] // mesh.size)
    for _ in range(_ROUNDS):
        arriving = _smallest(trial.domain.mesh(), points, sizes)
        marked = np.flatnonzero(trial.domain.mesh().cell_measures > _ENOUGH * arriving)
        if len(marked) == 0:
            break
        trial, _ = trial.refined(marked)
    old = np.arange(mesh.size)
    for change in trial.refinements:
        old = old[change.old]
    finest = trial.finest.mesh()
    untouched = np.bincount(old, minlength=mesh.size)[old] == 1
    room = np.log2(_ENOUGH * _smallest(finest, points, sizes) / finest.cell_measures)
    allowed = np.minimum(levels[old], np.where(np.isfinite(room), np.floor(room), levels.max(initial=0)))
    return trial.coarsened(np.where(untouched, np.maximum(allowed, 0), 0).astype(np.intp))


def _smallest(mesh: UnstructuredMesh, points: Array, sizes: Array) -> Array:
    """Smallest size that arrives in every cell, infinite where none does."""
    cells = mesh.find(points).cells
    result = np.full(mesh.size, np.inf)
    np.minimum.at(result, cells[cells >= 0], sizes[cells >= 0])
    return result
