"""Coordinates of the quadrature points of a convective form, only where its fluxes look at them."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from stfem.equations import Equation
from stfem.fluxes import ConvectiveFlux
from stfem.meshes.grid import TensorGrid
from stfem.spaces.blocks import Block
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import point_coordinates


class FluxPoints:
    """Points of one block: ``cell`` ``(d, n, …, n, cells)`` and per direction ``face`` ``(d, n, …, cells)``.

    Where the fluxes do not look at them they are one NaN per direction (of the same number of axes), so that
    a flux that does so after all stops the run instead of taking a wrong place.
    """

    def __init__(self, grid: TensorGrid, points: Array, block: Block, touched: bool) -> None:
        dim = grid.dim
        if not touched:
            self.cell = _nowhere(dim, 2 * dim)
            self.face = [_nowhere(dim, 2 * dim - 1)] * dim
            return
        self.cell = _of(block, point_coordinates(grid, [points] * dim), dim)
        self.face = [
            _of(
                block,
                np.squeeze(
                    point_coordinates(grid, [points if k != i else np.ones(1) for k in range(dim)]), 1 + i
                ),
                dim,
            )
            for i in range(dim)
        ]


def _of(block: Block, points: Array, dim: int) -> Array:
    result = np.ascontiguousarray(block.of(points, dim))
    result.flags.writeable = False
    return result


def _nowhere(dim: int, axes: int) -> Array:
    points = np.full((dim, *(1,) * axes), np.nan)
    points.flags.writeable = False
    return points


class _Untouchable:
    """Stands for the points in a trial call: whatever is done with it raises a TypeError."""

    __array_ufunc__ = None
    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("the flux looks at the points")

    __array__ = __bool__ = __eq__ = __getitem__ = __iter__ = __len__ = _refuse


def looks_at_points(equation: Equation, flux: ConvectiveFlux) -> bool:
    """Whether the flux of an equation or the numerical flux uses the points x, tried on a few states."""
    states = equation.probe_states(np.random.default_rng(5), 4)
    x: Any = _Untouchable()
    try:
        for i in range(equation.dim):
            equation.flux(states, x, 0.0, i)
            flux(equation, states, states[:, ::-1], x, 0.0, i)
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError):
        return True
    return False
