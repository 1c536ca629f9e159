"""DG form of −∇·f(u) by Gauss quadrature, block of cells by block of cells."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod

import numpy as np

from stfem.equations import Equation
from stfem.fluxes import ConvectiveFlux
from stfem.meshes.grid import TensorGrid
from stfem.meshes.periodic import move
from stfem.semidiscretization.points import FluxPoints, looks_at_points
from stfem.spaces.blocks import Block, Workspaces, blocks, rows
from stfem.spaces.interval import end_values
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array
from stfem.spaces.tensor_product import TensorProduct, kronecker


@dataclass(frozen=True)
class _Work:
    """Arrays of one block and views of them, one per direction where they are lists.

    ``points`` holds values at the tensor product of Gauss points and both ends: ``volume`` at the Gauss
    points, ``minus`` on the face behind the cell, ``left`` on the one before it. ``weak`` is what the test
    functions meet: ``flux`` in the volume, numerical fluxes ``outgoing`` and ``incoming``.
    """

    points: Array
    between: list[Array]
    volume: Array
    minus: list[Array]
    left: list[Array]
    plus: list[Array]
    weak: list[Array]
    flux: list[Array]
    outgoing: list[Array]
    incoming: list[Array]
    tested: list[list[Array]]
    product: Array


class QuadratureConvection:
    """Any flux f(u, x, t): Gauss quadrature in cells and on faces.

    With n points per direction the form is exact for a polynomial flux of degree r when 2n − 1 ≥ (r + 1) q.
    The grid is worked through in blocks of rows; the numerical flux on the faces between two blocks is
    computed once and handed on.
    """

    def __init__(self, grid: TensorGrid, degree: int, equation: Equation, flux: ConvectiveFlux) -> None:
        self.grid, self.degree, self.equation, self.flux = grid, degree, equation, flux
        order = 3 if equation.flux_degree is None or equation.linear else equation.flux_degree
        points, weights = gauss(max(degree + 1, ((order + 1) * degree) // 2 + 1))
        self._count, self._dim = len(points), grid.dim
        values = legendre_values(degree, points)
        left, right = end_values(degree)
        across = [values] * (grid.dim - 1)
        self._to_points = TensorProduct([np.vstack([values, right, left])] * grid.dim)
        self._ends = {shift: TensorProduct([end[None], *across]) for shift, end in ((1, left), (-1, right))}
        test = (values * weights[:, None]).T
        slope = (values @ derivative_matrix(degree) * weights[:, None]).T
        self._tests = self._test_products(test, slope, left, right)
        self._work = Workspaces(self._build)
        self._blocks = blocks(grid.cells, equation.components * self._values)
        touched = looks_at_points(equation, flux)
        self._points = [FluxPoints(grid, points, block, touched) for block in self._blocks]
        self._first = FluxPoints(grid, points, Block(grid.cells[0] - 1, grid.cells[0], 0, 0), touched)

    def _test_products(self, test: Array, slope: Array, left: Array, right: Array) -> list[TensorProduct]:
        """Test functions on ``weak``: direction by direction, or all at once where that costs less.

        Per direction i the rows are the volume flux at n points, the outgoing and the incoming flux, along
        axis i. All at once: volume fluxes (one for all directions if they agree), then pairs of fluxes.
        """
        dim, h = self._dim, self.grid.spacing
        self._shared = False
        apart = [
            TensorProduct(
                [
                    np.hstack([slope, -right[:, None], left[:, None]]) / h[i] if k == i else test
                    for k in range(dim)
                ]
            )
            for i in range(dim)
        ]

        def along(i: int, matrix: Array) -> Array:
            return kronecker([matrix / h[i] if k == i else test for k in range(dim)])

        inside = [along(i, slope) for i in range(dim)]
        if self.equation.isotropic:
            inside = [sum(inside[1:], inside[0])]
        faces = [along(i, end[:, None]) for i in range(dim) for end in (-right, left)]
        together = TensorProduct([np.hstack([*inside, *faces])])
        self._together = together.cost <= sum(product.cost for product in apart)
        self._shared = self.equation.isotropic
        return [together] if self._together else apart

    @property
    def _values(self) -> int:
        """Numbers per cell and component in the work arrays."""
        products = [self._to_points, *self._tests]
        between = sum(product.intermediate for product in products)
        weak = sum(product.columns for product in self._tests)
        plus = self._dim * int(self._count ** (self._dim - 1))
        return self._to_points.rows + between + plus + weak + self._tests[0].rows

    def _build(self, components: int, cells: tuple[int, ...]) -> _Work:
        n, dim, total = self._count, self._dim, prod(cells)
        points = np.empty((components, self._to_points.rows, total))
        grid = points.reshape(components, *(n + 2,) * dim, *cells)

        def at(field: Array, i: int, index: int | slice) -> Array:
            return field[(slice(None), *(index if k == i else slice(0, n) for k in range(dim)))]

        weak = [np.empty((components, product.columns, total)) for product in self._tests]
        faces = (components, *(n,) * (dim - 1), *cells)
        if self._together:
            parts = np.split(weak[0], self._sections(), axis=1)
            volumes = 1 if self._shared else dim
            flux = [r.reshape(components, *(n,) * dim, *cells) for r in parts[:volumes]]
            outgoing = [r.reshape(faces) for r in parts[volumes::2]]
            incoming = [r.reshape(faces) for r in parts[volumes + 1 :: 2]]
        else:
            shaped = [
                w.reshape(components, *(n + 2 if k == i else n for k in range(dim)), *cells)
                for i, w in enumerate(weak)
            ]
            flux = [at(w, i, slice(0, n)) for i, w in enumerate(shaped)]
            outgoing = [at(w, i, n) for i, w in enumerate(shaped)]
            incoming = [at(w, i, n + 1) for i, w in enumerate(shaped)]
        return _Work(
            points,
            self._to_points.buffers(components, total),
            _read_only(at(grid, 0, slice(0, n))),
            [_read_only(at(grid, i, n)) for i in range(dim)],
            [at(grid, i, n + 1) for i in range(dim)],
            [np.empty(faces) for _ in range(dim)],
            weak,
            flux,
            outgoing,
            incoming,
            [product.buffers(components, total) for product in self._tests],
            np.empty((components, self._tests[0].rows, total)),
        )

    def _sections(self) -> list[int]:
        """Where the rows of the next flux start in ``weak``, all directions together."""
        volume, face = self._count**self._dim, self._count ** (self._dim - 1)
        volumes = 1 if self._shared else self._dim
        sizes = [volume] * volumes + [face] * (2 * self._dim)
        return list(accumulate(sizes))[:-1]

    def apply(self, t: float, u: Array, out: Array | None = None) -> Array:
        """−(DG form of ∇·f(u)): volume term minus face terms, in ``out`` if given."""
        result = np.empty(u.shape) if out is None else out
        cells = self.grid.cells
        modes, target = (a.reshape(len(u), -1, *cells) for a in (u, result))
        below = self.flux(
            self.equation,
            self._end(modes, cells[0] - 1, -1),
            self._end(modes, 0, 1),
            self._first.face[0],
            t,
            0,
        )
        for block, points in zip(self._blocks, self._points, strict=True):
            below = self._apply(t, modes, target, block, points, below)
        return result

    def _end(self, modes: Array, row: int, shift: int) -> Array:
        """Values on the faces before (shift 1) or behind (shift −1) one row of cells."""
        product = self._ends[shift]
        field = np.ascontiguousarray(rows(modes, row, row + 1, self._dim)).reshape(*modes.shape[:2], -1)
        values = np.empty((len(modes), product.rows, field.shape[2]))
        product.apply(field, values, product.buffers(len(modes), field.shape[2]))
        return values.reshape(len(modes), *(self._count,) * (self._dim - 1), 1, *self.grid.cells[1:])

    def _apply(
        self, t: float, modes: Array, target: Array, block: Block, points: FluxPoints, below: Array
    ) -> Array:
        """One block; takes the numerical flux on the faces below it and returns the one above it."""
        dim, first = self._dim, self._dim  # axis of the first cell index in arrays on faces
        source, result = block.of(modes, dim), block.of(target, dim)
        work = self._work.get(len(modes), source.shape[2:])
        flat = (*modes.shape[:2], work.points.shape[2])
        self._to_points.apply(source.reshape(flat), work.points, work.between)
        for i in range(dim):
            beyond = self._end(modes, block.above, 1) if i == 0 else None
            move(work.plus[i], work.left[i], 1, first + i, beyond)
            work.outgoing[i][...] = self.flux(
                self.equation, work.minus[i], work.plus[i], points.face[i], t, i
            )
            move(work.incoming[i], work.outgoing[i], -1, first + i, below if i == 0 else None)
        for i, flux in enumerate(work.flux):
            if i == 0 or not self._shared:
                flux[...] = self.equation.flux(work.volume, points.cell, t, i)
            else:
                flux[...] = work.flux[0]
        for k, (product, weak, between) in enumerate(zip(self._tests, work.weak, work.tested, strict=True)):
            if k == 0 and self._together:
                product.apply(weak, result.reshape(flat), between)
                continue
            product.apply(weak, work.product, between)
            if k == 0:
                result[...] = work.product.reshape(result.shape)
            else:
                result += work.product.reshape(result.shape)
        return rows(work.outgoing[0], -1, None, dim).copy()


def _read_only(view: Array) -> Array:
    view.flags.writeable = False
    return view
