"""Exact solutions made of data, which have modes in closed form besides values at points."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from stfem.checks import checked_number
from stfem.data import Data
from stfem.data.base import Array
from stfem.meshes.grid import TensorGrid

__all__ = ["ExactData"]

#: Rates are D|k|² and more.
_LARGEST = 1e250


class ExactData:
    """Field exp(−λt) f(x, t) whose entries f are data.

    Parameters
    ----------
    entries : sequence of Data, or nested sequences of Data
        Shape (m,) for u, (d, m) for ∇u.
    decay : float
        λ (per unit of time).

    Raises
    ------
    TypeError, ValueError
        For entries that are not Data or of different dimensions, or a decay that is not finite.
    """

    def __init__(self, entries: Sequence[object], decay: float = 0.0) -> None:
        try:
            self.entries = np.array(entries, dtype=object)
        except ValueError:
            raise ValueError("exact: expected entries of one shape, got several") from None
        if self.entries.ndim > 2:
            raise ValueError(f"exact: expected entries of shape (m,) or (d, m), got {self.entries.shape}")
        self.decay = checked_number("decay", decay, "a finite number", -_LARGEST, _LARGEST)
        for entry in self.entries.flat:
            if not isinstance(entry, Data):
                raise TypeError(f"exact: expected Data in every entry, got {type(entry).__name__}")
        dims = {entry.dim for entry in self.entries.flat}
        if len(dims) != 1:
            raise ValueError(f"exact: expected entries of one dimension, got {sorted(dims)}")
        (self.dim,) = dims

    def __repr__(self) -> str:
        return f"ExactData(shape={self.entries.shape}, dim={self.dim}, decay={self.decay:g})"

    def __call__(self, x: ArrayLike, t: float = 0.0) -> Array:
        """Values, entries first, at points x of shape (dim, ...)."""
        values = np.stack([entry(x, t) for entry in self.entries.flat])
        return math.exp(-self.decay * t) * values.reshape(*self.entries.shape, *values.shape[1:])

    def project(
        self, index: tuple[int, ...], grid: TensorGrid, degree: int, time: float
    ) -> tuple[Array, float]:
        """Modes (p_1..p_d, cells...) of one entry at one time, and a bound of ‖(I−P)f‖ (T4.6)."""
        projection = self.entries[index].project(grid, degree, time)
        factor = math.exp(-self.decay * time)
        return factor * projection.coefficients, factor * projection.remainder_l2

    def gradient(self) -> ExactData:
        """∇ of the field, a leading axis for the direction; TypeError where it is not known exactly."""
        slopes = [[entry.derivative(i) for entry in self.entries] for i in range(self.dim)]
        return ExactData(slopes, self.decay)
