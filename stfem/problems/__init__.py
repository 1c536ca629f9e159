"""Problems, domains, and the catalogue of problems with exact solutions."""

from collections.abc import Callable

from stfem.problems.burgers import viscous_burgers
from stfem.problems.domain import Torus
from stfem.problems.linear import linear_advection_diffusion
from stfem.problems.p_system import diffusive_p_system
from stfem.problems.problem import Problem

#: Name → factory of the problems with exact solutions.
CATALOGUE: dict[str, Callable[..., Problem]] = {
    factory.__name__: factory for factory in (linear_advection_diffusion, viscous_burgers, diffusive_p_system)
}

__all__ = ["CATALOGUE", "Problem", "Torus", "diffusive_p_system", "linear_advection_diffusion", "viscous_burgers"]
