"""Block-sparse matrices of forms on discontinuous spaces: coefficients times reference matrices.

A form is a sum of terms ∫ coefficient · (functional of the test function) · (one of the trial function) over
cells and facets. Functional 0 is the value, functional 1 + j the derivative ∂̂_j on the reference cell: all
geometry lies in the coefficients, and every block is a combination of a few reference matrices.

Unknowns are sorted by cells, (cell, component, mode): one dense block per pair of neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stfem.meshes.facets import Index
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.broken import Array, BrokenSpace

__all__ = ["BlockAssembler", "BlockPattern", "FacetGroup", "Term", "from_vector", "to_vector"]


#: Real or complex arrays.
Number = NDArray[Any]


class Term(NamedTuple):
    """One term of a form.

    Attributes
    ----------
    test, trial
        Numbers of the functionals: 0 the value, 1 + j the derivative ∂̂_j.
    coefficient
        Values ``(P, N)`` at the points of N cells or facets, P = 1 where they do not depend on the point;
        systems have ``(m, m, P, N)``, rows for the test functions.
    """

    test: int
    trial: int
    coefficient: Array


class FacetGroup(NamedTuple):
    """Facets that lie alike in their cells: one table of functionals ``(1 + d, Q, modes)`` per side."""

    facets: Index
    tables: tuple[Array, ...]


class BlockPattern:
    """Which blocks there are, and where they lie in the arrays of a block-sparse row matrix.

    Blocks are listed as all diagonal ones, then for every interior facet (minus, plus), then (plus, minus).
    """

    def __init__(self, mesh: UnstructuredMesh) -> None:
        self.mesh = mesh
        minus, plus = mesh.facets.cells[:, : mesh.facets.interior]
        own = np.arange(mesh.size)
        rows, columns = np.concatenate([own, minus, plus]), np.concatenate([own, plus, minus])
        keys, self.position = np.unique(rows * mesh.size + columns, return_inverse=True)
        #: Cells that meet twice, across a periodic seam as well.
        self.repeated = len(keys) < len(rows)
        self.columns = (keys % mesh.size).astype(np.int32)
        counts = np.bincount(keys // mesh.size, minlength=mesh.size)
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    def matrix(self, blocks: Sequence[Array]) -> sparse.bsr_array:
        """Matrix from the listed blocks, in three arrays ``(…, size, size)``."""
        size = blocks[0].shape[1]
        data = (np.zeros if self.repeated else np.empty)((len(self.columns), size, size))
        start = 0
        for part in blocks:
            places = self.position[start : start + len(part)]
            start += len(part)
            if self.repeated:
                np.add.at(data, places, part)
            else:
                data[places] = part
        order = size * self.mesh.size
        return sparse.bsr_array((data, self.columns, self.starts), shape=(order, order))

    def shifted(self, matrix: sparse.bsr_array, shift: complex, diagonal: Array) -> sparse.bsr_array:
        """diag − shift · matrix, with one number of ``diagonal`` ``(C,)`` per cell."""
        data = -shift * matrix.data
        size = data.shape[1]
        along = np.arange(size)
        data[self.position[: self.mesh.size, None], along, along] += diagonal[:, None]
        return sparse.bsr_array((data, self.columns, self.starts), shape=matrix.shape)


class BlockAssembler:
    """Sums terms into the blocks of one matrix.

    Parameters
    ----------
    space
        Trial and test space.
    order
        Polynomial degree that the quadrature integrates exactly.
    components
        Number of components m.

    Attributes
    ----------
    diagonal, across
        Sums so far: blocks of the cells ``(C, m·modes, m·modes)``; of the interior facets, (minus, plus) and
        (plus, minus).
    """

    def __init__(self, space: BrokenSpace, order: int, components: int = 1) -> None:
        self.space, self.components = space, components
        mesh = space.mesh
        self.points, self.weights = mesh.reference.quadrature(order)
        self.parameters, self.facet_weights = mesh.reference.on_facet.quadrature(order)
        size = components * space.modes
        inner = mesh.facets.interior
        self.diagonal = np.zeros((mesh.size, size, size))
        self.across = [np.empty((inner, size, size)) for _ in range(2)]
        self._started = False

    def functionals(self, points: Array) -> Array:
        """Value and derivatives of the reference basis, ``(1 + d, Q, modes)``."""
        basis = self.space.basis
        return np.concatenate([basis.values(points)[None], basis.gradients(points)])

    @cached_property
    def interior(self) -> tuple[FacetGroup, ...]:
        """The interior facets in groups."""
        facets = self.space.mesh.facets
        inner = np.arange(facets.interior)
        return tuple(self._groups([*facets.local[:, inner], facets.orientation[inner]], inner))

    def boundary(self, facets: Index) -> tuple[FacetGroup, ...]:
        """Boundary facets in groups; their numbers are positions in ``facets``."""
        return tuple(self._groups([self.space.mesh.facets.local[0, facets]], np.arange(len(facets))))

    def _groups(self, keys: list[Index], facets: Index) -> Iterator[FacetGroup]:
        """Facets with equal keys: number in the minus cell and, inside, in the plus cell and orientation."""
        reference = self.space.mesh.reference
        count = len(reference.facets)
        ranges = (count, count, len(reference.facet_permutations))[: len(keys)]
        codes = np.ravel_multi_index(keys, ranges)
        for code in np.unique(codes):
            minus, *other = (int(key) for key in np.unravel_index(code, ranges))
            tables = [self._facet_tables[minus]]
            if other:
                tables.append(
                    self._facet_tables[other[0]][:, reference.turned_points(self.parameters, other[1])]
                )
            yield FacetGroup(facets[codes == code], tuple(tables))

    @cached_property
    def _facet_tables(self) -> list[Array]:
        """Functionals on every facet of the reference cell."""
        reference = self.space.mesh.reference
        points = (reference.facet_points(f, self.parameters) for f in range(len(reference.facets)))
        return [self.functionals(on_facet) for on_facet in points]

    def add_cells(self, terms: Iterable[Term], rule: tuple[Array, Array] | None = None) -> None:
        """Add terms over all cells, integrated over the reference cell by this rule or the common one."""
        points, weights = (self.points, self.weights) if rule is None else rule
        table = self.functionals(points)
        blocks = self._blocks(terms, table, table, weights, slice(None))
        cells = np.arange(self.space.mesh.size)
        self.diagonal += self._transformed(blocks, cells, cells)

    def add_interior(self, terms: Sequence[Sequence[Sequence[Term]]]) -> None:
        """Add terms over the interior facets; ``terms[s][r]``, one at least, test on side s and try on r."""
        cells = self.space.mesh.facets.cells
        for group in self.interior:
            for s in (0, 1):
                for r in (0, 1):
                    tables = group.tables[s], group.tables[r]
                    blocks = self._blocks(terms[s][r], *tables, self.facet_weights, group.facets)
                    here, there = cells[s, group.facets], cells[r, group.facets]
                    blocks = self._transformed(blocks, here, there)
                    if s == r:  # facets of a group belong to different cells
                        self.diagonal[here] += blocks
                    elif self._started:
                        self.across[s][group.facets] += blocks
                    else:
                        self.across[s][group.facets] = blocks
        self._started = True

    def add_boundary(self, facets: Index, terms: Sequence[Term]) -> None:
        """Add terms over some boundary facets; coefficients are those of just these."""
        for group in self.boundary(facets):
            table = group.tables[0]
            blocks = self._blocks(terms, table, table, self.facet_weights, group.facets)
            cells = self.space.mesh.facets.cells[0, facets[group.facets]]
            self.diagonal[cells] += self._transformed(blocks, cells, cells)

    def matrix(self, pattern: BlockPattern) -> sparse.bsr_array:
        """The sum of all terms."""
        if not self._started:
            self.across = [np.zeros_like(blocks) for blocks in self.across]
        return pattern.matrix([self.diagonal, *self.across])

    def _blocks(
        self, terms: Iterable[Term], test: Array, trial: Array, weights: Array, where: Index | slice
    ) -> Array:
        """Σ_terms coefficients · reference matrices, ``(N, size, size)``."""
        coefficients, matrices = [], []
        for term in terms:
            chosen = term.coefficient[..., where]
            matrix = (test[term.test] * weights[:, None])[:, :, None] * trial[term.trial][:, None, :]
            matrices.append(matrix if chosen.shape[-2] > 1 else matrix.sum(axis=0, keepdims=True))
            coefficients.append(chosen)
        m, n = self.components, self.space.modes
        table = np.concatenate(matrices).reshape(-1, n * n)
        factors = np.concatenate(coefficients, axis=-2)
        if m == 1:
            return np.asarray((factors.reshape(len(table), -1).T @ table).reshape(-1, n, n))
        blocks = (factors.transpose(3, 0, 1, 2) @ table).reshape(-1, m, m, n, n)
        return np.asarray(blocks.transpose(0, 1, 3, 2, 4).reshape(-1, m * n, m * n))

    def _transformed(self, blocks: Array, test: Index, trial: Index) -> Array:
        """Blocks for the orthonormal basis of every cell, where it differs from the mapped one."""
        if self.space.transform is None:
            return blocks
        m, n = self.components, self.space.modes
        left = self.space.transform[:, :, test].transpose(2, 1, 0)[:, None, None]
        right = self.space.transform[:, :, trial].transpose(2, 0, 1)[:, None, None]
        split = blocks.reshape(-1, m, n, m, n).transpose(0, 1, 3, 2, 4)
        return np.asarray((left @ split @ right).transpose(0, 1, 3, 2, 4).reshape(blocks.shape))


def to_vector(u: Number) -> Number:
    """Coefficients ``(m, modes, C)`` sorted by cells."""
    return np.ascontiguousarray(u.transpose(2, 0, 1)).reshape(-1)


def from_vector(vector: Number, shape: tuple[int, ...]) -> Number:
    """Coefficients ``(m, modes, C)`` of a vector sorted by cells."""
    m, modes, cells = shape
    return np.ascontiguousarray(vector.reshape(cells, m, modes).transpose(1, 2, 0))
