"""Triangles that show an order of convergence: where they fit, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon

from stfem.checks import checked_numbers
from stfem.plotting.style import FONT, GREY
from stfem.spaces.stencil import Array

#: Curves that converge more slowly than this get no triangle.
LEAST_ORDER = 0.5
#: x, mesh size and error of a curve.
Curve = tuple[Array, Array, Array]
_SAMPLES = np.linspace(0.0, 1.0, 24)[:, None]
#: In fractions of the height of the axes: distance from the curve, and room around a triangle.
_DISTANCE, _ROOM = 0.035, 0.015
#: Parts of a piece of a curve that a triangle may be as long as.
_PARTS = ((0.2, 0.8), (0.3, 0.8), (0.2, 0.6), (0.35, 0.7), (0.1, 0.4), (0.6, 0.9))


def observed_order(size: Array, error: Array) -> float:
    """Median EOC log(e₁/e₂) / log(h₁/h₂) of neighbouring grids; NaN where there are fewer than two sizes.

    The median, so that a coarse start or a finest grid at round-off does not count.
    """
    order = np.argsort(size, kind="stable")
    steps = np.diff(np.log(size[order]))
    eoc = np.diff(np.log(error[order]))[steps > 0.0] / steps[steps > 0.0]
    return float(np.median(eoc)) if len(eoc) else float("nan")


def triangle_corners(fine: float, coarse: float, height: float, ratio: float, above: bool = False) -> Array:
    """Corners ``(3, 2)`` of a triangle from (fine, height) to (coarse, height · ratio), right angle second.

    The sloping side, from the third corner to the first, has the order log(ratio) / log(coarse / fine).
    """
    right = (fine, height * ratio) if above else (coarse, height)
    return np.array([[fine, height], right, [coarse, height * ratio]])


def draw_triangles(axes: Axes, curves: Sequence[Curve], orders: Sequence[float] | None) -> list[Polygon]:
    """One triangle per order, below a curve of this order, where it meets the fewest others.

    Parameters
    ----------
    axes
        Logarithmic in both directions, with the curves in them.
    curves
        Triples of x, mesh size and error, all positive and finite.
    orders
        Orders to show. Default: the observed ones, rounded to whole numbers.
    """
    if orders is not None:
        orders = checked_numbers("orders", orders, "orders", 0.0, 100.0)
    observed = [observed_order(size, error) for _, size, error in curves]
    if orders is None:
        orders = sorted({float(round(o)) for o in observed if np.isfinite(o) and o >= LEAST_ORDER})
    if not orders or not np.isfinite(observed).any():
        return []
    field = _Field(axes, curves)
    drawn = []
    for order in sorted(orders, reverse=True):
        near = np.abs(np.array(observed) - order)
        closest = np.nanmin(near)
        group = [curve for curve, gap in zip(curves, near, strict=True) if gap <= max(0.5, closest)]
        candidates = [place for curve in group for place in _candidates(field, curve, order)]
        corners = min(candidates, key=lambda place: (field.crowd(place[0]), place[1]))[0]
        field.occupy(corners)
        drawn.append(_draw(axes, corners, order))
    bottom, top = axes.get_ylim()
    heights = np.concatenate([triangle.get_xy()[:, 1] for triangle in drawn])
    margin = (top / bottom) ** 0.04
    axes.set_ylim(min(bottom, heights.min() / margin), max(top, heights.max() * margin))
    return drawn


class _Field:
    """What is drawn already, in fractions of the axes (logarithms)."""

    def __init__(self, axes: Axes, curves: Sequence[Curve]) -> None:
        (left, right), (bottom, top) = np.log(axes.get_xlim()), np.log(axes.get_ylim())
        self.origin, self.extent = np.array([left, bottom]), np.array([right - left, top - bottom])
        self.points = np.concatenate(
            [self._sampled(self.fraction(np.stack([x, e], 1))) for x, _, e in curves]
        )

    def fraction(self, corners: Array) -> Array:
        return np.asarray((np.log(corners) - self.origin) / self.extent)

    def crowd(self, corners: Array) -> int:
        """Number of samples in a triangle, a little larger, and behind its number."""
        (fine, level), (upright, _), (coarse, top) = box = self.fraction(corners)
        u, v = self.points.T
        slope = (top - level) / (coarse - fine)
        distance = (v - level - slope * (u - fine)) * (1.0 if upright == fine else -1.0)
        low, high = box.min(axis=0) - _ROOM, box.max(axis=0) + _ROOM
        in_box = np.all((low <= self.points) & (self.points <= high), axis=1)
        beside = (u - upright) * (1.0 if upright == coarse else -1.0)
        number = (beside >= 0.0) & (beside <= 0.06) & (np.abs(v - 0.5 * (level + top)) <= 0.035)
        return int(((in_box & (distance >= -_ROOM)) | number).sum())

    def occupy(self, corners: Array) -> None:
        box = self.fraction(corners)
        self.points = np.concatenate([self.points, self._sampled(np.concatenate([box, box[:1]]))])

    @staticmethod
    def _sampled(polygon: Array) -> Array:
        if len(polygon) < 2:
            return polygon
        return np.concatenate([a + _SAMPLES * (b - a) for a, b in pairwise(polygon)])


def _candidates(field: _Field, curve: Curve, order: float) -> list[tuple[Array, float]]:
    """Triangles below and above every piece of a curve, the larger ones first.

    Each with the distance of the piece's order from its own, to one digit.
    """
    places = np.argsort(curve[1], kind="stable")
    x, size, error = (np.log(column[places]) for column in curve)
    gap = _DISTANCE * field.extent[1]
    found = []
    for start, end in _PARTS:
        for i in np.flatnonzero(np.diff(size) > 0.0):
            step = size[i + 1] - size[i]
            (fine, coarse), (low, high) = (
                np.interp([start, end], [0.0, 1.0], column[i : i + 2]) for column in (x, error)
            )
            rise = (end - start) * order * step
            off = round(abs((error[i + 1] - error[i]) / step - order), 1)
            below, above = min(low, high - rise) - gap, max(low, high - rise) + gap
            for height in (below, above):
                fine_x, coarse_x, start_y, ratio = np.exp([fine, coarse, height, rise]).tolist()
                found.append((triangle_corners(fine_x, coarse_x, start_y, ratio, height == above), off))
    return found


def _draw(axes: Axes, corners: Array, order: float) -> Polygon:
    triangle = Polygon(corners, facecolor="#DDDDDD", edgecolor=GREY, lw=0.7, zorder=1.5)
    axes.add_patch(triangle)
    upright = corners[1, 0]
    to_the_right = upright > corners[:, 0].min()
    axes.annotate(
        f"{order:g}",
        (upright, float(np.sqrt(corners[:, 1].min() * corners[:, 1].max()))),
        xytext=(2.0 if to_the_right else -2.0, 0.0),
        textcoords="offset points",
        ha="left" if to_the_right else "right",
        va="center",
        fontsize=FONT,
    )
    return triangle
