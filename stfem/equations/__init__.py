"""Equations: pointwise physics, mesh-free, in any dimension."""

from stfem.equations.advection import AdvectionDiffusion
from stfem.equations.base import Equation, is_diagonal
from stfem.equations.burgers import Burgers
from stfem.equations.p_system import DiffusivePSystem
from stfem.equations.scalar import ScalarConservationLaw
from stfem.equations.stability import Growth, GrowthForm, Stability

__all__ = [
    "AdvectionDiffusion",
    "Burgers",
    "DiffusivePSystem",
    "Equation",
    "Growth",
    "GrowthForm",
    "ScalarConservationLaw",
    "Stability",
    "is_diagonal",
]
