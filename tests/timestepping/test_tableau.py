"""Shape checks of tableaux and their stability properties against known values."""

from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest

from stfem.timestepping import (
    ARK324L2SA,
    ARK548L2SA,
    DORMAND_PRINCE5,
    FEHLBERG7,
    RK4,
    SSPRK22,
    SSPRK33,
    AdditiveTableau,
    ButcherTableau,
)

IMPLICIT = [ARK324L2SA.implicit, ARK548L2SA.implicit]
ALL = [SSPRK22, SSPRK33, RK4, DORMAND_PRINCE5, FEHLBERG7, ARK324L2SA.explicit, ARK548L2SA.explicit, *IMPLICIT]


def test_structure():
    assert (RK4.stages, RK4.explicit, RK4.fsal, RK4.gamma) == (4, True, False, 0)
    assert DORMAND_PRINCE5.fsal
    assert not FEHLBERG7.fsal
    for pair, gamma in ((ARK324L2SA, 0.4358665215084590), (ARK548L2SA, 0.205)):
        assert not pair.implicit.explicit
        assert pair.implicit.stiffly_accurate
        assert not pair.explicit.stiffly_accurate
        assert float(pair.implicit.gamma) == pytest.approx(gamma, abs=1e-15)
        assert pair.explicit.b == pair.implicit.b
    assert repr(RK4) == "ButcherTableau('RK4', explicit, order=4, stages=4)"


def test_entries_are_converted_and_rows_padded():
    tableau = ButcherTableau("midpoint", ((), (0.5,)), (0, 1), order=2)
    assert tableau.a == ((0, 0), (Fraction(1, 2), 0))
    assert tableau.c == (0, Fraction(1, 2))
    with pytest.raises(FrozenInstanceError):
        tableau.order = 3


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("0; 1", "1", "expected 1 rows"),
        ("0 1; 1", "1/2 1/2", "lower triangular"),
        ("1/2; 0 1/2", "1/2 1/2", "diagonal"),
        ("0; 1 -1/2", "1/2 1/2", "diagonal"),
        ("0; 1/2 1/4; 1/2 1/4 1/3", "1/2 0 1/2", "diagonal"),
    ],
)
def test_wrong_shapes_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        ButcherTableau.from_text("wrong", a, b, order=1)


def test_wrong_nodes_weights_and_orders_are_refused():
    with pytest.raises(ValueError, match="row sums"):
        replace(RK4, c=(0, Fraction(1, 2), Fraction(1, 2), Fraction(9, 10)))
    with pytest.raises(ValueError, match="entries of c"):
        replace(RK4, c=(0, 1))
    with pytest.raises(ValueError, match="entries of embedded"):
        replace(RK4, embedded=(1,), embedded_order=1)
    with pytest.raises(ValueError, match="order at least 1"):
        replace(RK4, order=0)


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="explicit and an implicit part"):
        AdditiveTableau("wrong", RK4, RK4, order=4)
    with pytest.raises(ValueError, match="same weights"):
        AdditiveTableau("wrong", RK4, ARK324L2SA.implicit, order=3)
    heun = ButcherTableau.from_text("heun", "0; 1", "1/2 1/2", order=1)
    late = ButcherTableau.from_text("late", "0; 1/4 1/4", "1/2 1/2", order=1)
    with pytest.raises(ValueError, match="same nodes"):
        AdditiveTableau("wrong", heun, late, order=1)


@pytest.mark.parametrize("tableau", ALL, ids=repr)
def test_stability_function_against_its_definition(tableau):
    a, b = np.array(tableau.a, dtype=float), np.array(tableau.b, dtype=float)
    identity, ones = np.eye(tableau.stages), np.ones(tableau.stages)
    for z in (-0.7, 0.3j, -2.1 + 1.3j):
        expected = 1 + z * b @ np.linalg.solve(identity - z * a, ones)
        np.testing.assert_allclose(tableau.stability_function(z), expected, rtol=1e-12)
    # R agrees with the exponential up to the order, not beyond.
    defect = [abs(tableau.stability_function(z) - np.exp(z)) for z in (-0.4, -0.2)]
    assert tableau.order + 0.5 < np.log2(defect[0] / defect[1]) < tableau.order + 1.5


