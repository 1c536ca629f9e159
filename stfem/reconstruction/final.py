"""û at single times, as a function of points, on any domain."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import cast

import numpy as np

from stfem.problems import UnsupportedDomainError
from stfem.reconstruction.node import Reconstruction
from stfem.reconstruction.siac import Siac
from stfem.reconstruction.unstructured import MeshRule, VertexPatches
from stfem.semidiscretization import AnySemidiscretization, Semidiscretization
from stfem.spaces.field import Field
from stfem.spaces.mesh_field import MeshField
from stfem.spaces.stencil import Array
from stfem.timestepping import Node, node_at

__all__ = ["AnyRule", "reconstructor"]

#: A rule for û on a torus, or on meshes.
AnyRule = Reconstruction | MeshRule


def reconstructor(
    semidiscretization: AnySemidiscretization, rule: AnyRule | None = None, resting: bool = False
) -> Callable[[float, Array], Field | MeshField]:
    """The function (t, U) ↦ û(t) of a scheme.

    Parameters
    ----------
    semidiscretization
        The scheme.
    rule
        By default that of the default estimator: `Siac` on a torus, `VertexPatches` on meshes.
    resting
        Whether U does not change, whatever a solver has left of it; on meshes.

    Raises
    ------
    TypeError, UnsupportedDomainError
        For what is no rule, and for one that belongs to other domains.
    """
    semi = semidiscretization
    if isinstance(semi, Semidiscretization):
        on_torus = cast(Reconstruction, _checked(rule, Siac(), semi)).bind(semi)
        return lambda time, values: Field(on_torus.grid, on_torus.degree, on_torus.field(values))
    on_mesh = cast(MeshRule, _checked(rule, VertexPatches(), semi)).bind(semi)

    def at(time: float, values: Array) -> MeshField:
        node = Node(time, values, np.zeros_like(values)) if resting else node_at(semi, time, values, 0)
        return MeshField(on_mesh.target, on_mesh.at_node(node).state[0])

    return at


def _checked(rule: AnyRule | None, default: AnyRule, semi: AnySemidiscretization) -> AnyRule:
    if rule is None:
        return default
    expected = f"reconstruction: expected one such as {type(default).__name__}()"
    if isinstance(rule, type) or not hasattr(rule, "bind"):
        raise TypeError(f"{expected}, got {rule!r}")
    if _for_meshes(rule) != _for_meshes(default):
        domain = type(semi.problem.domain).__name__
        raise UnsupportedDomainError(f"{expected} for a problem on a {domain}, got {rule!r}")
    return rule


def _for_meshes(rule: AnyRule) -> bool:
    """Rules for meshes are told boundaries where û is free."""
    return "lifted" in signature(rule.bind).parameters
