"""One pass of an estimator over the nodes, slab by slab: it can stop at the end of any, and go on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from stfem.estimators.estimate import Estimate
from stfem.reconstruction import NodeReconstruction, Stencils
from stfem.resumable import Grown, Resumable
from stfem.timestepping import ODE, Node, loaded_node, saved_nodes

__all__ = ["SlabRun"]


class SlabRun(Resumable, ABC):
    """A pass over the nodes of a run.

    Its past is that of its parts, and the nodes that slabs to come take: their coefficients alone, from which
    all that belongs to them is made again.

    Attributes
    ----------
    time
        End of the last slab, 0 before the first.
    """

    time = 0.0

    @abstractmethod
    def advance(self) -> bool:
        """Take the next slab; False where there is none."""

    @abstractmethod
    def result(self) -> Estimate:
        """The estimate after the last slab.

        Raises
        ------
        ValueError
            Before the first one.
        """

    @property
    @abstractmethod
    def stencils(self) -> Sequence[Stencils[Any]]:
        """Windows on the nodes, for one or several reconstructions."""

    @property
    @abstractmethod
    def _ode(self) -> ODE:
        """The scheme that the nodes belong to."""

    @abstractmethod
    def _reconstructed(self, number: int, node: Node) -> Any:
        """A node as it is in the windows of one of the stencils."""

    @property
    def latest(self) -> Node:
        """The last node that was taken from the stream."""
        last: Node = max((stencils.window[-1].node for stencils in self.stencils), key=lambda node: node.time)
        return last

    def consume(self) -> Estimate:
        """All slabs, and the estimate."""
        while self.advance():
            pass
        return self.result()

    def past(self) -> dict[str, Any]:
        nodes = {entry.time: entry.node for stencils in self.stencils for entry in stencils.window}
        times = sorted(nodes)
        windows = [
            {
                "first": times.index(stencils.window[0].time),
                "behind": stencils.behind,
                "kept": tuple(_kept(entry) for entry in stencils.window),
            }
            for stencils in self.stencils
        ]
        return super().past() | {
            "time": self.time,
            "nodes": Grown([nodes[time] for time in times], len(times), saved_nodes),
            "windows": tuple(windows),
        }

    def resume(self, past: Mapping[str, Any]) -> None:
        own = dict(past)
        self.time = own.pop("time")
        nodes = [loaded_node(self._ode, saved) for saved in own.pop("nodes")]
        windows = own.pop("windows")
        super().resume(own)
        for number, (stencils, window) in enumerate(zip(self.stencils, windows, strict=True)):
            entries = []
            for node, kept in zip(nodes[window["first"] :], window["kept"], strict=False):
                entries.append(self._reconstructed(number, node))
                _keep(entries[-1], kept)
            rest = nodes[window["first"] + len(entries) :]
            stencils.go_on(entries, window["behind"], (self._reconstructed(number, node) for node in rest))


def _kept(entry: object) -> tuple[str, ...]:
    """What a node has been asked for on all cells: where it is known, it is not computed row by row."""
    return entry.kept if isinstance(entry, NodeReconstruction) else ()


def _keep(entry: object, names: Sequence[str]) -> None:
    """Ask for it again."""
    if names and not isinstance(entry, NodeReconstruction):
        raise ValueError(f"kept: expected nothing, got {names}")
    if isinstance(entry, NodeReconstruction):
        entry.keep(names)
