"""Time stepping: self-checking tableaux, explicit and implicit-explicit steppers, a stream of nodes."""

from stfem.timestepping.explicit import ExplicitRungeKutta
from stfem.timestepping.imex import ImplicitExplicitRungeKutta
from stfem.timestepping.integrate import Node, NonFiniteError, integrate, number_of_steps
from stfem.timestepping.limits import StepLimits
from stfem.timestepping.methods import (
    ARK324L2SA,
    ARK548L2SA,
    DORMAND_PRINCE5,
    FEHLBERG7,
    RK4,
    SSPRK22,
    SSPRK33,
)
from stfem.timestepping.selection import default_stepper
from stfem.timestepping.stepper import ODE, InPlaceODE, Stepper
from stfem.timestepping.tableau import AdditiveTableau, ButcherTableau

__all__ = [
    "ARK324L2SA",
    "ARK548L2SA",
    "DORMAND_PRINCE5",
    "FEHLBERG7",
    "ODE",
    "RK4",
    "SSPRK22",
    "SSPRK33",
    "AdditiveTableau",
    "ButcherTableau",
    "ExplicitRungeKutta",
    "ImplicitExplicitRungeKutta",
    "InPlaceODE",
    "Node",
    "NonFiniteError",
    "StepLimits",
    "Stepper",
    "default_stepper",
    "integrate",
    "number_of_steps",
]
