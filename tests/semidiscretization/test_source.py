"""Sources at stage times: every way adds the projection of the datum."""

import numpy as np
import pytest

from stfem.data import Approximated, as_data, cosine, sine
from stfem.meshes import TensorGrid
from stfem.problems import diffusive_p_system, viscous_burgers
from stfem.semidiscretization import source as module
from stfem.semidiscretization.source import source

GRID = TensorGrid((1.0, 0.7), (5, 4))
WAVES = 0.3 + sine([2.0, -1.0], 3.0) * cosine([5.0, 1.0], -2.0, phase=0.2) + cosine([0.0, 4.0], 1.0)
DATA = {
    "waves": WAVES,
    "close to waves": Approximated(WAVES, 1e-12),
    "steady waves": sine([2.0, -1.0]),
    "callable": as_data(lambda x, t: np.exp(-t) * x[0] * x[1] ** 2, 2, 1, "g")[0],
    "number": as_data(2.5, 2, 1, "g")[0],
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_adds_the_projection(name, degree):
    datum = DATA[name]
    rate = np.ones((degree + 1,) * 2 + GRID.cells)
    term = source(datum, GRID, degree)
    for t in (0.0, 0.37):
        expected = rate + datum.project(GRID, degree, t).coefficients
        term.add(t, rate)
        np.testing.assert_allclose(rate, expected, atol=1e-14)
    if datum.time_dependent:
        assert np.abs(datum.project(GRID, degree, 0.5).coefficients - (expected - rate)).max() > 0.01


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("factory", [viscous_burgers, diffusive_p_system])
def test_sources_of_the_catalogue(factory, dim):
    grid = TensorGrid((1.0,) * dim, (3, 4, 2)[:dim])
    for datum in factory(dim, 0.01).source:
        rate = np.zeros((3,) * dim + grid.cells)
        source(datum, grid, 2).add(0.21, rate)
        expected = datum.project(grid, 2, 0.21).coefficients
        assert np.abs(rate - expected).max() <= 1e-14 * np.abs(expected).max() * 10


def test_many_wavenumbers_are_not_separated(monkeypatch):
    monkeypatch.setattr(module, "_LARGEST", 2)
    assert isinstance(source(WAVES, GRID, 1), module._Projected)
    rate = np.zeros((2, 2, *GRID.cells))
    source(WAVES, GRID, 1).add(0.1, rate)
    np.testing.assert_allclose(rate, WAVES.project(GRID, 1, 0.1).coefficients)
