import numpy as np
import pytest

from stfem.fluxes import InteriorPenalty


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_default(degree) -> None:
    assert InteriorPenalty().coefficient(degree, 0.25, 2, True) == pytest.approx(8.0 * (degree + 1) ** 2)
    assert InteriorPenalty(7.0).coefficient(degree, 0.25, 2, True) == pytest.approx(28.0)


def test_lowest_degree_is_the_two_point_flux() -> None:
    assert InteriorPenalty().coefficient(0, 0.25, 3, True) == 4.0
    assert InteriorPenalty(1.0).coefficient(0, 0.25, 3, True) == 4.0
    with pytest.raises(ValueError, match="consistency"):
        InteriorPenalty(2.0).coefficient(0, 0.25, 3, True)
    with pytest.raises(ValueError, match="cross terms"):
        InteriorPenalty().coefficient(0, 0.25, 2, False)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_cross_terms_are_coercive(dim, degree) -> None:
    factor = InteriorPenalty().coefficient(degree, 1.0, dim, False)
    assert factor > dim * (degree + 1) * (degree + 2) / 2
    assert factor >= InteriorPenalty().coefficient(degree, 1.0, dim, True)


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.inf, np.nan])
def test_wrong_factor(penalty) -> None:
    with pytest.raises(ValueError, match="positive"):
        InteriorPenalty(penalty)


@pytest.mark.parametrize("penalty", ["10", True, (1.0,)])
def test_wrong_type(penalty) -> None:
    with pytest.raises(TypeError, match="number"):
        InteriorPenalty(penalty)


def test_wrong_geometry() -> None:
    with pytest.raises(ValueError, match="spacing"):
        InteriorPenalty().coefficient(1, 0.0, 1, True)
