"""Whole estimates from residuals at nodes: guaranteed, and as sharp as with a node at every step."""

import math

import numpy as np
import pytest

from stfem import Problem, Siac, SplitEstimator, Torus, certify, equations
from stfem.data import sine
from stfem.problems import linear_advection_diffusion, viscous_burgers
from stfem.residual import ResidualSplit

PI2 = 2.0 * math.pi
EVERY = SplitEstimator(spacing=1)


def measured_directly(monkeypatch):
    monkeypatch.setattr(ResidualSplit, "_quadratic_split", lambda self, reconstruction: None)


@pytest.mark.parametrize("eps", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize(
    ("factory", "degree"),
    [(linear_advection_diffusion, 1), (linear_advection_diffusion, 2), (viscous_burgers, 2)],
)
def test_as_sharp_as_a_node_at_every_step(factory, degree, eps):
    problem = factory(1, eps, 0.3)
    chosen, every = (
        certify(problem, cells=12, degree=degree),
        certify(problem, cells=12, degree=degree, estimator=EVERY),
    )
    for result in (chosen, every):
        assert result.error <= result.bound
        assert result.error_final <= result.bound_final
        assert result.error_energy <= result.bound_energy
    assert chosen.facts["slabs"] < every.facts["slabs"]
    assert chosen.bound == pytest.approx(every.bound, rel=0.02)
    assert chosen.bound_final == pytest.approx(every.bound_final, rel=0.02)
    assert chosen.bound_l1 == pytest.approx(every.bound_l1, rel=0.02)


def test_spacing_of_slabs_that_are_measured_themselves():
    """A velocity that varies: no accelerations, no rates; the share of the time stepping sets the pace."""
    velocity = 1.0 + sine(PI2, 0.7, amplitude=0.4)
    problem = Problem(equations.AdvectionDiffusion((velocity,), 1e-3), Torus(1.0), sine(PI2), 1.0)
    chosen = certify(problem, cells=12, degree=2)
    every = certify(problem, cells=12, degree=2, estimator=EVERY)
    assert chosen.facts["slabs"] < 0.6 * every.facts["slabs"]
    assert chosen.parts["temporal"] < 0.01
    assert chosen.bound == pytest.approx(every.bound, rel=0.05)


@pytest.mark.parametrize("order", [None, 3])
@pytest.mark.parametrize("factory", [linear_advection_diffusion, viscous_burgers])
def test_close_to_the_residual_of_the_slabs_themselves(factory, order, monkeypatch):
    """The way through the nodes and the direct one, both above the error; they are not the same numbers."""
    # only nodes know frequencies
    problem, estimator = factory(1, 1e-3, 0.2), SplitEstimator(Siac(order), spacing=1, spectral=False)
    nodal = certify(problem, cells=10, degree=1, estimator=estimator)
    measured_directly(monkeypatch)
    direct = certify(problem, cells=10, degree=1, estimator=estimator)
    assert nodal.error == pytest.approx(direct.error, rel=1e-12)
    assert nodal.error <= min(nodal.bound, direct.bound)
    assert nodal.bound != direct.bound
    for name in ("bound", "bound_final", "bound_l1"):
        assert getattr(nodal, name) == pytest.approx(getattr(direct, name), rel=0.01)
    assert nodal.indicators_sq == pytest.approx(direct.indicators_sq, rel=0.05)


@pytest.mark.parametrize("factory", [linear_advection_diffusion, viscous_burgers])
def test_indicators_of_pieces_and_remainders(factory):
    result = certify(factory(2, 1e-2, 0.02), cells=(5, 4), degree=1)
    alpha, beta = result.history["alpha"].sum(), result.history["beta"].sum()
    assert result.indicators_sq.sum() == pytest.approx(alpha**2 + beta, rel=1e-12)
    assert result.indicators_sq.min() >= 0.0


@pytest.mark.parametrize("amplitude", [1e-3, 1.0, 1e14])
def test_start_from_nothing(amplitude):
    """û = 0 at first, the source alone acts; its rates are known from the first node on."""
    u = sine(PI2, 3.0, 0.2, amplitude) - sine(PI2, 0.0, 0.2, amplitude)
    source = u.time_derivative() + u.derivative(0) - 0.01 * u.derivative(0).derivative(0)
    problem = Problem(
        equations.AdvectionDiffusion((1.0,), 0.01),
        Torus(1.0),
        0.0,
        0.3,
        source=source,
        exact=lambda x, t: u(x, t),
        exact_gradient=lambda x, t: u.derivative(0)(x, t)[None],
    )
    chosen, every = (
        certify(problem, cells=12, degree=2),
        certify(problem, cells=12, degree=2, estimator=EVERY),
    )
    assert chosen.error <= chosen.bound
    assert chosen.bound == pytest.approx(every.bound, rel=0.02)
    assert chosen.history["temporal"].max() < 0.1
    assert np.all(chosen.history["temporal"][:3] < 1e-2)
