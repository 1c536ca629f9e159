"""The conformance checks accept what conforms and measure what does not."""

import numpy as np
import pytest

from stfem import Siac, SplitEstimator, equations, testing
from stfem.estimators import Estimate
from stfem.fluxes import flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.problems import linear_advection_diffusion
from stfem.timestepping import (
    ARK324L2SA,
    DORMAND_PRINCE5,
    RK4,
    ExplicitRungeKutta,
    ImplicitExplicitRungeKutta,
)

EQUATIONS = [
    equations.AdvectionDiffusion((1.0, -0.5), 0.1),
    equations.Burgers(1, 0.1),
    equations.ScalarConservationLaw((0.0, 0.0, 0.0, 1.0), dim=2),
    equations.DiffusivePSystem(0.1, dim=2),
]


class WrongJacobian(equations.Burgers):
    def jacobian_product(self, u, v, x, t, direction):
        return 1.01 * u * v

    def check(self):
        """Not what is tested here."""


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: type(e).__name__)
def test_shipped_equations_conform(equation):
    assert testing.jacobian_defect(equation) < 1e-7
    assert testing.flux_consistency_defect(flux_rusanov, equation) < 1e-13
    assert testing.flux_conservation_defect(flux_rusanov, equation) == 0.0
    assert testing.conservation_defect(equation) < 1e-11


def test_wrong_jacobian_is_measured():
    assert testing.jacobian_defect(WrongJacobian(1)) == pytest.approx(0.01, rel=0.05)


def test_fluxes():
    linear = EQUATIONS[0]
    for flux in (flux_upwind, flux_engquist_osher):
        assert testing.flux_consistency_defect(flux, linear) < 1e-13
        assert testing.conservation_defect(linear, flux, degree=2) < 1e-11

    def shifted(equation, minus, plus, x, t, direction):
        return flux_rusanov(equation, minus, plus, x, t, direction) + 0.1

    rng = np.random.default_rng(0)

    def noisy(equation, minus, plus, x, t, direction):
        return flux_rusanov(equation, minus, plus, x, t, direction) + rng.normal(size=minus.shape)

    assert testing.flux_consistency_defect(shifted, linear) > 0.01
    assert testing.flux_conservation_defect(shifted, linear) == 0.0
    assert testing.flux_conservation_defect(noisy, linear) > 0.01


def test_reaction_does_not_conserve():
    with pytest.raises(ValueError, match="reaction"):
        testing.conservation_defect(equations.AdvectionDiffusion((1.0,), reaction=1.0))


@pytest.mark.parametrize(
    "stepper",
    [ExplicitRungeKutta(RK4), ExplicitRungeKutta(DORMAND_PRINCE5), ImplicitExplicitRungeKutta(ARK324L2SA)],
    ids=repr,
)
def test_observed_order(stepper):
    assert stepper.order - 0.3 < testing.stepper_order(stepper) < stepper.order + 0.7


def test_stepper_that_ignores_the_stage_times():
    class Frozen:
        order, implicit = 4, False

        def step(self, ode, t, u, dt, rate):
            class Still:
                has_diffusion = True

                def rhs_hyperbolic(self, s, v):
                    return ode.rhs_hyperbolic(t, v)

                def rhs_parabolic(self, s, v):
                    return ode.rhs_parabolic(t, v)

            return ExplicitRungeKutta(RK4).step(Still(), t, u, dt, rate)

    assert testing.stepper_order(Frozen()) < 1.5


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("dim", [1, 2])
def test_shipped_reconstruction_conforms(order, dim):
    defects = testing.reconstruction_defects(Siac(order), linear_advection_diffusion(dim, 0.1), 4, 1)
    assert max(defects.values()) < 1e-11


def test_discontinuous_reconstruction_is_measured():
    class Shifted:
        """One cell of û moved away: neither continuous, nor linear, nor with the right mean."""

        def bind(self, semidiscretization):
            bound = Siac(2).bind(semidiscretization)
            original = bound.field

            def field(u):
                moved = original(u).copy()
                moved[..., 0, 0] += 0.1
                return moved

            bound.field = field
            return bound

    defects = testing.reconstruction_defects(Shifted(), linear_advection_diffusion(1, 0.1), 4, 1)
    assert defects["continuity"] > 1e-3
    assert defects["linearity"] > 1e-3
    assert defects["mean"] > 1e-3
    assert defects["flux_continuity"] < 1e-11


def test_guarantee_on_the_catalogue():
    cases = list(testing.guarantee_cases(eps=(0.0, 1e-3, 0.1)))
    assert [case.violated for case in cases] == [()] * (3 * len(testing.CATALOGUE) - 1)
    assert {case.name for case in cases} == set(testing.CATALOGUE)
    assert max(case.estimate.effectivity for case in cases) < 5.0


def test_estimator_that_promises_too_much_is_caught():
    class Optimistic:
        reconstruction = Siac()

        def run(self, semidiscretization, nodes, order):
            honest = SplitEstimator().run(semidiscretization, nodes, order)
            values = {name: getattr(honest, name) for name in Estimate.__dataclass_fields__}
            low, high = honest.enclosure
            return Estimate(**{**values, "bound": 0.5 * honest.bound, "enclosure": (low, 0.3 * high)})

    (case,) = testing.guarantee_cases(Optimistic(), ["linear_advection_diffusion"], [1e-3])
    assert case.violated == ("bound", "enclosure above")
