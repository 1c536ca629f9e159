"""How many time steps a slab spans (T2): from the share of the time stepping in the residual."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from math import ceil, factorial
from typing import Protocol

import numpy as np

from stfem.data import Slab
from stfem.reconstruction import BoundReconstruction, ReconstructedSlab, combine
from stfem.resumable import Resumable
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import norm_l2_sq
from stfem.timestepping import Node

#: Largest ratio of the spacings of two slabs in a row: interpolation across a larger one amplifies round-off.
GROWTH = 1.5
#: Spacing before anything is known: at most this, approached from 1,
FIRST = 8
#: and at most this part of the run.
FIRST_PART = 1.0 / 64.0
#: Largest growth of the spacing that one slab can ask for.
LARGEST = 32.0
#: What slabs may add to the growth exponent of a run because each takes the largest rate in it.
EXPONENT = 0.01
#: Factor by which a larger spacing must lower the error to be worth growing further.
HELPS = 0.7
#: Slabs after a larger spacing has made things worse before it is tried again;
PAUSE = 64
#: and steps of a run below which it is not tried: one bad slab would be too large a part of it.
LONG = 200
#: Part of a share that interpolation of a wave must explain to be taken for its cause.
EXCESS = 0.3
#: Multiple of the target that other causes may reach.
TOLERATED = 3.0
#: Part of the predicted spacing that is used.
SAFETY = 0.9
#: Relative difference of two steps that are the same but for rounding.
_SAME = 1e-6


class Graded(Hashable, Protocol):
    """An interpolant in time."""

    @property
    def per_node(self) -> int:
        """Data at every node: values, or values and rates."""

    @property
    def degree(self) -> int:
        """Its polynomial degree."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""

    @property
    def look_back(self) -> int:
        """How many of them lie before the start of the slab."""


