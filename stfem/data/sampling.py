"""Projection of fields that can only be sampled: tensor-product Gauss rules on all cells at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from stfem.data.base import Array, Projection
from stfem.data.bernstein import apply_along
from stfem.meshes.grid import TensorGrid
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["Rule", "project_sampled"]

_BLOCK = 1 << 21  # samples held at once


@dataclass(frozen=True)
class Rule:
    """Quadrature rule on [0, 1] with the Legendre basis at its points, values[point, mode]."""

    points: Array
    weights: Array
    values: Array

    @classmethod
    def gauss(cls, n: int, degree: int, parts: int = 1) -> Rule:
        """Gauss rule with n points on each of `parts` equal parts of the interval."""
        s, w = gauss(n)
        points = ((np.arange(parts)[:, None] + s) / parts).ravel()
        return cls(points, np.tile(w / parts, parts), legendre_values(degree, points))

    @classmethod
    def moment(cls) -> Rule:
        """One point with weight one: a fixed time."""
        return cls(np.zeros(1), np.ones(1), np.ones((1, 1)))

    @property
    def analysis(self) -> Array:
        """Matrix from values to modes."""
        return (self.weights[:, None] * self.values).T


def project_sampled(
    function: Callable[[Array, float], Array],
    grid: TensorGrid,
    main: tuple[Rule, Rule],
    check: tuple[Rule, Rule],
    start: float,
    duration: float,
) -> Projection:
    """Modes by the rules `main` = (space, time); remainders measured at the points of both pairs of rules.

    A duration 0 stands for a fixed time: norms are then those of L2(Omega).
    """
    dim = grid.dim
    space, time = main
    shape = (time.values.shape[1],) + (space.values.shape[1],) * dim + grid.cells
    coefficients = np.empty(shape)
    square = largest = 0.0
    for block, samples in _samples(function, grid, main, start, duration):
        modes = _transformed(samples, time.analysis, space.analysis, dim)
        coefficients[(slice(None),) * (dim + 1) + (block,)] = modes
        part, top = _difference(samples, modes, main, dim)
        square, largest = square + part, max(largest, top)
    check_square = 0.0
    for block, samples in _samples(function, grid, check, start, duration):
        modes = coefficients[(slice(None),) * (dim + 1) + (block,)]
        part, top = _difference(samples, modes, check, dim)
        check_square, largest = check_square + part, max(largest, top)
    measure = grid.cell_measure * (duration if duration > 0.0 else 1.0)
    return Projection(coefficients, (measure * max(square, check_square)) ** 0.5, largest)


def _samples(
    function: Callable[[Array, float], Array],
    grid: TensorGrid,
    rules: tuple[Rule, Rule],
    start: float,
    duration: float,
) -> Iterator[tuple[slice, Array]]:
    """Blocks of cells along the first direction with values (times, points.., cells..)."""
    space, time = rules
    count = len(space.points)
    axes = [
        (h * (np.arange(n)[:, None] + space.points)).ravel()
        for h, n in zip(grid.spacing, grid.cells, strict=True)
    ]
    per_layer = len(time.points) * count**grid.dim * int(np.prod(grid.cells[1:]))
    layers = max(1, _BLOCK // per_layer)
    order = [0, *range(2, 2 * grid.dim + 1, 2), *range(1, 2 * grid.dim + 1, 2)]
    for first in range(0, grid.cells[0], layers):
        block = slice(first, min(first + layers, grid.cells[0]))
        x = np.stack(np.meshgrid(axes[0][block.start * count : block.stop * count], *axes[1:], indexing="ij"))
        values = np.stack([function(x, start + duration * s) for s in time.points.tolist()])
        cells = (block.stop - block.start, *grid.cells[1:])
        split = [size for n in cells for size in (n, count)]
        yield block, np.ascontiguousarray(values.reshape(len(time.points), *split).transpose(order))


def _transformed(array: Array, in_time: Array, in_space: Array, dim: int) -> Array:
    array = apply_along(in_time, array, 0)
    for axis in range(1, dim + 1):
        array = apply_along(in_space, array, axis)
    return array


def _difference(samples: Array, modes: Array, rules: tuple[Rule, Rule], dim: int) -> tuple[float, float]:
    """Weighted sum of squares (mean over each cell, summed over the cells) and maximum of |f - Pf|."""
    space, time = rules
    difference = np.abs(samples - _transformed(modes, time.values, space.values, dim))
    squares = _transformed(difference**2, time.weights[None, :], space.weights[None, :], dim)
    return float(squares.sum()), float(difference.max())
