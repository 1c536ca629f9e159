"""Modes of the source in time and space on the slabs of a mesh, and what they leave out (T4.6, T5)."""

from __future__ import annotations

import numpy as np

from stfem.data import Data, Separated, Slab
from stfem.meshes.quadrature import Array
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["SourceModes"]

_UNIT_ROUNDOFF = 2.0**-53
#: Terms of separated sources, whose products are kept for every cell.
_TERMS = 16


class SourceModes:
    """Modes of g, by quadrature in time and space.

    With P the projection in space and Π the one in time,

        ∫∫(g − ΠPg)² = ∫∫(g − Pg)² + ∫∫(Pg − ΠPg)² ,

    and g − Pg = Σ_j a_j(t) (s_j − Ps_j) for g = Σ_j a_j(t) s_j(x): the modes of s_j, and the integrals of the
    products of what they leave out, are computed once.

    Parameters
    ----------
    source
        g.
    target
        Space whose degree is taken.
    order, points
        Order of the quadrature in space, and points in time beyond the degree there.
    """

    def __init__(self, source: Data, target: BrokenSpace, order: int, points: int) -> None:
        separated = source.separated()
        self._target, self._extra = target, points
        self._zero = source.is_zero or (separated is not None and not separated.fields)
        mesh = target.mesh
        self._moments: _FewTerms | _AnySource
        if separated is not None and 0 < len(separated.fields) <= _TERMS:
            self._moments = _FewTerms(separated, target, order)
        else:
            self._moments = _AnySource(source, target, order)
        self._measures = mesh.cell_measures

    def of(self, time: Slab) -> tuple[Array | None, Array, Array]:
        """Modes ``(time modes, modes, C)``, ∫∫(g − modes)² and the same of the cell means, ``(C,)`` each."""
        if self._zero:
            zero = np.zeros(self._target.mesh.size)
            return None, zero, zero
        times, weights = gauss(time.degree + 1 + self._extra)
        in_space, left = self._moments.at(time.start + times * time.duration)
        in_time = legendre_values(time.degree, times)
        modes = np.tensordot((in_time * weights[:, None]).T, in_space, 1)
        rest = in_space - np.tensordot(in_time, modes, 1)
        squares = np.tensordot(weights, rest**2, 1)
        measures = time.duration * self._measures
        return modes, measures * (squares.sum(axis=0) + weights @ left), measures * squares[0]


class _AnySource:
    """Moments at some times, all of it computed there."""

    def __init__(self, source: Data, target: BrokenSpace, order: int) -> None:
        self._source = source
        points, weights = target.mesh.reference.quadrature(order)
        self._x = target.mesh.points(points)
        self._x.flags.writeable = False
        self._table = target.basis.values(points)
        self._weights = weights / target.mesh.reference.measure

    def at(self, times: Array) -> tuple[Array, Array]:
        """Modes in space ``(T, modes, C)``, and the mean square of what they leave out ``(T, C)``."""
        values = np.stack([self._source(self._x, t) for t in times.tolist()])
        modes = (self._table * self._weights[:, None]).T @ values
        return modes, np.einsum("q,tqc->tc", self._weights, (values - self._table @ modes) ** 2)


class _FewTerms:
    """The same from modes and products of the s_j."""

    def __init__(self, source: Separated, target: BrokenSpace, order: int) -> None:
        self._factors = source.factors
        points, weights = target.mesh.reference.quadrature(order)
        x, table = target.mesh.points(points), target.basis.values(points)
        means = weights / target.mesh.reference.measure
        values = np.stack([field(x) for field in source.fields])
        self._modes = (table * means[:, None]).T @ values  # (terms, modes, C)
        rest = values - table @ self._modes
        self._products = np.einsum("q,iqc,jqc->ijc", means, rest, rest, optimize=True)
        self._slack = 4.0 * (len(means) + len(rest)) * _UNIT_ROUNDOFF

    def at(self, times: Array) -> tuple[Array, Array]:
        """Return as above."""
        factors = np.stack([self._factors(t) for t in times.tolist()])
        pairs = (factors[:, :, None] * factors[:, None]).reshape(len(times), -1)
        left = pairs @ self._products.reshape(pairs.shape[1], -1)
        # the terms may cancel: round-off is that of their sizes
        sizes = np.abs(factors) @ np.sqrt(np.einsum("iic->ic", self._products))
        left += self._slack * sizes**2
        return np.tensordot(factors, self._modes, 1), np.maximum(left, 0.0)
