"""Time stepping: self-checking tableaux, explicit and implicit-explicit steppers, a stream of nodes."""

from stfem.timestepping.control import StepControl, StepSizeError
from stfem.timestepping.controlled import ControlledSteps, repeat, times_of
from stfem.timestepping.defect import temporal_defect
from stfem.timestepping.explicit import ExplicitRungeKutta
from stfem.timestepping.failing import CflError, InadmissibleStateError, diagnosed, require_admissible
from stfem.timestepping.imex import ImplicitExplicitRungeKutta
from stfem.timestepping.implicit import DiagonallyImplicitRungeKutta, ImplicitRungeKutta
from stfem.timestepping.integrate import (
    DataError,
    Integration,
    Node,
    NonFiniteError,
    integrate,
    loaded_node,
    node_at,
    number_of_steps,
    saved_nodes,
)
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
from stfem.timestepping.radau import RADAU3, RADAU5, ImplicitTableau, radau_iia
from stfem.timestepping.selection import default_stepper
from stfem.timestepping.stepper import ODE, DrivenODE, ImplicitODE, InPlaceODE, Stepper
from stfem.timestepping.tableau import AdditiveTableau, ButcherTableau

__all__ = [
    "ARK324L2SA",
    "ARK548L2SA",
    "DORMAND_PRINCE5",
    "FEHLBERG7",
    "ODE",
    "RADAU3",
    "RADAU5",
    "RK4",
    "SSPRK22",
    "SSPRK33",
    "AdditiveTableau",
    "ButcherTableau",
    "ControlledSteps",
    "DiagonallyImplicitRungeKutta",
    "DrivenODE",
    "ExplicitRungeKutta",
    "ImplicitExplicitRungeKutta",
    "ImplicitODE",
    "ImplicitRungeKutta",
    "ImplicitTableau",
    "InPlaceODE",
    "Integration",
    "Node",
    "CflError",
    "DataError",
    "InadmissibleStateError",
    "NonFiniteError",
    "StepControl",
    "diagnosed",
    "require_admissible",
    "StepLimits",
    "StepSizeError",
    "Stepper",
    "default_stepper",
    "integrate",
    "loaded_node",
    "node_at",
    "number_of_steps",
    "radau_iia",
    "repeat",
    "saved_nodes",
    "temporal_defect",
    "times_of",
]
