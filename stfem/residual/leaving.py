"""Whether a flow is proved to leave through a boundary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from stfem.data import Constant, Data, Polynomial, Trigonometric, polynomial_range
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["smallest_normal_velocity"]

#: Digits in which planes count as the same; distance from one, relative to its size, that counts as none.
_DIGITS, _FLAT = 9, 1e-9
#: Points per direction at which trigonometric sums are looked at.
_SAMPLES = 65


def smallest_normal_velocity(
    mesh: UnstructuredMesh, facets: Index, velocity: Sequence[Data], duration: float
) -> float:
    """Lower bound of b·n on boundary facets × [0, duration], up to round-off; −∞ where none is known.

    On a plane x = x_0 + Qs the sum Σ n_ib_i of polynomials is one in (s, t), bounded by its Bernstein
    coefficients on a box of s that holds all facets of the plane (T4.6). One of trigonometric sums is
    Σ_j Re(c_j exp(i(κ_j·s + ω_jt))), at most Σ|c_j|(Σ_i|κ_ji|h_i + |ω_j|h_t)/2 below its values on a grid of
    steps h. Polynomial and trigonometric components are bounded apart.

    Parameters
    ----------
    mesh, facets
        Where.
    velocity
        b, one `Data` per direction.
    duration
        Final time.
    """
    known = (Constant, Polynomial, Trigonometric)
    if not all(isinstance(b, known) for b in velocity):
        return -np.inf
    return min((_on_plane(plane, velocity, duration) for plane in _planes(mesh, facets)), default=np.inf)


class _Plane:
    """The points origin + directions @ s with 0 ≤ s ≤ sizes, and their normal."""

    def __init__(self, normal: Array, corners: Array) -> None:
        self.normal = normal
        directions = np.linalg.svd(normal[None])[2][1:].T  # (d, d − 1)
        centre = corners.mean(axis=1, keepdims=True)
        s = directions.T @ (corners - centre)
        lower = s.min(axis=1)
        self.sizes = s.max(axis=1) - lower
        self.origin, self.directions = centre[:, 0] + directions @ lower, directions
        extent = np.ptp(corners, axis=1).max()
        self.flat = bool(np.all(np.abs(normal @ (corners - centre)) <= _FLAT * max(extent, 1e-300)))

    def points(self, s: Array) -> Array:
        """x ``(d, n)`` of s ``(d − 1, n)`` from 0 to 1."""
        return np.asarray(self.origin[:, None] + self.directions @ (self.sizes[:, None] * s))


def _planes(mesh: UnstructuredMesh, facets: Index) -> Iterator[_Plane]:
    """The planes in which the facets lie; a curved facet gives one that is not flat."""
    parameters = mesh.reference.on_facet.vertices
    corners = mesh.facet_points(parameters, facets)
    normals = mesh.facet_normals(parameters, facets)[0][:, 0]
    offsets = (normals * corners[:, 0]).sum(axis=0)
    scale = max(float(np.abs(corners).max(initial=0.0)), 1e-300)
    keys = np.round(np.vstack([normals, offsets / scale]), _DIGITS) + 0.0
    _, group = np.unique(keys, axis=1, return_inverse=True)
    group = group.ravel()
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else ():
        yield _Plane(normals[:, members[0]], corners[:, :, members].reshape(mesh.dim, -1))


def _on_plane(plane: _Plane, velocity: Sequence[Data], duration: float) -> float:
    if not plane.flat:
        return -np.inf
    waves = [(n, b) for n, b in zip(plane.normal, velocity, strict=True) if isinstance(b, Trigonometric)]
    rest = [(n, b) for n, b in zip(plane.normal, velocity, strict=True) if not isinstance(b, Trigonometric)]
    return _polynomial(plane, rest, duration) + _trigonometric(plane, waves, duration)


def _polynomial(plane: _Plane, terms: Sequence[tuple[float, Data]], duration: float) -> float:
    """Lower bound of Σ n_ib_i for polynomials and constants."""
    shapes = [b.coefficients.shape for _, b in terms if isinstance(b, Polynomial)]
    degrees = [max((sum(shape[:-1]) - len(shape) + 1 for shape in shapes), default=0)] * len(plane.sizes)
    degrees.append(max((shape[-1] - 1 for shape in shapes), default=0))
    rules = [gauss(degree + 1)[0] for degree in degrees]
    s = np.stack([axis.ravel() for axis in np.meshgrid(*rules[:-1], indexing="ij")]) if rules[:-1] else _POINT
    x = plane.points(s)
    values = np.stack(
        [sum((n * b(x, t * duration) for n, b in terms), np.zeros(x.shape[1])) for t in rules[-1]]
    )
    modes = np.moveaxis(values, 0, -1).reshape([len(rule) for rule in rules])
    for axis, (degree, rule) in enumerate(zip(degrees, rules, strict=True)):
        to_modes = np.linalg.inv(legendre_values(degree, rule))
        modes = np.moveaxis(np.tensordot(to_modes, modes, (1, axis)), 0, axis)
    return polynomial_range(modes[..., None], len(degrees), rtol=1e-4)[0]


def _trigonometric(plane: _Plane, terms: Sequence[tuple[float, Trigonometric]], duration: float) -> float:
    """Lower bound of Σ n_ib_i for trigonometric sums; what cancels on the plane is merged first."""
    if not terms:
        return 0.0
    waves = np.concatenate([b.wavevectors for _, b in terms])
    amplitudes = np.concatenate([n * b.amplitudes for n, b in terms])
    along = waves @ plane.directions * plane.sizes
    # as a function of (s, t) on the unit cube
    turned = amplitudes * np.exp(1j * (waves @ plane.origin))
    speeds = np.concatenate([b.frequencies for _, b in terms]) * duration
    both = Trigonometric(np.column_stack([along, speeds]), np.zeros(len(speeds)), turned)
    grid = np.linspace(0.0, 1.0, _SAMPLES)
    samples = np.meshgrid(*[grid] * both.dim, indexing="ij")
    slope = float((np.abs(both.amplitudes)[:, None] * np.abs(both.wavevectors)).sum())
    return float(both(np.stack(samples)).min()) - 0.5 * slope / (_SAMPLES - 1)


#: The one point of a line's end.
_POINT = np.zeros((0, 1))