@pytest.mark.parametrize(
    ("tableau", "real", "imaginary"),
    [
        (SSPRK22, 2.0, 0.0),
        (SSPRK33, 2.5127453266, 3**0.5),
        (RK4, 2.7852935634, 8**0.5),
        (DORMAND_PRINCE5, 3.3065678926, 0.9971890086),
    ],
    ids=repr,
)
def test_stability_extents(tableau, real, imaginary):
    assert tableau.real_stability == pytest.approx(real, abs=1e-9)
    assert tableau.imaginary_stability == pytest.approx(imaginary, abs=1e-9)


@pytest.mark.parametrize("tableau", ALL, ids=repr)
@pytest.mark.parametrize("direction", [-1, 1j])
def test_extents_are_sharp(tableau, direction):
    extent = tableau.real_stability if direction == -1 else tableau.imaginary_stability
    if extent == inf:
        extent = 1e6
    else:
        assert abs(tableau.stability_function(direction * (extent + 0.05))) > 1
    sample = np.linspace(0, extent, 2001) * direction
    assert np.abs(tableau.stability_function(sample)).max() <= 1 + 1e-12


@pytest.mark.parametrize("tableau", IMPLICIT, ids=repr)
def test_implicit_parts_are_l_stable(tableau):
    assert tableau.real_stability == tableau.imaginary_stability == inf
    assert abs(tableau.stability_function(-1e8)) < 1e-6


@pytest.mark.parametrize("tableau", [SSPRK33, RK4, DORMAND_PRINCE5, FEHLBERG7], ids=repr)
def test_stable_step_agrees_with_the_extents(tableau):
    assert tableau.stable_step([-10.0]) == pytest.approx(tableau.real_stability / 10, rel=1e-8)
    # R leaves 1 slowly on the imaginary axis, so that the growth of 1e-9 tolerated moves the limit a little.
    assert tableau.stable_step([1e3j, -1e3j]) == pytest.approx(tableau.imaginary_stability / 1e3, rel=1e-5)
    assert tableau.stable_step([-10.0, -0.1, 1j]) <= tableau.real_stability / 10 * (1 + 1e-8)


def test_stable_step_of_upwind_differences():
    """u_t + u_x = 0, first order upwind: the classical CFL number 1 of Heun's and Euler's method."""
    symbol = np.exp(-1j * np.linspace(0, 2 * np.pi, 64)) - 1
    euler = ButcherTableau("Euler", ((),), (Fraction(1),), order=1)
    assert euler.stable_step(symbol) == pytest.approx(1.0, rel=1e-6)
    # Heun's |R| leaves 1 with the fourth power near z = 0, below the growth of 1e-9 that counts as stable.
    assert SSPRK22.stable_step(symbol) == pytest.approx(1.0, rel=1e-3)
    limit = RK4.stable_step(symbol)
    assert np.abs(RK4.stability_function(limit * symbol)).max() <= 1 + 1e-9
    assert np.abs(RK4.stability_function(1.01 * limit * symbol)).max() > 1 + 1e-6


def test_stable_step_limits():
    assert RK4.stable_step([]) == RK4.stable_step([0.0, 0.0]) == inf
    assert ARK324L2SA.implicit.stable_step([-1e5, 3j, -2 + 7j]) == inf
    assert RK4.stable_step([1.0]) == 0.0
    assert RK4.stable_step([1e-16, -1.0]) == pytest.approx(RK4.real_stability, rel=1e-8)
    with pytest.raises(ValueError, match="finite eigenvalues, got"):
        RK4.stable_step([-1.0, np.nan])
