"""Order conditions of (additive) Runge-Kutta methods from rooted trees.

A method has order p when the elementary weight of every rooted tree t with at most p vertices is

    b · Phi(t) = 1 / gamma(t),    Phi(t)_i = prod over the children k of the root of (A^[colour of k]
    Phi(k))_i,

gamma(t) the density of the tree.  For a sum of right-hand sides, each treated with a matrix of its own, every
vertex carries the colour of its right-hand side.  The trees are generated, so no condition can be forgotten.

References
----------
Butcher (2016), Numerical Methods for Ordinary Differential Equations, chapter 3.
Kennedy, Carpenter (2003), Applied Numerical Mathematics 44, 139-181 (coloured trees).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import prod
from typing import NamedTuple, TypeVar

Scalar = TypeVar("Scalar", Fraction, Decimal)


class Tree(NamedTuple):
    """Rooted tree: the colour of its root and the multiset of the subtrees above it, in a fixed order."""

    colour: int
    children: tuple[Tree, ...]

    @property
    def order(self) -> int:
        """Number of vertices."""
        return 1 + sum(child.order for child in self.children)

    @property
    def density(self) -> int:
        """gamma(t) = |t| · product of the densities of the children."""
        return self.order * prod(child.density for child in self.children)

    def label(self, names: Sequence[str] = "t") -> str:
        """Write the tree as a nested call, ``t(t, t(t))``; ``names`` holds one letter per colour."""
        above = ", ".join(child.label(names) for child in self.children)
        return names[self.colour] + (f"({above})" if above else "")


@cache
def rooted_trees(order: int, colours: int = 1) -> tuple[Tree, ...]:
    """Return all trees with ``order`` vertices and root colour 0; the other vertices take any colour."""
    pool = tuple(
        tree._replace(colour=colour)
        for smaller in range(1, order)
        for tree in rooted_trees(smaller, colours)
        for colour in range(colours)
    )
    return tuple(Tree(0, forest) for forest in _forests(order - 1, pool))


def _forests(size: int, pool: tuple[Tree, ...]) -> Iterator[tuple[Tree, ...]]:
    """Yield each multiset of trees of ``pool`` with ``size`` vertices in all once, members in pool order."""
    if size == 0:
        yield ()
    for position, tree in enumerate(pool):
        if tree.order <= size:
            for rest in _forests(size - tree.order, pool[position:]):
                yield (tree, *rest)


def order_residuals(
    matrices: Sequence[Sequence[Sequence[Scalar]]], weights: Sequence[Scalar], order: int
) -> Iterator[tuple[Tree, Scalar]]:
    """Yield (t, b · Phi(t) − 1/gamma(t)) for every tree with at most ``order`` vertices, small trees first.

    Parameters
    ----------
    matrices : one (stages, stages) matrix per colour.  All colours share ``weights``, so that the colour of
    the
        root does not matter.
    weights : (stages,) the vector b.
    order : largest number of vertices.

    Notes
    -----
    The arithmetic is that of the entries: exact for fractions, the precision of the current context for
    decimals.
    """
    stages = range(len(weights))
    one = weights[0] * 0 + 1
    # Rows without their zeros: half of a triangular matrix and more in most methods.
    rows = [[[(j, row[j]) for j in stages if row[j] != 0] for row in matrix] for matrix in matrices]
    known: dict[Tree, list[Scalar]] = {}

    def internal(tree: Tree) -> list[Scalar]:
        """Phi(tree), at every stage."""
        result = [one for _ in stages]
        for child in tree.children:
            factor = attached(child)
            result = [x * y for x, y in zip(result, factor, strict=True)]
        return result

    def attached(tree: Tree) -> list[Scalar]:
        """A Phi(tree) with the matrix of the root's colour."""
        if tree not in known:
            values = internal(tree)
            known[tree] = [sum((entry * values[j] for j, entry in row), one * 0) for row in rows[tree.colour]]
        return known[tree]

    for size in range(1, order + 1):
        for tree in rooted_trees(size, len(matrices)):
            weight = sum((b * value for b, value in zip(weights, internal(tree), strict=True)), one * 0)
            yield tree, weight - one / tree.density
