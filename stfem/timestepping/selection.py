"""The default time stepping method for a DG degree."""

from __future__ import annotations

from stfem.checks import checked_flag, whole_number
from stfem.timestepping.explicit import ExplicitRungeKutta
from stfem.timestepping.imex import ImplicitExplicitRungeKutta
from stfem.timestepping.methods import ARK324L2SA, ARK548L2SA, DORMAND_PRINCE5, FEHLBERG7, RK4, SSPRK22

_EXPLICIT = (SSPRK22, RK4, DORMAND_PRINCE5, FEHLBERG7)


def default_stepper(degree: int, diffusion_limits: bool) -> ExplicitRungeKutta | ImplicitExplicitRungeKutta:
    """Return the default method for DG of the given degree q, of order 2q + 1 in time where there is one.

    2q + 1 is the order of the reconstruction in space (T2).  Explicit: SSPRK(2,2), RK4, Dormand-Prince 5 for
    q = 0, 1, 2, Fehlberg's method of order 7 for q ≥ 3.  Implicit-explicit: ARK3(2)4L[2]SA for q ≤ 1 and
    ARK5(4)8L[2]SA for q ≥ 2.  Degrees above what the order covers are limited in time only where the time
    step is not already small for stability; the temporal part of the bound shows it.

    Parameters
    ----------
    degree : q ≥ 0.
    diffusion_limits : whether an explicit step would be limited by diffusion rather than by convection.

    Raises
    ------
    TypeError, ValueError
        the degree is not an integer, or negative.
    """
    checked_flag("diffusion_limits", diffusion_limits)
    if whole_number("degree", degree) < 0:
        raise ValueError(f"expected a degree of at least 0, got {degree}")
    if diffusion_limits:
        return ImplicitExplicitRungeKutta(ARK324L2SA if degree <= 1 else ARK548L2SA)
    return ExplicitRungeKutta(_EXPLICIT[min(degree, len(_EXPLICIT) - 1)])