class NodeSelector(Resumable):
    """Passes every K-th node on; K follows what `update` learns from the slabs.

    Parameters
    ----------
    nodes
        All nodes of the run.
    spacing
        Fixed K, or None for the automatic one, which starts at 1.
    target
        Share of the interpolation in time in the residual that the automatic K aims at.
    interpolant
        Its degree r says how the share depends on K.
    final_time
        T, end of the run.
    """

    PAST = (
        *("_step", "_rest", "_growth", "_excess", "spacing", "wanted"),
        *("steps", "_passed", "_due", "_numbers", "unequal", "_changed", "_before", "_started", "_ends"),
    )

    def __init__(
        self,
        nodes: Iterable[Node],
        spacing: int | None,
        target: float,
        interpolant: Graded,
        final_time: float,
    ) -> None:
        self._nodes, self._target, self._interpolant = iter(nodes), target, interpolant
        self._final_time, self._step = final_time, 0.0
        self._fixed = spacing is not None
        self._rest = 0  # slabs before K may be tried out again
        self._growth: tuple[float, float] | None = None  # time and 2μ of the slab before
        self._excess: tuple[int, float] | None = None  # spacing and error where waves do not explain it
        self.spacing = self.wanted = spacing or 1
        self.steps = self._due = 0  # numbers of the last node seen, and of the next one to pass on
        self.unequal = False  # whether steps of different sizes were seen
        self._changed = 0  # number of the last step that was not as long as the one before
        # times of the last node seen, of the last two passed on, and at which the next one is at the latest
        self._before = self._started = 0.0
        self._passed: float | None = None
        self._ends = np.inf
        self._numbers: dict[float, int] = {}  # of the nodes passed on that no measured slab has left behind

    def __iter__(self) -> Iterator[Node]:
        return self

    def __next__(self) -> Node:
        if self._passed is not None:
            self.spacing = self._next(self._final_time - self._passed, self._passed - self._started)
            self._started, self._due = self._passed, self.steps + self.spacing
            # steps that grow make no slab longer than K of them were to be
            if not self._fixed and self._step > 0.0:
                self._ends = self._passed + (1.0 - _SAME) * self.spacing * self._step
        n, node = self.steps - (self._passed is None), None
        for node in self._nodes:
            n += 1
            self.steps = n
            self._look(n, node.time)
            if n == 1 and not self._fixed:
                self.wanted = max(1, min(FIRST, int(FIRST_PART * self._final_time / node.time)))
            if n == self._due or node.time >= self._ends:
                break
        if node is None:
            raise StopIteration
        self._passed = node.time
        self._numbers[node.time] = self.steps
        return node

    def _look(self, n: int, time: float) -> None:
        """Whether a step is as long as the one before."""
        if n > 0 and abs(time - self._before - self._step) > _SAME * self._step:
            self._step = time - self._before
            if n > 1:
                self.unequal = True
                if not self._fixed:  # what was learned from other steps does not count
                    self._changed, self.wanted, self._ends = n, 1, self._before
        self._before = time

    def _next(self, left: float, duration: float) -> int:
        """K towards the one that is wanted; what is left of the run is cut into equal parts at its end.

        ``duration`` is that of the slab before: where steps grow, slabs do not grow faster than usual.
        """
        if self._fixed or self._step == 0.0:
            return self.spacing
        self.spacing = max(1, min(self.spacing, round(duration / self._step)))
        if self.wanted == 1 and self.unequal:
            return 1
        most, least = max(self.spacing + 1, int(GROWTH * self.spacing)), int(self.spacing / GROWTH)
        spacing = max(min(self.wanted, most), least, 1)
        steps = left / self._step
        if steps < 2.5 * spacing:  # stencils of the last slabs are one-sided and tell less
            spacing = min(spacing, self.spacing)
        if not spacing < steps < 3 * spacing:
            return spacing
        parts = min(ceil(steps / spacing - 1e-6), max(1, int(GROWTH * steps / self.spacing)))
        return ceil(steps / parts - 1e-6)

    def update(
        self,
        slab: Slab,
        share: float,
        residual: float,
        rates: Array,
        growth: float = 0.0,
        longest: float = np.inf,
    ) -> None:
        """Choose K for later slabs from a measured one.

        The share of a wave grows like K^r: interpolation leaves κ (ωΔt)^r ‖∂_tU‖ of a frequency ω. What
        hides that (transients of the scheme, round-off) is tolerated up to a multiple of the target; beyond,
        K is tried out.

        Parameters
        ----------
        slab
            Between two nodes passed on.
        share
            Of interpolation in time in the residual.
        residual
            ‖R_H‖ in L²(slab × Ω).
        rates
            Norms in L²(slab × Ω) of the first modes in time of the scheme's rate, lowest first; zeros where
            they are not known, and the share alone counts.
        growth
            2μ of the slab.
        longest
            Duration that no slab should exceed.
        """
        steps = self.steps_of(slab)
        first = self._numbers.pop(slab.start)
        if self._fixed or first < self._changed:
            return
        self.wanted = self._for_share(slab, steps, share, residual, rates)
        self.wanted = max(1, int(min(self.wanted, steps * longest / slab.duration)))
        before, self._growth = self._growth, (slab.midpoint, growth)
        if before is not None and growth != before[1]:
            slope = abs(growth - before[1]) / (slab.midpoint - before[0])
            longest = 4.0 * EXPONENT / (slope * self._final_time)
            self.wanted = max(1, min(self.wanted, int(min(steps * longest / slab.duration, LARGEST * steps))))

    def steps_of(self, slab: Slab) -> int:
        """Time steps of a slab between two nodes passed on, `update` to come."""
        return self._numbers[slab.stop] - self._numbers[slab.start]

    def _for_share(self, slab: Slab, steps: int, share: float, residual: float, rates: Array) -> int:
        """K that the errors of interpolation allow."""
        degree = self._interpolant.degree
        size, phase = float(np.linalg.norm(rates)), _phase(rates)
        told = size > 0.0 and residual > 0.0
        expected = defect_factor(self._interpolant) * phase**degree * size / residual if told else share
        usual = int(steps * SAFETY * (self._target / share) ** (1.0 / degree)) if share > 0.0 else steps
        if expected <= EXCESS * share and share > TOLERATED * self._target:
            return self._against_excess(steps, share * residual / slab.duration**0.5, max(1, usual))
        self._excess = None
        known = share if expected > EXCESS * share else expected
        factor = SAFETY * (self._target / known) ** (1.0 / degree) if known > 0.0 else LARGEST
        return max(1, int(steps * min(factor, LARGEST)))

    def _against_excess(self, steps: int, error: float, usual: int) -> int:
        """K where something else than interpolation of a wave holds the share up.

        Round-off in differences of U falls with K, and noise of single steps is worst at K = 1; so K grows as
        long as that helps much, and is left alone for a while where it did not.

        Parameters
        ----------
        steps
            K of the measured slab.
        error
            Of interpolation in time, per √time.
        usual
            What the share asks for otherwise.
        """
        before, self._excess = self._excess, (steps, error)
        self._rest -= 1
        allowed = self._rest < 0 and self._final_time >= LONG * self._step
        if before is not None and steps > before[0]:
            if error < HELPS * before[1]:
                return max(steps + 1, int(GROWTH * steps))
            self._rest = PAUSE
            return before[0]
        if before is not None and steps == before[0]:
            return max(2, self.wanted) if steps == 1 and allowed else self.wanted
        return 2 if steps == 1 and allowed else min(usual, steps)


