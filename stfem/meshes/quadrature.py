"""Quadrature with positive weights and inner points on reference simplices and cubes."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_jacobi
from skfem.quadrature import get_quadrature
from skfem.refdom import RefTri

__all__ = ["Array", "cube_rule", "simplex_rule"]

Array = NDArray[np.float64]
Rule = tuple[Array, Array]

#: Decimals in which points that fall together agree.
_DIGITS = 10
#: Orders up to which scikit-fem has tables for triangles; those with a negative weight are left out.
_TRIANGLE_TABLES = frozenset(range(1, 20)) - {3, 7}


def _jacobi(count: int, exponent: int) -> Rule:
    """Gauss rule on [0, 1] with weight (1 − s)^exponent, exact for degree 2 count − 1."""
    points, weights = roots_jacobi(count, exponent, 0.0)
    return 0.5 * (points + 1.0), weights / 2.0 ** (exponent + 1)


@lru_cache(maxsize=64)
def cube_rule(dim: int, order: int) -> Rule:
    """Product of Gauss rules on [0, 1]^dim, exact for degree ``order`` in each variable.

    Returns
    -------
    points ``(dim, Q)`` and weights ``(Q,)``, which sum to 1; read-only.
    """
    points, weights = _jacobi(order // 2 + 1, 0)
    grids = np.meshgrid(*[points] * dim, indexing="ij") if dim else []
    product = np.ones(1)
    for _ in range(dim):
        product = np.multiply.outer(product, weights).ravel()
    return _frozen(np.array([g.ravel() for g in grids]).reshape(dim, -1), product)


@lru_cache(maxsize=64)
def simplex_rule(dim: int, order: int) -> Rule:
    """Rule on {x ≥ 0, Σ x_i ≤ 1}, exact for total degree ``order``.

    Tables of scikit-fem for triangles up to degree 19. Otherwise the cube is folded into the simplex,
    x_i = s_i Π_{j<i} (1 − s_j), whose Jacobian Π (1 − s_j)^{d−1−j} is the weight of Gauss–Jacobi rules. (The
    tables of scikit-fem 12 for tetrahedra miss their order from 5 on.) On triangles all rules have the
    symmetries of the triangle, so that two cells that meet at it see the same points.

    Returns
    -------
    points ``(dim, Q)`` and weights ``(Q,)``, which sum to 1/dim!; read-only.
    """
    table = min((tabled for tabled in _TRIANGLE_TABLES if tabled >= order), default=0)
    if dim == 2 and table:
        points, weights = get_quadrature(RefTri, table)
        return _frozen(np.array(points), np.array(weights))
    folded = np.zeros((dim, 1))
    weights, rest = np.ones(1), np.ones(1)
    for i in range(dim):
        s, w = _jacobi(order // 2 + 1, dim - 1 - i)
        folded = np.repeat(folded, len(s), axis=1)
        folded[i] = np.multiply.outer(rest, s).ravel()
        rest = np.multiply.outer(rest, 1.0 - s).ravel()
        weights = np.multiply.outer(weights, w).ravel()
    return _frozen(*_symmetrised(folded, weights)) if dim == 2 else _frozen(folded, weights)


def _symmetrised(points: Array, weights: Array) -> Rule:
    """Mean of a rule over the six symmetries of the triangle; points that fall together become one."""
    corners = np.concatenate([1.0 - points.sum(axis=0, keepdims=True), points])
    images = np.concatenate([corners[list(order)[1:]] for order in permutations(range(3))], axis=1)
    _, first, group = np.unique(images.round(_DIGITS), axis=1, return_index=True, return_inverse=True)
    merged = np.zeros(len(first))
    np.add.at(merged, group, np.tile(weights / 6.0, 6))
    return images[:, first], merged


def _frozen(points: Array, weights: Array) -> Rule:
    points.flags.writeable = weights.flags.writeable = False
    return points, weights
