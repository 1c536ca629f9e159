"""What a domain is, and the torus."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stfem.checks import checked_numbers, described
from stfem.meshes.grid import TensorGrid
from stfem.meshes.unstructured import UnstructuredMesh

__all__ = [
    "Region",
    "Seam",
    "Torus",
    "UnsupportedDomainError",
    "box_seams",
    "torus_of",
    "unit_points",
]

Array = NDArray[np.float64]

#: Side lengths: the volume of three of them, and the square of its inverse, must stay finite.
_SHORTEST, _LONGEST = 1e-60, 1e60
#: Fractional parts of multiples of these fill an interval evenly, and a cube together.
_IRRATIONAL = np.sqrt([2.0, 3.0, 5.0])


@dataclass(frozen=True, eq=False)
class Seam:
    """Points on two sides that are glued: the same points of a periodic domain.

    Attributes
    ----------
    label
        Which component of a vector field must agree, in words.
    normals, left, right
        Unit normals and the points seen from both sides, ``(d, n)`` each.
    """

    label: str
    normals: Array
    left: Array
    right: Array


class Region(ABC):
    """Where a problem is posed: `Torus`, `Box` or `Domain`."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of space dimensions d."""

    @property
    @abstractmethod
    def measure(self) -> float:
        """Volume."""

    @abstractmethod
    def mesh(self, cells: int | Sequence[int] | None = None) -> TensorGrid | UnstructuredMesh:
        """The mesh, with as many cells (one number or one per direction) where there is a choice.

        Raises
        ------
        ValueError, TypeError
            For cells that do not fit, are missing, or are given although the domain has its mesh.
        """

    @abstractmethod
    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Random points ``(d, count)``."""

    @abstractmethod
    def spread(self) -> Array:
        """A few dozen points ``(d, n)`` in the domain and on its boundary, always the same ones."""

    @abstractmethod
    def seams(self, rng: np.random.Generator) -> Iterator[Seam]:
        """Points on sides that are glued."""


def unit_points(dim: int) -> Array:
    """64 points ``(dim, 64)`` that fill the unit cube evenly."""
    return np.asarray(np.outer(_IRRATIONAL[:dim], np.arange(1, 65)) % 1.0)


def box_seams(
    lower: Sequence[float], upper: Sequence[float], directions: Sequence[int], rng: np.random.Generator
) -> Iterator[Seam]:
    """Random points on the periodic sides of a box."""
    a, b = (np.reshape(corner, (-1, 1)) for corner in (lower, upper))
    for i in directions:
        left = rng.uniform(a, b, (len(a), 8))
        right = left.copy()
        left[i], right[i] = a[i], b[i]
        normals = np.zeros_like(left)
        normals[i] = 1.0
        yield Seam(f"component {i} to be periodic in direction {i}", normals, left, right)


@dataclass(frozen=True)
class Torus(Region):
    """Flat torus (0, L_1) × … × (0, L_d), periodic in every direction.

    Parameters
    ----------
    lengths : sequence of float, or float (d = 1)
        One to three side lengths L_i, from 1e-60 to 1e60 (unit of length).

    Raises
    ------
    ValueError, TypeError
        For lengths that are no numbers or out of range, and for more than three of them.
    """

    lengths: tuple[float, ...]

    def __init__(self, lengths: Sequence[float] | float) -> None:
        given = (lengths,) if isinstance(lengths, (int, float, np.number)) else lengths
        try:
            sides = checked_numbers("lengths", given, "positive,", _SHORTEST, _LONGEST)
        except TypeError:
            raise TypeError(f"lengths: expected numbers, got {described(lengths)}") from None
        if len(sides) not in (1, 2, 3):
            raise ValueError(f"lengths: expected positive numbers, one to three of them, got {len(sides)}")
        object.__setattr__(self, "lengths", sides)

    @property
    def dim(self) -> int:
        """Number of space dimensions d."""
        return len(self.lengths)

    @property
    def measure(self) -> float:
        """Volume of the torus."""
        return math.prod(self.lengths)

    def mesh(self, cells: int | Sequence[int] | None = None) -> TensorGrid:
        if cells is None:
            raise TypeError(
                "cells: expected the number of cells, as one number or one per direction, got None"
            )
        return TensorGrid(self.lengths, cells)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        return np.asarray(rng.uniform(0.0, 1.0, (self.dim, count)) * np.reshape(self.lengths, (-1, 1)))

    def spread(self) -> Array:
        return np.asarray(unit_points(self.dim) * np.reshape(self.lengths, (-1, 1)))

    def seams(self, rng: np.random.Generator) -> Iterator[Seam]:
        return box_seams((0.0,) * self.dim, self.lengths, range(self.dim), rng)


class UnsupportedDomainError(NotImplementedError):
    """What was asked for exists on some domains only, and the given one is not among them."""


def torus_of(domain: Region, what: str) -> Torus:
    """The domain, if it is a torus.

    Raises
    ------
    UnsupportedDomainError
        Saying that ``what`` exists on a torus only.
    """
    if not isinstance(domain, Torus):
        raise UnsupportedDomainError(
            f"{what}: expected a problem on a Torus so far, got one on a {type(domain).__name__}"
        )
    return domain
