"""The best split of a residual on the torus, frequency by frequency (T3, optimal split).

Any w ∈ H² moves a part of the residual into the dual norm: R_H' = R_H + ∇·D∇w, Φ' = Φ − D∇w. With Φ = 0 and
w = (λ − ∇·D∇)^{-1} R the parts are multiples of R̂_k, with s = kᵀDk and m = λ/(λ + s),

    ‖R_H'‖² = Σ_k m² |R̂_k|²,      ‖D^{-1/2}Φ'‖² = Σ_k (1 − m)² |R̂_k|²/s,

which is the least ‖R_H‖² + λ‖D^{-1/2}Φ‖² over all splits of R. Multipliers that are constant on groups of
frequencies need two sums for each group only, and all λ come for the price of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from stfem.equations import is_diagonal
from stfem.meshes.grid import TensorGrid
from stfem.reconstruction.symbol import ROUNDING
from stfem.residual.forms import FormValue, NodeForm, assembled
from stfem.spaces.fourier import Spectrum, fourier_coefficients, frequencies
from stfem.spaces.stencil import Array

#: Frequencies up to this multiple of the cells are known one by one: in one direction, in two, in three.
REACH = (2, 1, 1)
#: Ratio of s in one group of frequencies, at most.
GROUP = 1.5
#: Values of λ, between the smallest and the largest s, that are tried.
MULTIPLIERS = 24
#: Of tr D: what round-off may leave of an eigenvalue, or of kᵀDk/|k|², that is zero.
CANCELLED = 1e-15


def reach(dim: int) -> int:
    """Of `REACH`; in more dimensions there are many more frequencies."""
    return REACH[dim - 1]


def least_beyond(highest: Sequence[int], lengths: Sequence[float], diffusion: Array) -> float:
    """Lower bound of kᵀDk over all n with some |n_i| above the highest."""
    frequencies = 2.0 * np.pi * (np.asarray(highest) + 1) / np.asarray(lengths)
    return least_eigenvalue(diffusion) * float(frequencies.min()) ** 2


def least_eigenvalue(matrix: Array) -> float:
    """Lower bound of the smallest eigenvalue of a symmetric matrix, round-off included."""
    if is_diagonal(matrix):
        return float(np.diag(matrix).min())
    eigenvalues = np.linalg.eigvalsh(matrix)
    return float(eigenvalues[0] - CANCELLED * eigenvalues[-1])


@dataclass(frozen=True, eq=False)
class SplitSpectrum:
    """Sums over groups of frequencies of a residual on the pieces of a slab.

    Attributes
    ----------
    squares
        ∫_piece Σ |R̂_k|², ``(pieces, groups)``.
    duals
        ∫_piece Σ |R̂_k|²/s, ``(pieces, groups)``; 0 for s = 0.
    rates
        The least s of every group.
    rest
        ∫_piece of the square of what is not in the sums, ``(pieces,)``; it stays in R_H.
    """

    squares: Array
    duals: Array
    rates: Array
    rest: Array

    def splits(self) -> tuple[Array, Array]:
        """∫a² (as a norm, squared) and ∫p²/ε on every piece, for every λ: arrays ``(pieces, λ)``."""
        multipliers = self._multipliers
        kept = self.squares @ (multipliers**2).T
        hyperbolic = (np.sqrt(kept) + np.sqrt(self.rest)[:, None]) ** 2
        return hyperbolic, self.duals @ ((1.0 - multipliers) ** 2).T

    @property
    def mean(self) -> Array:
        """∫_piece of the square of the mean's part, ``(pieces,)``."""
        return self.squares[:, 0] if self.rates[0] == 0.0 else np.zeros(len(self.squares))

    @cached_property
    def _multipliers(self) -> Array:
        """m for every λ and group."""
        positive = self.rates[self.rates > 0.0]
        if not positive.size:
            return np.ones((1, len(self.rates)))
        values = np.geomspace(0.1 * positive.min(), 10.0 * positive.max(), MULTIPLIERS)[:, None]
        return np.asarray(values / (values + self.rates))


