"""What an equation is: pointwise physics, no mesh."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from stfem.checks import checked_array, checked_numbers, checked_whole, described, whole_number
from stfem.data import Data, as_data
from stfem.data.base import Array
from stfem.data.callables import MAX_COMPONENTS
from stfem.equations.entropy import Entropy
from stfem.equations.probe import check_equation
from stfem.equations.stability import Stability


def checked_dimension(dim: object) -> int:
    """A number of space dimensions.

    Raises
    ------
    TypeError, ValueError
        For another type, and another number than 1, 2 or 3.
    """
    number = whole_number("dim", dim)
    if number not in (1, 2, 3):
        raise ValueError(f"dim: expected 1, 2 or 3, got {described(number)}")
    return number


class Equation(ABC):
    """∂_t u + ∇·f(u, x, t) + c u − ∇·(D∇u) = g (T1.1) for m components in d dimensions.

    D acts on the components with weight 1.

    A user's own equation derives from this class; `check` compares its Jacobian with its flux once, when a
    problem is built.

    Parameters
    ----------
    dim
        Space dimension d.
    components
        Number of components m.
    diffusion
        D = εA: a number ≥ 0 or a symmetric positive semi-definite matrix ``(d, d)``, in length²/time; where D
        jumps, a mapping with one of these for every subdomain of the mesh.
    reaction
        Coefficient c (number, `Data` or callable ``c(x, t)``), in 1/time.
    diffused
        Weight 0 or 1 per component.

    Raises
    ------
    ValueError
        For a diffusion that is negative, not symmetric, not positive semi-definite or of the wrong shape.
    """

    #: f(u) = b(x, t) u.
    linear: bool = False
    #: f_i is one and the same function in every direction i.
    isotropic: bool = False
    #: Polynomial degree of f in u, None where f is not a polynomial.
    flux_degree: int | None = None

    def __init__(
        self,
        dim: int,
        components: int = 1,
        diffusion: object = 0.0,
        diffused: tuple[float, ...] | None = None,
        reaction: object = 0.0,
    ) -> None:
        self.dim, self.components = (
            checked_dimension(dim),
            checked_whole("components", components, 1, MAX_COMPONENTS),
        )
        #: D by the name of the subdomain, None where it is the same everywhere.
        self.subdomain_diffusion: dict[str, Array] | None = None
        self._diffusion: Array | None = None
        if isinstance(diffusion, Mapping):
            parts = {str(name): diffusion_matrix(part, self.dim) for name, part in diffusion.items()}
            self.subdomain_diffusion = parts
        else:
            self._diffusion = diffusion_matrix(diffusion, self.dim)
        self.reaction: Data = as_data(reaction, self.dim, 1, "reaction", None)[0]
        self.diffused = (
            (1.0,) * self.components
            if diffused is None
            else checked_numbers("diffused", diffused, "weights", 0.0, 1.0)
        )
        if len(self.diffused) != components or any(weight not in (0.0, 1.0) for weight in self.diffused):
            raise ValueError(f"diffused: expected {components} weights 0 or 1, got {self.diffused}")

    @property
    def diffusion(self) -> Array:
        """D ``(d, d)``, where it is the same everywhere.

        Raises
        ------
        TypeError
            Where it jumps between subdomains.
        """
        if self._diffusion is None:
            raise TypeError(
                f"diffusion: expected one matrix for all of the domain, got {self.described_diffusion}"
            )
        return self._diffusion

    @property
    def described_diffusion(self) -> object:
        """D as lists, for messages."""
        if self.subdomain_diffusion is None:
            return self.diffusion.tolist()
        return {name: matrix.tolist() for name, matrix in self.subdomain_diffusion.items()}

    @abstractmethod
    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        """f_i(u, x, t): u ``(m, …)``, x ``(d, …)`` broadcastable to u[0]; result like u."""

    @abstractmethod
    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        """f_i'(u) v, like u."""

    @abstractmethod
    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        """Largest |eigenvalue| of f_i'(u), shape of u[0], in length/time."""

    def normal_wave_speed(self, u: Array, x: Array, t: float, normals: Array) -> Array:
        """Largest |eigenvalue| of Σ_i n_i f_i'(u), shape of u[0], for normals ``(d, …)``; in length/time.

        Formed from `jacobian_product` column by column; a system may know a shorter way.
        """
        columns = []
        for unit in np.eye(self.components):
            direction = np.broadcast_to(unit.reshape(-1, *(1,) * (u.ndim - 1)), u.shape)
            products = (n * self.jacobian_product(u, direction, x, t, i) for i, n in enumerate(normals))
            columns.append(sum(products, np.zeros_like(u)))
        if self.components == 1:
            return np.asarray(np.abs(columns[0][0]))
        matrices = np.moveaxis(np.stack(columns, axis=1), (0, 1), (-2, -1))
        return np.asarray(np.abs(np.linalg.eigvals(matrices)).max(axis=-1))

    @property
    @abstractmethod
    def stability(self) -> Stability:
        """What turns residual norms into an error bound."""

    @property
    def entropy(self) -> Entropy | None:
        """The strictly convex entropy that a system measures errors with, None for y = ‖e‖²."""
        return None

    def jacobian_bound(self, least: Array, largest: Array, slope: Array, direction: int) -> Array | None:
        """Bounds of the components of f_i'(u)v for complex u and v, None where they are not known.

        It proves the quadrature of a flux that is not polynomial (T4.6). Arrays ``(m, …)``: every u_c lies in
        a disc around a real number, with least_c ≤ |u_c| ≤ largest_c, and |v_c| ≤ slope_c. A disc contains
        no zero where least_c > 0.
        """
        return None

    def sonic_points(self, direction: int) -> tuple[float, ...] | None:
        """States of a scalar equation where f_i' changes sign (more are harmless), None if not known."""
        return () if self.linear else None

    @property
    def velocity(self) -> tuple[Data, ...]:
        """b, one `Data` per direction, of a linear equation."""
        raise TypeError(f"{type(self).__name__}: only a linear equation has a velocity field")

    @property
    def velocity_divergence(self) -> tuple[Data, ...]:
        """Data that sum to ∇·b, of a linear equation."""
        raise TypeError(f"{type(self).__name__}: only a linear equation has a velocity field")

    def probe_states(self, rng: np.random.Generator, count: int) -> Array:
        """Admissible random states ``(m, count)`` for `check`."""
        return rng.uniform(0.5, 1.5, (self.components, count))

    def check(self) -> None:
        """Test shapes, wave speeds, declared facts and the Jacobian against differences of the flux.

        States and points are random.

        Raises
        ------
        ValueError, TypeError
            Names the method, with expected and got.
        """
        check_equation(self)


