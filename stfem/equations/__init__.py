"""Equations: pointwise physics, mesh-free, in any dimension."""

from stfem.equations.advection import AdvectionDiffusion
from stfem.equations.base import Equation, is_diagonal
from stfem.equations.burgers import Burgers
from stfem.equations.conservation import ConservationSystem
from stfem.equations.entropy import CellStates, ConvexEntropy, Entropy, EntropyBounds
from stfem.equations.gas import BarotropicGas, IsentropicEuler, IsothermalEuler, ShallowWater
from stfem.equations.linear_system import Acoustics, SymmetricSystem
from stfem.equations.p_system import DiffusivePSystem
from stfem.equations.scalar import ScalarConservationLaw
from stfem.equations.stability import Growth, GrowthForm, Stability
from stfem.equations.states import StateSet
from stfem.equations.system import EntropySystem

__all__ = [
    "Acoustics",
    "AdvectionDiffusion",
    "BarotropicGas",
    "Burgers",
    "CellStates",
    "ConservationSystem",
    "ConvexEntropy",
    "DiffusivePSystem",
    "Entropy",
    "EntropyBounds",
    "EntropySystem",
    "Equation",
    "Growth",
    "GrowthForm",
    "IsentropicEuler",
    "IsothermalEuler",
    "ScalarConservationLaw",
    "ShallowWater",
    "Stability",
    "StateSet",
    "SymmetricSystem",
    "is_diagonal",
]
