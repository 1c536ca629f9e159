"""Which data the quadrature of a residual on meshes integrates exactly (T4.6)."""

from __future__ import annotations

from stfem.data import Data, Polynomial
from stfem.equations import Equation
from stfem.residual.transport import flux_degree
from stfem.spaces.broken import BrokenSpace

__all__ = ["DATA_ORDER", "DATA_POINTS", "integrated_exactly", "quadrature_order"]

#: Polynomial degree in space and number of points in time that the quadrature has for data beyond û.
DATA_ORDER, DATA_POINTS = 6, 2
#: Order up to which sources that are polynomials are followed by the quadrature.
_LARGEST_ORDER = 24


def quadrature_order(equation: Equation, source: Data, target: BrokenSpace) -> int:
    """Order in space for û in ``target``.

    Exact for a source that is a polynomial of no large degree where f is not linear; without modes for f(û),
    on cells that are not affine, for that too.
    """
    affine, order = target.mesh.affine, 2 * target.degree + DATA_ORDER
    if not equation.linear:
        order = max(order, 0 if affine else 2 * flux_degree(equation) * target.degree)
        if isinstance(source, Polynomial):
            follows = 2 * sum(count - 1 for count in source.coefficients.shape[:-1])
            order = max(order, min(follows, _LARGEST_ORDER))
    return order + (0 if affine else target.mesh.dim)


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
