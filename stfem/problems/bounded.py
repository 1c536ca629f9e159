"""Domains with a boundary: boxes, and whatever scikit-fem meshes cover."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import skfem

from stfem.checks import checked_number, checked_numbers, described
from stfem.meshes.facets import Index
from stfem.meshes.files import load_mesh
from stfem.meshes.grid import TensorGrid
from stfem.meshes.memory import require_mesh
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh, from_skfem
from stfem.problems.conditions import Condition
from stfem.problems.domain import Region, Seam, box_seams, unit_points

__all__ = ["BoundaryPart", "Box", "Domain", "boundary_parts", "cell_numbers"]

_SIDES = (("left", "right"), ("bottom", "top"), ("front", "back"))
_LARGEST = 1e60
#: Cells and boundary facets of which points are taken to know a domain again.
_SPREAD = 64


@dataclass(frozen=True, eq=False)
class BoundaryPart:
    """Boundary facets that share a condition.

    Attributes
    ----------
    name
        Name of the boundary.
    condition
        What holds there.
    facets
        Numbers of the facets in the table of the mesh.
    """

    name: str
    condition: Condition
    facets: Index


class Domain(Region):
    """Domain that a scikit-fem mesh covers, with one condition on every boundary facet.

    Parameters
    ----------
    mesh
        `skfem.MeshLine`, `MeshTri`, `MeshQuad`, `MeshTet` or `MeshHex`, a mesh of meshio, or the path of a
        file that meshio can read (gmsh and others); physical groups name boundaries and subdomains.
    boundary
        Conditions by the names of the mesh's boundaries, or one condition for the whole boundary, whose parts
        keep their names (facets without one are called ``boundary``); not needed where there is no boundary.
    periodic
        Directions whose two end sides are glued, or pairs of names of boundaries that differ by a
        translation.

    Raises
    ------
    ValueError, TypeError
        For an unknown or empty boundary, a facet with no or two conditions (naming the boundary and the
        number of facets), sides that do not match, degenerate cells, vertices that are given twice; for a
        file that cannot be read, cells of several shapes and surfaces that are not flat.
    FileNotFoundError
        Where there is no such file.
    """

    def __init__(
        self,
        mesh: Any,
        boundary: Mapping[str, Condition] | Condition | None = None,
        periodic: Iterable[int | tuple[str, str]] = (),
    ) -> None:
        self.periodic = tuple(_pair(sides) for sides in _listed(periodic))
        self._mesh = from_skfem(load_mesh(mesh), self.periodic)
        self.boundary = _conditions(boundary)
        boundary_parts(self._mesh, self.boundary)

    @property
    def dim(self) -> int:
        return self._mesh.dim

    @property
    def measure(self) -> float:
        return float(self._mesh.cell_measures.sum())

    def mesh(self, cells: int | Sequence[int] | None = None) -> UnstructuredMesh:
        if cells is not None:
            raise TypeError(f"cells: expected none for a Domain, which has its mesh, got {cells!r}")
        return self._mesh

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        corners = self._mesh.vertices[:, self._mesh.cells[:, rng.integers(self._mesh.size, size=count)]]
        weights = rng.dirichlet(np.ones(corners.shape[1]), count).T
        return np.asarray((corners * weights).sum(axis=1))

    def spread(self) -> Array:
        mesh = self._mesh
        chosen, sides = (_every(n, _SPREAD) for n in (mesh.size, len(mesh.facets.boundary)))
        middle = mesh.reference.on_facet.vertices.mean(axis=1, keepdims=True)
        on_boundary = mesh.facet_points(middle, mesh.facets.boundary[sides])[:, 0]
        return np.concatenate([mesh.centroids[:, chosen], on_boundary], axis=1)

    def seams(self, rng: np.random.Generator) -> Iterator[Seam]:
        glued = np.flatnonzero(np.any(self._mesh.facets.shift != 0.0, axis=0))
        if len(glued):
            middle = self._mesh.reference.on_facet.vertices.mean(axis=1, keepdims=True)
            left = self._mesh.facet_points(middle, glued)[:, 0]
            normals = self._mesh.facet_normals(middle, glued)[0][:, 0]
            right = left + self._mesh.facets.shift[:, glued]
            yield Seam("the normal component to agree on glued sides", normals, left, right)

    def __repr__(self) -> str:
        return f"Domain({self._mesh!r}, boundary={self.boundary!r})"


class Box(Region):
    """Box (a_1, b_1) × … × (a_d, b_d), periodic in some directions; its mesh has equal cells.

    Parameters
    ----------
    lower, upper
        Corners a and b, d numbers each (one number if d = 1).
    boundary
        Conditions by the names ``left`` and ``right`` (x), ``bottom`` and ``top`` (y), ``front`` and ``back``
        (z), or one condition for all sides, which keep their names.
    periodic
        Periodic directions, counted from 0.

    Raises
    ------
    ValueError, TypeError
        For an empty box, a side without a condition, an unknown side, or one that is periodic.
    """

    def __init__(
        self,
        lower: Sequence[float] | float,
        upper: Sequence[float] | float,
        boundary: Mapping[str, Condition] | Condition | None = None,
        periodic: Iterable[int] = (),
    ) -> None:
        self.lower, self.upper = _corner("lower", lower), _corner("upper", upper)
        if len(self.lower) != len(self.upper) or len(self.lower) not in (1, 2, 3):
            raise ValueError(
                "lower, upper: expected as many numbers in both, one to three, "
                f"got {len(self.lower)} and {len(self.upper)}"
            )
        if not all(a < b for a, b in zip(self.lower, self.upper, strict=True)):
            raise ValueError(f"lower, upper: expected lower < upper, got {self.lower} and {self.upper}")
        for a, b in zip(self.lower, self.upper, strict=True):
            checked_number("upper - lower", b - a, "a side", 1.0 / _LARGEST, 2.0 * _LARGEST)
        directions = [_pair(sides) for sides in _listed(periodic)]
        if not all(isinstance(direction, int) for direction in directions):
            raise TypeError(f"periodic: expected directions, got {directions}")
        self.periodic = tuple(sorted(direction for direction in directions if isinstance(direction, int)))
        if len(set(self.periodic)) < len(self.periodic) or not set(self.periodic) <= set(range(self.dim)):
            raise ValueError(
                f"periodic: expected different directions from 0 to {self.dim - 1}, got {self.periodic}"
            )
        self.boundary = _conditions(boundary)
        boundary_parts(self.mesh((1,) * self.dim), self.boundary)

    @property
    def dim(self) -> int:
        return len(self.lower)

    @property
    def measure(self) -> float:
        return math.prod(b - a for a, b in zip(self.lower, self.upper, strict=True))

    def mesh(self, cells: int | Sequence[int] | None = None) -> UnstructuredMesh:
        if cells is None:
            raise TypeError(
                "cells: expected the number of cells, as one number or one per direction, got None"
            )
        sides = [b - a for a, b in zip(self.lower, self.upper, strict=True)]
        grid = TensorGrid(sides, cells)
        require_mesh(grid)
        counts = grid.cells
        axes = [np.linspace(a, b, n + 1) for a, b, n in zip(self.lower, self.upper, counts, strict=True)]
        shape = (skfem.MeshLine, skfem.MeshQuad, skfem.MeshHex)[self.dim - 1]
        mesh = shape(axes[0]) if self.dim == 1 else shape.init_tensor(*axes)
        centres = mesh.p[:, mesh.facets].mean(axis=1)
        named = {
            name: np.flatnonzero(centres[i] == end)
            for i in range(self.dim)
            if i not in self.periodic
            for name, end in zip(_SIDES[i], (self.lower[i], self.upper[i]), strict=True)
        }
        return from_skfem(mesh.with_boundaries(named), self.periodic)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        lower, upper = (np.reshape(corner, (-1, 1)) for corner in (self.lower, self.upper))
        return np.asarray(rng.uniform(lower, upper, (self.dim, count)))

    def spread(self) -> Array:
        lower, upper = (np.reshape(corner, (-1, 1)) for corner in (self.lower, self.upper))
        inside = lower + unit_points(self.dim) * (upper - lower)
        parts = [inside]
        for i in range(self.dim):
            for end in (self.lower[i], self.upper[i]):
                side = inside[:, ::2].copy()
                side[i] = end
                parts.append(side)
        return np.concatenate(parts, axis=1)

    def seams(self, rng: np.random.Generator) -> Iterator[Seam]:
        return box_seams(self.lower, self.upper, self.periodic, rng)

    def __repr__(self) -> str:
        return f"Box({self.lower}, {self.upper}, boundary={self.boundary!r}, periodic={self.periodic})"


def cell_numbers(mesh: UnstructuredMesh, names: Sequence[str]) -> Index:
    """Which of the named subdomains every cell belongs to, ``(C,)``.

    Raises
    ------
    ValueError
        For unknown names, and unless every cell belongs to exactly one.
    """
    result = np.full(mesh.size, -1, dtype=np.intp)
    for number, name in enumerate(names):
        if name not in mesh.subdomains:
            raise ValueError(f"subdomain: expected one of {sorted(mesh.subdomains)}, got {name!r}")
        members = mesh.subdomains[name]
        shared = int(np.count_nonzero(result[members] >= 0))
        if shared:
            raise ValueError(
                f"subdomain {name!r}: expected cells of no other one, got {shared} of {len(members)}"
            )
        result[members] = number
    if np.any(result < 0):
        raise ValueError(
            f"subdomain: expected every cell in one of {list(names)}, "
            f"got {np.count_nonzero(result < 0)} of {mesh.size} in none"
        )
    return result


def boundary_parts(
    mesh: UnstructuredMesh, boundary: Mapping[str, Condition] | Condition
) -> tuple[BoundaryPart, ...]:
    """Facets of every condition.

    Raises
    ------
    ValueError
        For unknown, empty or interior boundaries, and unless every boundary facet has exactly one condition.
    """
    facets = mesh.facets
    if isinstance(boundary, Condition):
        return tuple(BoundaryPart(name, boundary, members) for name, members in _sides(mesh).items())
    taken: dict[int, str] = {}
    parts = []
    for name, condition in boundary.items():
        if name not in facets.names:
            raise ValueError(f"boundary: expected one of {sorted(facets.names)}, got {name!r}")
        members = facets.names[name]
        if len(members) == 0:
            raise ValueError(
                f"boundary {name!r}: expected facets, got an empty set "
                "(coordinates compared for equality may miss them all)"
            )
        inner = int(np.count_nonzero(members < facets.interior))
        if inner:
            raise ValueError(
                f"boundary {name!r}: expected boundary facets, got {inner} of {len(members)} facets "
                "inside the domain or glued by periodicity"
            )
        shared = [facet for facet in members.tolist() if facet in taken]
        if shared:
            raise ValueError(
                f"boundary {name!r}: expected one condition per facet, "
                f"got {len(shared)} facets that belong to {taken[shared[0]]!r} as well"
            )
        taken.update(dict.fromkeys(members.tolist(), name))
        parts.append(BoundaryPart(name, condition, members))
    bare = np.setdiff1d(facets.boundary, list(taken))
    if len(bare):
        counts = {n: len(np.intersect1d(members, bare)) for n, members in facets.names.items()}
        named = ", ".join(f"{name!r} ({count})" for name, count in counts.items() if count)
        raise ValueError(
            f"boundary: expected a condition on every boundary facet, got none on {len(bare)} of "
            f"{len(facets.boundary)}; their boundaries: {named or 'without a name'}"
        )
    return tuple(parts)


def _sides(mesh: UnstructuredMesh) -> dict[str, Index]:
    """The named boundaries that share no facet, and the facets of no name as ``boundary``."""
    facets, sides = mesh.facets, {}
    left = facets.boundary
    for name, members in facets.names.items():
        if len(members) and np.isin(members, left).all():
            sides[name], left = members, np.setdiff1d(left, members)
    return {**sides, "boundary": left} if len(left) or not sides else sides


def _conditions(given: Mapping[str, Condition] | Condition | None) -> dict[str, Condition] | Condition:
    if isinstance(given, Condition):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(
            "boundary: expected conditions by the names of boundaries or one condition such as "
            f"Dirichlet(0.0), got {given!r}"
        )
    entries = dict(given or {})
    for name, condition in entries.items():
        if not isinstance(condition, Condition):
            raise TypeError(
                f"boundary {name!r}: expected a condition such as Dirichlet(0.0), got {condition!r}"
            )
    return entries


def _corner(name: str, given: Sequence[float] | float) -> tuple[float, ...]:
    numbers = (given,) if isinstance(given, (int, float, np.number)) else given
    return checked_numbers(name, numbers, "coordinates", -_LARGEST, _LARGEST)


def _every(count: int, most: int) -> Index:
    """So many numbers below a count, evenly spaced; all where there are no more."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))


def _listed(periodic: object) -> Iterable[object]:
    listed = isinstance(periodic, (tuple, list, set, frozenset, range))
    if not listed and not (isinstance(periodic, np.ndarray) and periodic.ndim == 1):
        raise TypeError(
            f"periodic: expected directions or pairs of names in a tuple, got {described(periodic)}"
        )
    return list(periodic)  # type: ignore[call-overload, no-any-return]


def _pair(sides: object) -> int | tuple[str, str]:
    if isinstance(sides, (int, np.integer)) and not isinstance(sides, bool):
        return int(sides)
    pair = tuple(sides) if isinstance(sides, (tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(name, str) for name in pair):
        raise TypeError(f"periodic: expected directions or pairs of names, got {sides!r}")
    return pair
