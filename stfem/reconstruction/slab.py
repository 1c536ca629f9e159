"""From a stream of node reconstructions to slabs with polynomials in time (T2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Protocol, TypeVar

import numpy as np

from stfem.data import Slab
from stfem.reconstruction.hermite import Hermite
from stfem.reconstruction.node import NodeReconstruction
from stfem.spaces.stencil import Array


class Timed(Protocol):
    """Anything that belongs to a time."""

    @property
    def time(self) -> float:
        """t_n."""


AnyNode = TypeVar("AnyNode", bound=Timed)


class Interpolant(Protocol):
    """Which nodes an interpolation in time takes: their number, and how many beyond the ends of a slab."""

    @property
    def nodes(self) -> int:
        """Number of nodes in a full stencil, at least 2."""

    @property
    def look_ahead(self) -> int:
        """Nodes needed to the right of the slab's end."""

    @property
    def look_back(self) -> int:
        """Nodes wanted to the left of the slab's start."""


@dataclass(frozen=True, eq=False)
class ReconstructedSlab:
    """û, ∂_tû and fluxes on [t_n, t_{n+1}] as polynomials in t: coefficients are combinations of node data.

    Attributes
    ----------
    time
        Slab with the polynomial degree in time.
    nodes
        Node reconstructions of the stencil.
    value_modes, rate_modes
        Arrays ``(degree + 1, 2·len(nodes))``: node data to time modes of û (and of every flux), and of ∂_tû.
    start, stop
        Node reconstructions at the slab ends.
    """

    time: Slab
    nodes: tuple[NodeReconstruction, ...]
    value_modes: Array
    rate_modes: Array
    start: NodeReconstruction
    stop: NodeReconstruction

    def states_on(self, rows: slice) -> Array:
        """û and ∂_tû of one node after the other on rows of cells of the scheme, ``(2·len(nodes), m, …)``."""
        return np.concatenate([node.state_on(rows) for node in self.nodes])

    def fluxes_on(self, rows: slice) -> tuple[Array, ...]:
        """The filtered scheme fluxes and their rates likewise, per direction."""
        fluxes = [node.flux_on(rows) for node in self.nodes]
        return tuple(np.concatenate(component) for component in zip(*fluxes, strict=True))


def reconstructed_slabs(
    nodes: Iterable[NodeReconstruction], interpolant: Hermite, final_time: float | None = None
) -> Iterator[ReconstructedSlab]:
    """Stream slabs from a stream of nodes, holding no more nodes than the stencil and its look-ahead need.

    At the start the stencil takes nodes to the right, at the end nodes to the left; a run with fewer nodes
    than the stencil lowers the degree.

    Parameters
    ----------
    nodes
        In the order of time.
    interpolant
        Rule for the polynomials in time.
    final_time
        Time of the last node, where it is known: before that the oldest node is let go while the next one is
        computed. A stream that ends earlier all the same lowers the degree on its last slabs.
    """
    for stencil, start, stop in Stencils(nodes, interpolant, final_time):
        yield slab_of(stencil, start, stop, interpolant)
        del stencil, start, stop  # not held while the next node is computed


class Stencils(Generic[AnyNode]):
    """Nodes that an interpolant takes on every slab, and the two at its ends, one slab after the other.

    Parameters are those of `reconstructed_slabs`.

    Attributes
    ----------
    window
        The nodes that are held: those of the last slab, and what later ones have been looked at for.
    behind
        Place of the start of that slab among them.
    """

    def __init__(
        self, nodes: Iterable[AnyNode], interpolant: Interpolant, final_time: float | None = None
    ) -> None:
        self._stream, self._interpolant, self._final_time = iter(nodes), interpolant, final_time
        self.window: deque[AnyNode] = deque()
        self.behind = -1  # before the first slab
        self._ended = False

    def go_on(self, window: Iterable[AnyNode], behind: int, rest: Iterable[AnyNode] = ()) -> None:
        """Continue as if the last slab were that at a place in a window; ``rest`` are the nodes to follow."""
        self.window, self.behind = deque(window), behind
        self._stream = chain(rest, self._stream)

    def __iter__(self) -> Iterator[tuple[tuple[AnyNode, ...], AnyNode, AnyNode]]:
        return self

    def __next__(self) -> tuple[tuple[AnyNode, ...], AnyNode, AnyNode]:
        if self.behind + 1 < len(self.window) or self.behind < 0:
            self.behind += 1
        most, final = self._interpolant.nodes, self._final_time
        if final is not None and len(self.window) == most and self.window[-1].time < final:
            self._let_go()  # before the next one is computed
        while not self._ended and (
            len(self.window) < max(most, self.behind + 2 + self._interpolant.look_ahead)
        ):
            node = next(self._stream, None)
            if node is None:
                self._ended = True
            else:
                self.window.append(node)
            del node
        if self.behind + 1 >= len(self.window):
            raise StopIteration
        # no later stencil starts further to the left
        while len(self.window) > most and self._let_go():
            pass
        start, stop = self.window[self.behind], self.window[self.behind + 1]
        return tuple(self.window)[:most], start, stop

    def _let_go(self) -> bool:
        """Drop the first node, if no later stencil takes it."""
        if self.behind <= self._interpolant.look_back:
            return False
        self.window.popleft()
        self.behind -= 1
        return True


def slab_of(
    stencil: tuple[NodeReconstruction, ...],
    start: NodeReconstruction,
    stop: NodeReconstruction,
    interpolant: Hermite,
) -> ReconstructedSlab:
    """The slab between two nodes of a stencil."""
    values, rates = interpolant.modes([node.time for node in stencil], start.time, stop.time)
    return ReconstructedSlab(
        Slab(start.time, stop.time, len(values) - 1), stencil, values, rates, start, stop
    )


def combine(weights: Array, arrays: list[Array]) -> Array:
    """Linear combinations over node data: ``out[r] = Σ_k weights[r, k] arrays[k]``."""
    stacked = np.stack(arrays).reshape(len(arrays), -1)
    return (weights @ stacked).reshape(len(weights), *arrays[0].shape)
