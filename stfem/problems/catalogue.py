"""The catalogue by name, for the command line and for sweeps."""

from __future__ import annotations

from collections.abc import Callable

from stfem.problems.cole_hopf import burgers_cole_hopf
from stfem.problems.linear import linear_advection_diffusion, sheared_pulse
from stfem.problems.nonlinear import viscous_burgers
from stfem.problems.problem import Problem
from stfem.problems.systems import (
    acoustics,
    diffusive_p_system,
    isentropic_euler,
    isothermal_euler,
    shallow_water,
    viscous_p_system,
)

__all__ = ["CATALOGUE"]

#: Name -> factory with the arguments (dim), eps and final_time; burgers_cole_hopf is one-dimensional, without
#: dim.
CATALOGUE: dict[str, Callable[..., Problem]] = {
    factory.__name__: factory
    for factory in (
        linear_advection_diffusion,
        viscous_burgers,
        diffusive_p_system,
        burgers_cole_hopf,
        sheared_pulse,
        viscous_p_system,
        shallow_water,
        isothermal_euler,
        isentropic_euler,
        acoustics,
    )
}
