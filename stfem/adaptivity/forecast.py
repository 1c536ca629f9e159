"""Which mesh the next window may want, and how far indicators fall when cells are bisected.

Nothing here enters a bound: a bad forecast costs a repetition or some unknowns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stfem.adaptivity.marking import Marking, checked_cells
from stfem.adaptivity.trial import Trial, first_trial
from stfem.equations import Equation
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems.bounded import Domain

__all__ = ["coarsenings", "following", "refined_to", "velocity"]

#: Cells up to this multiple of a wanted size are small enough: sizes are powers of ½ of those at the start.
_ENOUGH = 1.5
#: Rounds of refinement of a forecast.
_ROUNDS = 40
#: Rounds of a rule for coarsening: each takes a small part of the error alone.
_COARSENINGS = 20


def refined_to(
    trial: Trial,
    indicators_sq: Array,
    target: float,
    marking: Marking,
    degree: int,
    rounds: int,
    check: Callable[[Domain], None] | None = None,
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
    check
        Called with every finer domain; may raise.

    Raises
    ------
    TypeError, ValueError
        For a rule that marks what is no cell.
    """
    expected, size = indicators_sq, trial.domain.mesh().cell_measures
    power = 1.0 + 2.0 * (degree + 1) / trial.domain.dim
    for n in range(rounds):
        if n and expected.sum() <= target:
            break
        marked = checked_cells(marking(expected), len(expected))
        if len(marked) == 0:
            break
        trial, origins = trial.refined(marked)
        if check is not None:
            check(trial.domain)
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
        The rule, applied round by round; of the cells that it marks the smaller ones as far as is allowed.
    degree, dim
        q and d.
    most
        Largest number of a cell.
    """
    expected, result = indicators_sq.copy(), np.zeros(len(indicators_sq), dtype=np.intp)
    grows = 2.0 ** (2.0 * (degree + 1) / dim)
    for _ in range(_COARSENINGS):
        left = np.flatnonzero(result < most)
        marked = left[checked_cells(coarsening(expected[left]), len(left))]
        marked = marked[np.argsort(expected[marked], kind="stable")]
        more = (grows - 1.0) * np.cumsum(expected[marked])
        marked = marked[: np.searchsorted(more, allowed - float(expected.sum()), side="right")]
        if len(marked) == 0:
            break
        expected[marked] *= grows
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


def following(domain: Domain, levels: Index, ways: Sequence[Array], most: int) -> Trial:
    """A mesh for cells that move along.

    Parameters
    ----------
    domain
        The mesh now.
    levels
        How many bisections of a cell may be undone ``(C,)``: the size that is small enough where it goes.
    ways
        Displacements ``(d, C)`` of the cells at one time after the other.
    most
        Largest number of bisections that are undone at once.
    """
    mesh, trial = domain.mesh(), first_trial(domain)
    points = np.concatenate([mesh.centroids + way for way in ways], axis=1)
    sizes = np.tile(mesh.cell_measures * 2.0**levels, len(ways))
    left = np.arange(len(sizes))
    for _ in range(_ROUNDS):
        current = trial.domain.mesh()
        cells = current.find(points[:, left]).cells
        large = (cells >= 0) & (current.cell_measures[cells] > _ENOUGH * sizes[left])
        left = left[large]  # where cells are small enough they stay so
        if len(left) == 0:
            break
        trial, _ = trial.refined(np.unique(cells[large]))
    old = np.arange(mesh.size)
    for change in trial.refinements:
        old = old[change.old]
    finest = trial.finest.mesh()
    arriving, cells = np.full(finest.size, np.inf), finest.find(points).cells
    np.minimum.at(arriving, cells[cells >= 0], sizes[cells >= 0])
    room = np.floor(np.log2(_ENOUGH * arriving / finest.cell_measures))
    allowed = np.clip(np.minimum(levels[old], room), 0, most).astype(np.intp)
    untouched = np.bincount(old, minlength=mesh.size)[old] == 1
    return trial.coarsened(np.where(untouched, allowed, 0))
