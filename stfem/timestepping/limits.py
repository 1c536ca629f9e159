"""Automatic choice of stepper and time step from linear stability (CFL rule for convection and diffusion)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stfem.semidiscretization import AnySemidiscretization
from stfem.timestepping.explicit import ExplicitRungeKutta
from stfem.timestepping.imex import ImplicitExplicitRungeKutta
from stfem.timestepping.implicit import DiagonallyImplicitRungeKutta, ImplicitRungeKutta
from stfem.timestepping.radau import RADAU3, RADAU5
from stfem.timestepping.selection import default_stepper
from stfem.timestepping.stepper import Stepper
from stfem.timestepping.tableau import ButcherTableau

#: Explicit stepping is kept while it needs at most this many times the steps of convection alone.
IMPLICIT_FROM = 4.0
#: Least number of automatic steps with implicit diffusion: transients set no stability limit, but need
#: resolving.
IMPLICIT_STEPS = 64


@dataclass(frozen=True, eq=False)
class StepLimits:
    """What limits an explicit step of one scheme.

    Attributes
    ----------
    degree
        Polynomial degree q in space.
    final_time
        T.
    convective_rate
        Largest Σ_i λ_i/h_i over space, λ_i the normal wave speeds; 1/time.
    transport_spectrum
        Eigenvalues of the scheme for unit velocity on unit cells.
    diffusive_rate
        Gives the largest eigenvalue of −P, 1/time; called only where it is needed.
    reaction_rate
        Bound of |c|, which is stepped explicitly; 1/time.
    has_jacobian
        Whether all of the scheme can be stepped implicitly.
    """

    degree: int
    final_time: float
    convective_rate: float
    transport_spectrum: NDArray[np.complex128]
    diffusive_rate: Callable[[], float] | None = None
    reaction_rate: float = 0.0
    has_jacobian: bool = False

    @classmethod
    def of(cls, semidiscretization: AnySemidiscretization, values: NDArray[np.float64]) -> StepLimits:
        """Limits of a scheme whose waves are those of a state."""
        semi = semidiscretization
        return cls(
            semi.degree,
            semi.problem.final_time,
            semi.convective_rate(values),
            semi.transport_spectrum,
            (lambda: semi.diffusion.spectral_radius) if semi.has_diffusion else None,
            semi.reaction_rate,
            hasattr(semi, "linearise"),
        )

    def default_stepper(self, dt: float | None = None) -> Stepper:
        """Explicit where diffusion does not limit the step to a quarter, else implicit–explicit.

        Of a given step ``dt`` the first one that is stable with it is chosen; beyond the limit of all of them
        Radau IIA where the scheme has a Jacobian. Where it has none the run may end in a `NonFiniteError`.
        """
        explicit = default_stepper(self.degree, diffusion_limits=False)
        mixed = default_stepper(self.degree, diffusion_limits=True)
        convective, both = self._rates(explicit)
        chosen = mixed if both > IMPLICIT_FROM * convective else explicit
        if dt is None or self._stable(chosen, dt):
            return chosen
        if self.diffusive_rate is not None and self._stable(mixed, dt):
            return mixed
        return ImplicitRungeKutta(RADAU3 if self.degree <= 1 else RADAU5) if self.has_jacobian else chosen

    def _stable(self, stepper: ExplicitRungeKutta | ImplicitExplicitRungeKutta, dt: float) -> bool:
        """Whether steps of this length, or one to the final time, are linearly stable."""
        convective, both = self._rates(stepper)
        return (
            min(dt, self.final_time) * (both if isinstance(stepper, ExplicitRungeKutta) else convective)
            <= 1.0
        )

    def stable_step(self, stepper: Stepper) -> float:
        """Largest step within the linear stability limit, infinite where there is none.

        An explicit stepper obeys convection and diffusion together; with implicit diffusion the limit does
        not depend on ε, but at least 64 steps are taken. Where all is implicit there is no limit; waves are
        resolved by steps in which they cross one cell at most, again by at least 64.

        Raises
        ------
        ValueError
            For a stepper without a tableau, or one that is unstable for every step.
        """
        limit = self.stability_limit(stepper)
        if isinstance(stepper, (ImplicitRungeKutta, DiagonallyImplicitRungeKutta)):
            limit = 1.0 / self.convective_rate if self.convective_rate > 0.0 else np.inf
        elif isinstance(stepper, ExplicitRungeKutta) or self.diffusive_rate is None:
            return limit
        return min(self.final_time / IMPLICIT_STEPS, limit)

    def stability_limit(self, stepper: Stepper) -> float:
        """The same without the steps that accuracy may need: infinite where all is implicit.

        Raises
        ------
        ValueError
            As `stable_step`.
        """
        if isinstance(stepper, (ImplicitRungeKutta, DiagonallyImplicitRungeKutta)):
            return np.inf
        convective, both = self._rates(stepper)
        rate = both if isinstance(stepper, ExplicitRungeKutta) else convective
        return 1.0 / rate if rate > 0.0 else np.inf

    def _rates(self, stepper: Stepper) -> tuple[float, float]:
        """1/dt at the stability limit for convection and reaction, and with explicit diffusion as well."""
        tableau = _explicit_part(stepper)
        if tableau is None:
            raise ValueError(
                f"dt: expected a time step for {stepper!r}, whose stability limit is not known, got None"
            )
        unit = tableau.stable_step(self.transport_spectrum)
        if unit == 0.0 and self.convective_rate > 0.0:
            raise ValueError(
                f"dt: expected a time step for {stepper!r}, unstable for every step at degree {self.degree}, "
                "got None"
            )
        convective = self.convective_rate / unit if self.convective_rate > 0.0 else 0.0
        convective += self.reaction_rate / tableau.real_stability if self.reaction_rate > 0.0 else 0.0
        diffusive = self.diffusive_rate() / tableau.real_stability if self.diffusive_rate is not None else 0.0
        return convective, convective + diffusive


def _explicit_part(stepper: Stepper) -> ButcherTableau | None:
    """Tableau of the explicit part of a shipped stepper."""
    if isinstance(stepper, ExplicitRungeKutta):
        return stepper.tableau
    return stepper.tableau.explicit if isinstance(stepper, ImplicitExplicitRungeKutta) else None