def _phase(rates: Array) -> float:
    """ωΔt of a wave whose modes in time fall off like the given ones.

    The a-th mode of exp(iωt) has the size √(2a+1) |j_a(ωΔt/2)| ≈ √(2a+1) (ωΔt/2)^a/(2a+1)!!.
    """
    if rates[0] == 0.0:
        return 0.0
    return 2.0 * float(np.sqrt(15.0 / np.sqrt(5.0) * rates[2] / rates[0]))


@lru_cache(maxsize=16)
def defect_factor(interpolant: Graded) -> float:
    """κ: largest |dΠ/ds|/(r+1)! on a slab among others of length 1, Π the node polynomial of degree r + 1.

    It has double zeros where values and rates are taken.
    """
    zeros = np.arange(interpolant.nodes) - interpolant.look_back
    product = np.polynomial.Polynomial.fromroots(zeros) ** interpolant.per_node
    slope = np.abs(product.deriv()(np.linspace(0.0, 1.0, 65))).max()
    return float(slope) / factorial(interpolant.per_node * interpolant.nodes)


def temporal_share(
    semidiscretization: Semidiscretization,
    reconstruction: BoundReconstruction,
    slab: ReconstructedSlab,
    residual: float,
) -> float:
    """‖S τ‖/‖R_H‖ with τ = dU^t/dt − H(U^t) − P(U^t) at two times of the slab (T2).

    Part of the report, never of the bound.

    Parameters
    ----------
    semidiscretization, reconstruction, slab
        What defines U^t and S.
    residual
        ‖R_H‖ in L²(slab × Ω).
    """
    data = [array for node in slab.nodes for array in (node.node.values, node.node.rate)]
    times, _ = gauss(2)  # near the extrema of the interpolation defect in ∂_t; the midpoint is a zero of it
    basis = legendre_values(slab.time.degree, times)
    values = combine(basis @ slab.value_modes, data)
    rates = combine(basis @ slab.rate_modes, data)
    defects = []
    for s, u, rate in zip(times, values, rates, strict=True):
        defect = rate - semidiscretization.rhs(slab.time.start + s * slab.time.duration, u)
        defects.append(norm_l2_sq(reconstruction.field(defect), reconstruction.grid))
    size = float(np.sqrt(slab.time.duration * np.mean(defects)))
    if size == 0.0:
        return 0.0
    return size / residual if residual > 0.0 else np.inf
