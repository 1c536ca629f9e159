"""DG form of −∇·f(u) by Gauss quadrature, block of cells by block of cells, with or without diffusion."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod

import numpy as np

from stfem.equations import Equation
from stfem.fluxes import ConvectiveFlux
from stfem.meshes.grid import TensorGrid
from stfem.meshes.periodic import move
from stfem.semidiscretization.diffusion import Diffusion
from stfem.semidiscretization.layout import PointLayout, along
from stfem.semidiscretization.points import FluxPoints, looks_at_points
from stfem.spaces.blocks import Block, Workspaces, blocks, result_array, rows
from stfem.spaces.interval import end_values
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array
from stfem.spaces.tensor_product import TensorProduct, kronecker


@dataclass(frozen=True)
class _Work:
    """Arrays of one block and views of them, one per direction where they are lists.

    ``points`` holds ``volume`` values and per direction what the cell gives to the face ``behind`` it and to
    the one ``ahead`` of it: its trace and, with diffusion, its part of the diffusive flux. ``weak`` is what
    the test functions meet: ``flux`` in the volume, and on faces (numerical flux, and jump with diffusion)
    what goes ``out`` of the cell behind and comes ``into`` the next one; with diffusion also the ``modes``.
    """

    points: Array
    between: list[Array]
    volume: Array
    behind: list[list[Array]]
    ahead: list[list[Array]]
    plus: list[list[Array]]
    weak: list[Array]
    flux: list[Array]
    out: list[list[Array]]
    into: list[list[Array]]
    modes: Array | None
    tested: list[list[Array]]
    product: Array


class QuadratureConvection:
    """Any flux f(u, x, t): Gauss quadrature in cells and on faces.

    With n points per direction the form is exact for a polynomial flux of degree r when 2n − 1 ≥ (r + 1) q.
    The grid is worked through in blocks of rows; what lives on the faces between two blocks is computed once
    and handed on.

    With a ``diffusion`` (diagonal, in all components) the interior penalty form of T1 is added: both share
    the traces and their test functions, the numerical flux being F − {D∇u}·n + penalty [u].
    """

    def __init__(
        self,
        grid: TensorGrid,
        degree: int,
        equation: Equation,
        flux: ConvectiveFlux,
        diffusion: Diffusion | None = None,
    ) -> None:
        self.grid, self.degree, self.equation, self.flux = grid, degree, equation, flux
        order = 3 if equation.flux_degree is None or equation.linear else equation.flux_degree
        points, weights = gauss(max(degree + 1, ((order + 1) * degree) // 2 + 1))
        self._count, self._dim, self._diffusion = len(points), grid.dim, diffusion
        values = legendre_values(degree, points)
        behind, ahead = self._functionals()
        self._layout = PointLayout(values, [np.vstack(both) for both in zip(behind, ahead, strict=True)])
        across = [values] * (grid.dim - 1)
        self._ends = {shift: TensorProduct([end, *across]) for shift, end in ((1, ahead[0]), (-1, behind[0]))}
        test = (values * weights[:, None]).T
        slope = (values @ derivative_matrix(degree) * weights[:, None]).T
        self._shared = equation.isotropic  # one flux in the volume serves all directions
        together, apart = self._together(test, slope), self._apart(test, slope)
        self._joined = diffusion is not None or together.cost <= sum(product.cost for product in apart)
        self._tests = [together] if self._joined else apart
        self._work: Workspaces[_Work] = Workspaces()
        self._blocks = blocks(grid.cells, equation.components * self._values)
        self._touched = touched = looks_at_points(equation, flux)
        self._points = [FluxPoints(grid, points, block, touched) for block in self._blocks]
        self._first = FluxPoints(grid, points, Block(grid.cells[0] - 1, grid.cells[0], 0, 0), touched)

    def with_diffusion(self, diffusion: Diffusion) -> QuadratureConvection | None:
        """The same with diffusion, or None where that does not pay.

        It pays where edges and corners are left out of the work arrays, and coordinates need not be kept
        twice.
        """
        both = QuadratureConvection(self.grid, self.degree, self.equation, self.flux, diffusion)
        return both if both._layout.dense and not self._touched else None

    def _functionals(self) -> tuple[list[Array], list[Array]]:
        """What modes give to the faces behind and ahead, per direction.

        The trace; with diffusion also the part of −{D∂_iu} + penalty [u], ∂_i for cells of unit length.
        """
        left, right = end_values(self.degree)
        if self._diffusion is None:
            return [right[None]] * self._dim, [left[None]] * self._dim
        left_slope, right_slope = end_values(self.degree, 1)
        behind, ahead = [], []
        for i, h in enumerate(self.grid.spacing):
            scale, penalty = self._diffusion.matrix[i, i] / h, self._diffusion.penalties[i]
            behind.append(np.stack([right, -scale * (0.5 * right_slope - penalty * right)]))
            ahead.append(np.stack([left, -scale * (0.5 * left_slope + penalty * left)]))
        return behind, ahead

    def _apart(self, test: Array, slope: Array) -> list[TensorProduct]:
        """Test functions direction by direction: along axis i they meet n fluxes, then out and into."""
        left, right = end_values(self.degree)
        return [
            TensorProduct(
                [
                    np.hstack([slope, -right[:, None], left[:, None]]) / h if k == i else test
                    for k in range(self._dim)
                ]
            )
            for i, h in enumerate(self.grid.spacing)
        ]

    def _together(self, test: Array, slope: Array) -> TensorProduct:
        """All test functions in one matrix.

        They meet the fluxes in the volume, per direction what goes out and comes in, and the modes.
        """
        left, right = end_values(self.degree)
        left_slope, right_slope = end_values(self.degree, 1)
        derivative = derivative_matrix(self.degree)
        inside, faces, stiffness = [], [], np.zeros(())
        for i, h in enumerate(self.grid.spacing):

            def across(matrix: Array, others: Array, direction: int = i) -> Array:
                return kronecker([matrix if k == direction else others for k in range(self._dim)])

            inside.append(across(slope / h, test))
            ends = [-right / h, left / h]
            if self._diffusion is not None:
                scale = self._diffusion.matrix[i, i] / h**2
                ends = [ends[0], 0.5 * scale * right_slope, ends[1], 0.5 * scale * left_slope]
                identity = np.eye(self.degree + 1)
                stiffness = stiffness - across(scale * derivative.T @ derivative, identity)
            faces += [across(end[:, None], test) for end in ends]
        if self._shared:
            inside = [np.sum(inside, axis=0)]
        return TensorProduct([np.hstack([*inside, *faces, *([stiffness] if stiffness.ndim else [])])])

    @property
    def _values(self) -> int:
        """Numbers per cell and component in the work arrays."""
        points, products = self._layout.product, [self._layout.product, *self._tests]
        between = sum(product.intermediate for product in products)
        weak = sum(product.columns for product in self._tests)
        return points.rows + between + self._dim * self._ends[1].rows + weak + self._tests[0].rows

    def _build(self, components: int, cells: tuple[int, ...]) -> _Work:
        dim, total = self._dim, prod(cells)
        given = 1 if self._diffusion is None else 2
        points = np.empty((components, self._layout.product.rows, total))
        volume, ends = self._layout.views(points, cells)
        weak = [np.empty((components, product.columns, total)) for product in self._tests]
        faces = (components, *(self._count,) * (dim - 1), *cells)
        flux, out, into, modes = (self._joined_views if self._joined else self._apart_views)(
            weak, cells, given
        )
        return _Work(
            points,
            self._layout.product.buffers(components, total),
            _read_only(volume),
            [[_read_only(end) for end in e[:given]] for e in ends],
            [e[given:] for e in ends],
            [[np.empty(faces) for _ in range(given)] for _ in range(dim)],
            weak,
            flux,
            out,
            into,
            modes,
            [product.buffers(components, total) for product in self._tests],
            np.empty((components, self._tests[0].rows, total)),
        )

    def _joined_views(
        self, weak: list[Array], cells: tuple[int, ...], given: int
    ) -> tuple[list[Array], list[list[Array]], list[list[Array]], Array | None]:
        """Views in the order of `_together`."""
        n, dim, m = self._count, self._dim, len(weak[0])
        volumes = 1 if self._shared else dim
        sizes = [n**dim] * volumes + [n ** (dim - 1)] * (2 * given * dim)
        parts = np.split(weak[0], list(accumulate(sizes)), axis=1)
        faces = [p.reshape(m, *(n,) * (dim - 1), *cells) for p in parts[volumes:-1]]
        groups = [faces[k : k + given] for k in range(0, len(faces), given)]
        flux = [p.reshape(m, *(n,) * dim, *cells) for p in parts[:volumes]]
        return flux, groups[::2], groups[1::2], parts[-1] if given > 1 else None

    def _apart_views(
        self, weak: list[Array], cells: tuple[int, ...], given: int
    ) -> tuple[list[Array], list[list[Array]], list[list[Array]], Array | None]:
        """Views in the order of `_apart`."""
        n, dim = self._count, self._dim
        shaped = [
            w.reshape(len(w), *(n + 2 if k == i else n for k in range(dim)), *cells)
            for i, w in enumerate(weak)
        ]
        flux = [along(w, i, slice(0, n), n, dim) for i, w in enumerate(shaped)]
        out, into = ([[along(w, i, n + k, n, dim)] for i, w in enumerate(shaped)] for k in range(2))
        return flux, out, into, None

    def apply(self, t: float, u: Array, out: Array | None = None) -> Array:
        """−(DG form of ∇·f(u)), plus P(u) where there is a diffusion, in ``out`` if given."""
        result = result_array(u.shape, out)
        cells = self.grid.cells
        modes, target = (a.reshape(len(u), -1, *cells) for a in (u, result))
        below: list[Array] | None = None
        if not self._blocks[0].whole:
            minus, plus = self._end(modes, cells[0] - 1, -1), self._end(modes, 0, 1)
            below = [np.empty(end.shape) for end in minus]
            self._face(t, minus, plus, self._first.face[0], 0, below)
        for block, points in zip(self._blocks, self._points, strict=True):
            below = self._apply(t, modes, target, block, points, below)
        return result

    def _end(self, modes: Array, row: int, shift: int) -> list[Array]:
        """What one row of cells gives to the faces ahead (shift 1) or behind (shift −1)."""
        product = self._ends[shift]
        field = np.ascontiguousarray(rows(modes, row, row + 1, self._dim)).reshape(*modes.shape[:2], -1)
        values = np.empty((len(modes), product.rows, field.shape[2]))
        product.apply(field, values, product.buffers(len(modes), field.shape[2]))
        faces = (*(self._count,) * (self._dim - 1), 1, *self.grid.cells[1:])
        return list(np.moveaxis(values.reshape(len(modes), -1, *faces), 1, 0))

    def _face(
        self, t: float, minus: list[Array], plus: list[Array], x: Array, i: int, out: list[Array]
    ) -> None:
        """Numerical flux and, with diffusion, the jump from what both sides give."""
        out[0][...] = self.flux(self.equation, minus[0], plus[0], x, t, i)
        if self._diffusion is not None:
            out[0] += minus[1]
            out[0] += plus[1]
            np.subtract(minus[0], plus[0], out=out[1])

    def _apply(
        self,
        t: float,
        modes: Array,
        target: Array,
        block: Block,
        points: FluxPoints,
        below: list[Array] | None,
    ) -> list[Array]:
        """One block; takes what is on the faces below it and returns what is on those above it.

        The whole grid takes nothing: its first faces are its last.
        """
        dim = self._dim  # also the axis of the first cell index in arrays on faces
        source, result = block.of(modes, dim), block.of(target, dim)
        work = self._work.get(len(modes), source.shape[2:], self._build)
        flat = (*modes.shape[:2], work.points.shape[2])
        self._layout.product.apply(source.reshape(flat), work.points, work.between)
        if work.modes is not None:
            work.modes[...] = source.reshape(flat)
        above = None if block.whole else self._end(modes, block.above, 1)
        for i in range(dim):
            for k, given in enumerate(work.ahead[i]):
                move(work.plus[i][k], given, 1, dim + i, above[k] if above and i == 0 else None)
            self._face(t, work.behind[i], work.plus[i], points.face[i], i, work.out[i])
            for k, leaving in enumerate(work.out[i]):
                move(work.into[i][k], leaving, -1, dim + i, below[k] if below and i == 0 else None)
        for i, flux in enumerate(work.flux):
            if i == 0 or not self._shared:
                flux[...] = self.equation.flux(work.volume, points.cell, t, i)
            else:
                flux[...] = work.flux[0]
        for k, (product, weak, between) in enumerate(zip(self._tests, work.weak, work.tested, strict=True)):
            if self._joined:
                product.apply(weak, result.reshape(flat), between)
                break
            product.apply(weak, work.product, between)
            if k == 0:
                result[...] = work.product.reshape(result.shape)
            else:
                result += work.product.reshape(result.shape)
        return [rows(leaving, -1, None, dim).copy() for leaving in work.out[0]]


def _read_only(view: Array) -> Array:
    view.flags.writeable = False
    return view
