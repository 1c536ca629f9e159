"""The size of what a time step leaves of the equation, as the reconstruction sees it (T2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stfem.reconstruction.siac import Siac
from stfem.semidiscretization import AnySemidiscretization, Semidiscretization
from stfem.semidiscretization.linearised import mass_root
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import norm_l2_sq

__all__ = ["defect_norm"]


def defect_norm(
    semidiscretization: AnySemidiscretization, correction: object, implicit: bool
) -> Callable[[Array], float]:
    """‖r‖ in L² for states r of a scheme; ‖S r‖ on a torus with implicit diffusion.

    There most of r are modes of the scheme that decay within a step and that the filter S removes: ‖r‖ may be
    a thousand times as large as what enters the bound. In explicit steps, and on meshes, both are close.

    Parameters
    ----------
    semidiscretization
        The scheme.
    correction
        The argument ``initial_correction``: a reconstruction is S, which is `Siac()` otherwise.
    implicit
        Whether diffusion is stepped implicitly.
    """
    if isinstance(semidiscretization, Semidiscretization) and implicit and semidiscretization.has_diffusion:
        rule = Siac() if isinstance(correction, bool) else correction
        bound = rule.bind(semidiscretization)  # type: ignore[attr-defined]
        return lambda r: float(np.sqrt(norm_l2_sq(bound.field(r), bound.grid)))
    root = mass_root(semidiscretization)
    return lambda r: float(np.linalg.norm(root * r))
