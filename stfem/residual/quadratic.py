"""Norms of the residual of a slab as quadratic forms of residuals at its nodes (T3, T4.6).

With S the filter, U^t the interpolant of the scheme's values in time and I the Hermite interpolation,

    R = I(R_n, R'_n) + S τ + (N(û) − I N(û)) + (I g − g),      τ = dU^t/dt − I(F_n, A_n),

for any A_n. The first term holds the residual of the reconstruction in space; its integrals over a slab are
Σ_jl H_jl ⟨R_j, R_l⟩ with H the Gram matrix of the Hermite basis, and of the products only those with the new
node are computed on each slab. The other terms are errors of interpolation in time, small with the distance
of the nodes, and enter through bounds of their norms.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from stfem.data import Data
from stfem.equations import Equation
from stfem.reconstruction import NodeReconstruction, ReconstructedSlab
from stfem.reconstruction.multiplier import FilterNorms
from stfem.residual.interpolation import InterpolationError, TimeDefect
from stfem.residual.nodal import NodeEvaluator, NodeFamily, NodeResidual
from stfem.residual.norms import SlabNorms
from stfem.spaces.stencil import Array

UNIT_ROUNDOFF = 2.0**-53


class PairProducts:
    """⟨a_i, b_j⟩ per cell for arrays ``(2, M, C)`` of pairs of nodes, computed once for every pair."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[object, WeakKeyDictionary[object, Array]] = WeakKeyDictionary()

    def of(self, owners: tuple[object, object], first: Array, second: Array) -> Array:
        """Array ``(2, 2, C)``."""
        known = self._known.setdefault(owners[0], WeakKeyDictionary())
        result = known.get(owners[1])
        if result is None:
            result = np.empty((2, 2, first.shape[2]))
            for i, a in enumerate(first):
                for j, b in enumerate(second):
                    np.einsum("mc,mc->c", a, b, out=result[i, j])
            known[owners[1]] = result
        return result


class Form:
    """Σ_jl H_jl ⟨a_j, a_l⟩ per cell for arrays that belong to nodes."""

    def __init__(self) -> None:
        self._products = PairProducts()

    def __call__(self, gram: Array, owners: Sequence[object], arrays: Sequence[Array]) -> tuple[Array, float]:
        """Array ``(C,)``, and Σ_jl |H_jl| ‖a_j‖ ‖a_l‖, relative to which it is rounded.

        ``gram`` is ordered value, rate, value, rate, …
        """
        total = np.zeros(arrays[0].shape[2])
        sizes: list[float] = []
        for n, (owner, array) in enumerate(zip(owners, arrays, strict=True)):
            for k in range(n + 1):
                weight = gram[2 * n : 2 * n + 2, 2 * k : 2 * k + 2] * (1.0 if k == n else 2.0)
                products = self._products.of((owner, owners[k]), array, arrays[k])
                total += np.tensordot(weight, products, 2)
            sizes += [float(np.sqrt(products[i, i].sum())) for i in range(2)]  # those of k = n
        return total, float(np.array(sizes) @ np.abs(gram) @ np.array(sizes))