class SpectralForm:
    """Products of residuals at nodes, group of frequencies by group.

    Parameters
    ----------
    grid
        Grid of the residuals.
    diffusion
        D, positive definite.
    cells
        Cells of the scheme, of which the frequencies are multiples.
    form
        Residuals at the nodes.
    points
        Tells the number of their modes per direction, which may change.
    """

    def __init__(
        self,
        grid: TensorGrid,
        diffusion: Array,
        cells: tuple[int, ...],
        form: NodeForm,
        points: Callable[[], int],
    ) -> None:
        self._grid, self._form, self._points = grid, form, points
        self._highest = tuple(max(1, reach(grid.dim) * count) for count in cells)
        ranges = [frequencies(n, last=i == grid.dim - 1) for i, n in enumerate(self._highest)]
        numbers = np.stack(np.meshgrid(*ranges, indexing="ij")).reshape(grid.dim, -1)
        k = 2.0 * np.pi * numbers / np.reshape(grid.lengths, (-1, 1))
        rates = np.einsum("ik,ij,jk->k", k, diffusion, k)
        if not is_diagonal(diffusion):  # then terms cancel
            rates = np.maximum(rates - CANCELLED * float(np.trace(diffusion)) * (k * k).sum(axis=0), 0.0)
        # conjugate pairs are counted once, with weight 2
        weights = np.where(numbers[-1] == 0, 1.0, 2.0)
        least = float(np.min(rates[rates > 0.0]))
        group = np.zeros(len(rates), dtype=np.intp)
        positive = rates > 0.0
        group[positive] = 1 + (np.log(rates[positive] / least) / np.log(GROUP)).astype(np.intp)
        self._order = np.argsort(rates, kind="stable")
        _, self._starts = np.unique(group[self._order], return_index=True)
        self._rank = np.argsort(self._order)
        self._s, self._weights, self._numbers = (
            array[..., self._order] for array in (rates, weights, numbers)
        )
        self._inverse = np.where(self._s > 0.0, 1.0 / np.where(self._s > 0.0, self._s, 1.0), 0.0)
        # of frequencies beyond only the total is known
        self._beyond = least_beyond(self._highest, grid.lengths, diffusion)
        self._rates = np.append(self._s[self._starts], self._beyond)
        self.cell_measure = grid.cell_measure
        self.forget()

    def forget(self) -> None:
        """Forget all nodes."""
        self._kept: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._coefficients: WeakKeyDictionary[object, Spectrum] = WeakKeyDictionary()
        self._products: WeakKeyDictionary[object, WeakKeyDictionary[object, Array]] = WeakKeyDictionary()

    def __call__(
        self, grams: Array, nodes: Sequence[object], value: FormValue, duration: float
    ) -> SplitSpectrum:
        """The sums for a slab.

        Parameters
        ----------
        grams, nodes
            As `NodeForm.__call__` has them.
        value
            What the form gives for the slab.
        duration
            Δt.
        """
        sums = assembled(nodes, self._product)
        squares, duals = duration * np.maximum(np.einsum("pjl,gbjl->gpb", grams, sums), 0.0)
        scale = self.cell_measure * duration
        rest = scale * (value.pieces - value.kept_pieces)
        return self._completed(squares, duals, scale * value.kept_pieces, rest, scale * value.size)

    def at(self, node: object) -> SplitSpectrum:
        """The sums for the residual at one node."""
        squares, duals = self._product(node, node)[:, None, :, 0, 0]
        total = np.array([self.cell_measure * self._form.size(node) ** 2])
        return self._completed(squares, duals, total, 0.0 * total, float(total[0]))

    def _completed(
        self, squares: Array, duals: Array, inside: Array, rest: Array, size: float
    ) -> SplitSpectrum:
        """With the group of all frequencies beyond, of which only the total is known."""
        rounding = ROUNDING * size
        tail = np.maximum(inside - squares.sum(axis=1), 0.0) + rounding
        return SplitSpectrum(
            np.column_stack([squares, tail]),
            np.column_stack([duals, tail / self._beyond]),
            self._rates,
            rest + rounding,
        )

    def low(self, node: object, numbers: NDArray[np.intp]) -> Spectrum:
        """Coefficients of some frequencies n ``(d, M)`` of value and rate at a node, ``(2, M)``."""
        negative = numbers[-1] < 0
        places = np.where(negative, -numbers, numbers)
        shape = [2 * n + 1 for n in self._highest[:-1]]
        index = np.ravel_multi_index(
            tuple(
                place + (n if i < len(shape) else 0)
                for i, (place, n) in enumerate(zip(places, self._highest, strict=True))
            ),
            (*shape, self._highest[-1] + 1),
        )
        found = self._spectrum(node)[:, self._rank[index]]
        return np.asarray(np.where(negative, np.conj(found), found))

    def high(self, nodes: Sequence[object], highest: tuple[int, ...], shift: Array) -> Array:
        """Σ Re(conj(a_j) a_l)/(s + shift) over the frequencies beyond the highest, ``(C, 2k, 2k)``."""
        fields = np.concatenate([self._spectrum(node) for node in nodes])
        outside = np.any(np.abs(self._numbers) > np.reshape(highest, (-1, 1)), axis=0)
        fields = fields[:, outside]
        weights = self._weights[outside] / (self._s[outside] + shift[:, None])
        return np.asarray(
            np.einsum("jk,ck,lk->cjl", fields.real, weights, fields.real, optimize=True)
            + np.einsum("jk,ck,lk->cjl", fields.imag, weights, fields.imag, optimize=True)
        )

    def _product(self, first: object, second: object) -> Array:
        """Σ Re(conj(a_i) b_j) and the same over s in every group, ``(2, groups, 2, 2)``."""
        self._check_modes()
        known = self._products.setdefault(first, WeakKeyDictionary())
        if second not in known:
            a, b = (self._spectrum(node) for node in (first, second))
            each = np.einsum("ik,jk->ijk", a.real, b.real) + np.einsum("ik,jk->ijk", a.imag, b.imag)
            each *= self._weights
            pair = np.stack(
                [np.add.reduceat(term, self._starts, axis=-1) for term in (each, each * self._inverse)]
            )
            known[second] = np.moveaxis(pair, -1, 1)
        return known[second]

    def _check_modes(self) -> None:
        """Forget what belongs to other modes than those that the form keeps now."""
        if self._form.kept is not self._kept:  # chosen anew, be they the same numbers
            self.forget()
            self._kept = self._form.kept

    def _spectrum(self, node: object) -> Spectrum:
        """Coefficients of value and rate at a node, ``(2, frequencies)`` in the order of the groups."""
        self._check_modes()
        if node not in self._coefficients:
            modes: NDArray[np.intp] = np.array(
                np.unravel_index(self._kept, (self._points(),) * self._grid.dim)
            )
            found = fourier_coefficients(self._form.values(node), modes, self._grid, self._highest)
            self._coefficients[node] = found.reshape(2, -1)[:, self._order]
        return self._coefficients[node]
