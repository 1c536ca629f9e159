"""Jacobians of a semidiscretization as sparse matrices in an orthonormal basis of L²."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stfem.semidiscretization.choice import AnySemidiscretization
from stfem.semidiscretization.dg import Semidiscretization
from stfem.semidiscretization.unstructured import UnstructuredSemidiscretization
from stfem.spaces.block_sparse import to_vector
from stfem.spaces.stencil import Array

Indices = NDArray[np.int64]

#: Step of central differences relative to the state: cube root of round-off.
_STEP = 6e-6


def mass_root(semidiscretization: AnySemidiscretization) -> Array:
    """√|K| of every unknown: ‖u‖_{L²} is the Euclidean norm of it times U."""
    shape = semidiscretization.shape
    if isinstance(semidiscretization, Semidiscretization):
        return np.full(shape, semidiscretization.grid.cell_measure**0.5)
    return np.array(np.broadcast_to(np.sqrt(semidiscretization.mesh.cell_measures), shape))


def steady(semidiscretization: AnySemidiscretization) -> bool:
    """Whether the Jacobian depends neither on time nor on the state."""
    equation = semidiscretization.problem.equation
    if not equation.linear or equation.components > 1 or equation.reaction.time_dependent:
        return False
    return not any(component.time_dependent for component in equation.velocity)


def linearised(semidiscretization: AnySemidiscretization, t: float, u: Array) -> sparse.csr_array:
    """W ∂(H + P)/∂U W^{-1} at (t, U), W the diagonal `mass_root`, unknowns in the order of ``u.ravel()``.

    Its transpose is the adjoint in L². On meshes the scheme's own Jacobian; on the torus central differences
    of the right-hand side, of many cells at once because the scheme reaches only next neighbours.
    """
    if isinstance(semidiscretization, Semidiscretization):
        return _by_differences(semidiscretization, t, u)
    return _of_mesh(semidiscretization, t, u)


def _by_differences(semi: Semidiscretization, t: float, u: Array) -> sparse.csr_array:
    dim, cells = semi.grid.dim, semi.grid.cells
    colours = [_colours(count) for count in cells]
    owners = [_owners(colour) for colour in colours]
    numbers = np.arange(u.size).reshape(u.shape)
    step = _STEP * max(1.0, float(np.abs(u).max()))
    rows, columns, entries = [], [], []
    for chosen in product(*(range(len(owner)) for owner in owners)):
        inside = np.ix_(*(colour == c for colour, c in zip(colours, chosen, strict=True)))
        owner = np.ix_(*(table[c] for table, c in zip(owners, chosen, strict=True)))
        reached = np.logical_and.reduce(np.broadcast_arrays(*(index >= 0 for index in owner)))
        for mode in np.ndindex(*u.shape[: 1 + dim]):
            change = np.zeros(u.shape)
            change[mode][inside] = step
            slope = (semi.rhs(t, u + change) - semi.rhs(t, u - change)) / (2.0 * step)
            rows.append(numbers[..., reached].ravel())
            column = numbers[mode][owner]
            columns.append(np.broadcast_to(column[reached], slope[..., reached].shape).ravel())
            entries.append(slope[..., reached].ravel())
    triple = np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
    matrix = sparse.csr_array(triple, shape=(u.size, u.size))
    matrix.eliminate_zeros()
    return matrix


def _colours(count: int) -> Indices:
    """Numbers of cells on a circle: no cell reaches two of one number."""
    colours = np.arange(count) % 3
    whole = count - count % 3
    colours[whole:] = (3 if whole else 0) + np.arange(count - whole)
    return colours


def _owners(colours: Indices) -> list[Indices]:
    """For every colour, the cell of it that each cell reaches, or −1."""
    count = len(colours)
    around = (np.arange(count) + np.array([[0], [-1], [1]])) % count
    found = []
    for colour in range(int(colours.max()) + 1):
        hit = colours[around] == colour
        found.append(np.where(hit.any(axis=0), around[hit.argmax(axis=0), np.arange(count)], -1))
    return found


def _of_mesh(semi: UnstructuredSemidiscretization, t: float, u: Array) -> sparse.csr_array:
    matrix = sparse.coo_array(semi.linearise(t, u).matrix)  # |K|·J, sorted by cells
    order = to_vector(np.arange(u.size).reshape(u.shape))
    root = mass_root(semi).ravel()
    rows, columns = order[matrix.row], order[matrix.col]
    entries = matrix.data / (root[rows] * root[columns])
    return sparse.csr_array((entries, (rows, columns)), shape=matrix.shape)
