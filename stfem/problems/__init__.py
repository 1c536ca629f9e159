"""Problems: equation, domain and data together; the catalogue has problems with exact solutions."""

from stfem.problems.bounded import Box, Domain
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
from stfem.problems.catalogue import BOUNDED, CATALOGUE, STATIONARY
from stfem.problems.channel import hemker_channel
from stfem.problems.cole_hopf import burgers_cole_hopf
from stfem.problems.conditions import Condition, Dirichlet, Neumann, Outflow, Robin, TotalFlux
from stfem.problems.domain import Region, Torus, UnsupportedDomainError
from stfem.problems.exact import ExactData
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

__all__ = [
    "BOUNDED",
    "CATALOGUE",
    "STATIONARY",
    "Box",
    "Condition",
    "Dirichlet",
    "Domain",
    "ExactData",
    "Neumann",
    "Outflow",
    "Problem",
    "Region",
    "Robin",
    "StationaryProblem",
    "TotalFlux",
    "Torus",
    "UnsupportedDomainError",
    "acoustics",
    "burgers_cole_hopf",
    "burgers_front",
    "cellular_flow",
    "circular_layer",
    "corner_layers",
    "diffusive_p_system",
    "hemker_channel",
    "hemker_cylinder",
    "interior_layer",
    "isentropic_euler",
    "isothermal_euler",
    "leaving_pulse",
    "linear_advection_diffusion",
    "moving_front",
    "nonlinear_wave",
    "outflow_layer",
    "robin_outflow",
    "rotating_corner",
    "rotating_pulse",
    "shallow_water",
    "sheared_pulse",
    "stationary_corner",
    "stationary_layer",
    "transient_wave",
    "variable_coefficients",
    "viscous_burgers",
    "viscous_p_system",
]