def diffusion_matrix(diffusion: object, dim: int) -> Array:
    """D as a checked ``(d, d)`` array."""
    if np.ma.is_masked(diffusion):
        raise ValueError(f"diffusion: expected numbers, got masked ones in {diffusion!r}")
    try:
        numbers = np.asarray(diffusion)
    except ValueError:  # rows of different lengths
        numbers = np.array(None)
    if numbers.dtype.kind not in "iuf":
        raise TypeError(f"diffusion: expected a number or a matrix, got {described(diffusion)}")
    given = numbers.astype(np.float64)
    matrix = np.diag(np.full(dim, given)) if given.ndim == 0 else given
    if matrix.shape != (dim, dim):
        raise ValueError(
            f"diffusion: expected a number or a matrix of shape ({dim}, {dim}), got shape {given.shape}"
        )
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"diffusion: expected finite numbers, got {described(diffusion)}")
    size = float(np.abs(matrix).max())
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-13 * size):
        raise ValueError(f"diffusion: expected a symmetric matrix, got {matrix.tolist()}")
    matrix = np.triu(matrix) + np.triu(matrix, 1).T  # asymmetry by round-off (D = R A Rᵀ) is removed
    smallest = float(np.linalg.eigvalsh(matrix / size)[0]) if size > 0.0 else 0.0
    if smallest < -1e-14 * dim:
        raise ValueError(
            f"diffusion: expected positive semi-definite, got smallest eigenvalue {smallest * size:g}"
        )
    matrix.flags.writeable = False
    return matrix


def is_diagonal(matrix: Array) -> bool:
    """Whether a diffusion matrix has no cross terms."""
    entries = checked_array("matrix", matrix)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise ValueError(f"matrix: expected a square matrix, got shape {entries.shape}")
    return not np.any(entries - np.diag(np.diag(entries)))
