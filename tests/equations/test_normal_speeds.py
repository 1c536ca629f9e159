"""Ranges of n·f' and hulls of f'' over intervals of states."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from stfem.equations import Burgers, ScalarConservationLaw

STATES = np.linspace(-0.4, 1.3, 501)
LAWS = {
    "burgers": Burgers(2),
    "along a direction": ScalarConservationLaw([Polynomial([0, 0, 0, b]) for b in (0.3, -0.7)]),
    "different": ScalarConservationLaw([Polynomial([0, 1, 0, 0.5]), Polynomial([0, 0, 1, 0, -1])]),
    "callable": ScalarConservationLaw(np.cosh, np.sinh, np.cosh, dim=2),
}
NORMALS = np.array([[1.0, 0.0, 0.6, -0.8], [0.0, -1.0, 0.8, 0.6]])


def speeds(law):
    one = np.ones((1, len(STATES)))
    x = np.zeros((2, len(STATES)))
    slopes = np.concatenate([law.jacobian_product(STATES[None], one, x, 0.0, i) for i in range(2)])
    return np.tensordot(slopes, NORMALS, (0, 0))


@pytest.mark.parametrize("name", LAWS)
def test_speeds_lie_in_their_range(name):
    found = speeds(LAWS[name])
    low, high = LAWS[name].normal_speeds(-0.4, 1.3, NORMALS)
    assert np.all(low <= found.min(axis=0) + 1e-14)
    assert np.all(high >= found.max(axis=0) - 1e-14)
    assert np.all(high - low <= 1.3 * np.ptp(found, axis=0) + 0.2)


def test_speeds_of_burgers_are_exact():
    low, high = LAWS["burgers"].normal_speeds(0.0, 1.0, np.array([[1.0, 0.6], [0.0, -0.6]]))
    assert low == pytest.approx([0.0, 0.0], abs=1e-15)
    assert high == pytest.approx([1.0, 0.0], abs=1e-15)


@pytest.mark.parametrize("name", LAWS)
def test_second_derivatives_lie_in_their_hull(name):
    """In the direction of any vector, the corners reach at least as far."""
    law, rng = LAWS[name], np.random.default_rng(0)
    corners = law.second_derivatives(-0.4, 1.3)
    h = 1e-4
    x, one = np.zeros((2, len(STATES))), np.ones((1, len(STATES)))
    curved = np.concatenate(
        [
            (
                law.jacobian_product(STATES[None] + h, one, x, 0.0, i)
                - law.jacobian_product(STATES[None] - h, one, x, 0.0, i)
            )
            / (2 * h)
            for i in range(2)
        ]
    )
    for w in rng.normal(size=(20, 2)):
        assert (corners @ w).max() >= (w @ curved).max() - 1e-6


def test_fluxes_along_a_direction_need_two_corners():
    assert len(LAWS["along a direction"].second_derivatives(0.0, 1.0)) == 2
    assert len(LAWS["different"].second_derivatives(0.0, 1.0)) > 2
