"""Which data the quadrature of a residual on meshes integrates exactly (T4.6)."""

from __future__ import annotations

from stfem.data import Data, Polynomial

__all__ = ["DATA_ORDER", "DATA_POINTS", "integrated_exactly"]

#: Polynomial degree in space and number of points in time that the quadrature has for data beyond û.
DATA_ORDER, DATA_POINTS = 6, 2


def integrated_exactly(data: Data, order: int) -> bool:
    """Whether squares of data, less polynomials of a degree ``order`` allows, are integrated exactly.

    Constants and polynomials of a total degree in space up to half of ``order``, and up to 3 in time: what
    every slab has points for.
    """
    if data.constant:
        return True
    if not isinstance(data, Polynomial):
        return False
    *in_space, in_time = (count - 1 for count in data.coefficients.shape)
    return bool(2 * sum(in_space) <= order and in_time <= DATA_POINTS + 1)