class QuadraticSplit:
    """Slab norms from nodal residuals, for scalar equations with constant coefficients and f of degree ≤ 2.

    Parameters
    ----------
    evaluator
        Residuals at nodes.
    norms
        Operator norms of the filter.
    equation, source
        The problem's; the source must know its time derivatives.
    """

    def __init__(
        self, evaluator: NodeEvaluator, norms: FilterNorms, equation: Equation, source: Data
    ) -> None:
        self._evaluator, self._norms = evaluator, norms
        self._grid = evaluator.grid
        self._source = source
        self._highest: dict[int, Data] = {0: source}
        self._residuals: WeakKeyDictionary[NodeReconstruction, NodeResidual] = WeakKeyDictionary()
        self._families: WeakKeyDictionary[NodeReconstruction, NodeFamily] = WeakKeyDictionary()
        self._forms = [Form() for _ in range(3 + self._grid.dim)]
        self._curvature = [_curvature(equation, i) for i in range(self._grid.dim)]

    def residual(self, node: NodeReconstruction) -> NodeResidual:
        """Residual of a node, evaluated once."""
        found = self._residuals.get(node)
        if found is None:
            found = self._residuals[node] = self._evaluator.residual(node)
        return found

    def _family(self, node: NodeReconstruction) -> NodeFamily:
        found = self._families.get(node)
        if found is None:
            found = self._families[node] = self._evaluator.family(node, self.residual(node))
        return found

    def temporal(self, slab: ReconstructedSlab, defect: TimeDefect, filtered: bool) -> tuple[float, float]:
        """Bounds of the errors of interpolation in time in L²(slab × Ω), and of their ∫_Ω in L²(slab).

        S keeps integrals over Ω, and the integral of N(û) vanishes.

        Parameters
        ----------
        slab, defect
            The slab and what its interpolation in time leaves.
        filtered
            Whether S is applied to the modes of τ and U^t in time; else its operator norms bound what it
            makes of them, which is cheap, and coarse where they are rough.
        """
        error = InterpolationError(slab.time, np.array([node.time for node in slab.nodes]), slab.value_modes)
        root = float(np.sqrt(slab.time.duration))
        if filtered:
            total = root * float(np.sqrt(sum(self._size(v) ** 2 for v in defect.rate_modes())))
        else:
            total = self._norms.mean_square * defect.rate
        if any(self._curvature):
            products = self._filtered_products(defect) if filtered else self._bounded_products(defect)
            total += root * float((error.products * products).sum())
        mean = defect.mean
        if self._source.time_dependent:
            highest = self._source_derivative(len(slab.value_modes))
            largest = highest.sup(slab.time.start, slab.time.stop, self._grid.lengths)
            source = root * float(np.sqrt(self._grid.measure)) * error.smooth * largest
            total += source
            mean += float(np.sqrt(self._grid.measure)) * source
        return total, mean

    def slope_tails(self, defect: TimeDefect) -> Array:
        """Row n: bounds of sup|∂_iû| on the slab for the part of û in its modes in time n + 1, n + 2, …"""
        a = np.arange(1, len(defect.sups))
        terms = np.sqrt(2.0 * a + 1.0) * defect.sups[1:]
        tails = np.append(np.cumsum(terms[::-1])[::-1], 0.0)
        return np.outer(tails, self._norms.sup_slope)

    def _size(self, field: Array) -> float:
        """‖S v‖."""
        filtered = self._evaluator.filtered(field)
        return float(np.sqrt(self._grid.cell_measure * np.vdot(filtered, filtered)))

    def _bounded_products(self, defect: TimeDefect) -> Array:
        """Bounds of Σ_i |f_i''| ‖C_a ∂_iC_b‖ with the time modes C_a = S c_a of û, from those of c_a."""
        total = np.zeros((len(defect.sizes),) * 2)
        norms = self._norms
        for curvature, slope, sup_slope in zip(self._curvature, norms.slope, norms.sup_slope, strict=True):
            by_sup = norms.sup * slope * np.outer(defect.sups, defect.sizes)
            by_size = norms.mean_square * sup_slope * np.outer(defect.sizes, defect.sups)
            total += curvature * np.minimum(by_sup, by_size)
        return total

    def _filtered_products(self, defect: TimeDefect) -> Array:
        """The same from C_a: sup|C_a| Σ_i |f_i''| ‖∂_iC_b‖."""
        sups, slopes = [], []
        for mode in defect.modes():
            sup, sizes = self._evaluator.measured(self._evaluator.filtered(mode))
            sups.append(sup)
            slopes.append(float(np.dot(self._curvature, sizes)))
        return np.outer(sups, slopes)

    def _source_derivative(self, order: int) -> Data:
        """∂_t^n g."""
        known = max(n for n in self._highest if n <= order)
        datum = self._highest[known]
        for n in range(known + 1, order + 1):
            datum = self._highest[n] = datum.time_derivative()
        return datum

    def norms(self, slab: ReconstructedSlab, round_off: float, growth: float, family: bool) -> SlabNorms:
        """Norms of one slab, but for the errors of interpolation in time.

        Parameters
        ----------
        slab
            Its nodes carry accelerations.
        round_off, growth
            As `SlabNorms.remainder` and `SlabNorms.growth`.
        family
            Whether all members of the flux family are wanted, or λ = 1 alone (then all count as λ = 1).
        """
        nodes = [self.residual(node) for node in slab.nodes]
        modes, duration = slab.value_modes, slab.time.duration
        gram = modes.T @ modes
        scale = self._grid.cell_measure * duration
        full, rounded = self._forms[0](gram, nodes, [node.values for node in nodes])
        base, cross, difference, flux = full, np.zeros_like(full), np.zeros_like(full), np.zeros_like(full)
        means = [node.means for node in nodes]
        if family:
            families = [self._family(node) for node in slab.nodes]
            base, more = self._forms[1](gram, families, [entry.residual for entry in families])
            difference, most = self._forms[2](gram, families, [entry.difference for entry in families])
            cross = 0.5 * (full - base - difference)
            rounded += more + most
            for i, form in enumerate(self._forms[3:]):
                flux = flux + form(gram, families, [entry.flux[i] for entry in families])[0]
            means = [entry.means for entry in families]
        in_time = modes @ np.concatenate(means)
        left_out = np.sqrt(duration * np.diag(gram)) @ np.concatenate([node.left_out for node in nodes])
        operations = 64.0 + nodes[0].values.shape[1]  # sums over pairs and modes
        remainder = float(np.sqrt(duration) * left_out + round_off)
        mean = duration * self._grid.cell_measure * float(np.linalg.norm(in_time.sum(axis=1)))
        shape = self._grid.cells
        return SlabNorms(
            slab.time.start,
            slab.time.stop,
            np.maximum(scale * base, 0.0).reshape(shape),
            (scale * cross).reshape(shape),
            np.maximum(scale * difference, 0.0).reshape(shape),
            np.maximum(scale * flux, 0.0).reshape(shape),
            in_time.reshape(-1, *shape),
            remainder,
            mean + float(np.sqrt(self._grid.measure)) * remainder,
            growth,
            rounding_sq=operations * UNIT_ROUNDOFF * scale * rounded,
        )


def _curvature(equation: Equation, direction: int) -> float:
    """|f_i''| of a scalar equation with f_i of degree at most 2."""
    if equation.linear:
        return 0.0
    one, x = np.ones((1, 1)), np.zeros((equation.dim, 1))
    at_one, at_zero = (equation.jacobian_product(u, one, x, 0.0, direction) for u in (one, 0.0 * one))
    return abs(float((at_one - at_zero)[0, 0]))
