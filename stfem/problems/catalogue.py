"""The catalogue by name, for the command line and for sweeps."""

from __future__ import annotations

from collections.abc import Callable

from stfem.problems.bounded_layers import (
    corner_layers,
    leaving_pulse,
    moving_front,
    outflow_layer,
    rotating_pulse,
)
from stfem.problems.bounded_nonlinear import burgers_front, nonlinear_wave
from stfem.problems.bounded_waves import (
    cellular_flow,
    robin_outflow,
    transient_wave,
    variable_coefficients,
)
from stfem.problems.channel import hemker_channel
from stfem.problems.cole_hopf import burgers_cole_hopf
from stfem.problems.linear import linear_advection_diffusion, sheared_pulse
from stfem.problems.manufactured_layers import circular_layer, stationary_corner
from stfem.problems.nonlinear import viscous_burgers
from stfem.problems.problem import Problem
from stfem.problems.stationary import StationaryProblem
from stfem.problems.stationary_layers import (
    hemker_cylinder,
    interior_layer,
    rotating_corner,
    stationary_layer,
)
from stfem.problems.systems import (
    acoustics,
    diffusive_p_system,
    isentropic_euler,
    isothermal_euler,
    shallow_water,
    viscous_p_system,
)

__all__ = ["BOUNDED", "CATALOGUE", "STATIONARY"]

#: Name -> factory of a problem on a torus with the arguments (dim), eps and final_time; burgers_cole_hopf is
#: one-dimensional, without dim.
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

#: The same on domains with a boundary; dim where there is a choice.
BOUNDED: dict[str, Callable[..., Problem]] = {
    factory.__name__: factory
    for factory in (
        transient_wave,
        moving_front,
        outflow_layer,
        corner_layers,
        leaving_pulse,
        rotating_pulse,
        variable_coefficients,
        robin_outflow,
        cellular_flow,
        nonlinear_wave,
        burgers_front,
    )
}

#: Name -> factory of a problem without time with the argument eps.
STATIONARY: dict[str, Callable[..., StationaryProblem]] = {
    factory.__name__: factory
    for factory in (
        interior_layer,
        stationary_layer,
        rotating_corner,
        hemker_cylinder,
        circular_layer,
        stationary_corner,
        hemker_channel,
    )
}
