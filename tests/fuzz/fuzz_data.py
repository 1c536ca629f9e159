"""Table of callables: data."""

import math

import numpy as np
from fuzz_entry import Entry
from fuzz_strategies import choice, dims, floats, functions, made, points, scalar_data, smooth, two_pi
from hypothesis import strategies as st

import stfem
from stfem import data
from stfem.data import Polynomial, Trigonometric, cosine, sine

_GRID = stfem.meshes.TensorGrid((1.0,), 4)
_ONE = {
    "Constant": data.Constant(1.5, 1),
    "Polynomial": Polynomial([[1.0], [2.0], [0.5]]),
    "Trigonometric": sine(two_pi, -two_pi),
    "Approximated": data.Approximated(sine(two_pi), 1e-3),
    "CallableData": data.CallableData(smooth, 1),
}
one = st.sampled_from(sorted(_ONE)).map(_ONE.__getitem__)


def conserves_mean(given, found):
    """A projection has the mean of the function, and its remainders are not negative."""
    assert np.isfinite(found.coefficients).all()
    assert found.remainder_l2 >= 0.0
    assert found.remainder_sup >= 0.0
    datum, time = given["datum"], given["time"]
    if not isinstance(time, data.Slab) and not isinstance(datum, data.CallableData):
        x = (np.arange(4096) + 0.5)[None] / 4096
        mean = float(np.mean(datum(x, float(time))))
        assert abs(float(found.coefficients[0].mean()) - mean) <= 1e-6 + found.remainder_l2


def covers(given, found):
    """A supremum or a range covers values."""
    x = np.linspace(0.0, 1.0, 33)[None]
    assert float(np.abs(given["datum"](x, given["start"])).max()) <= found * (1.0 + 1e-12)


def same_values(given, found):
    x = np.array([[0.2, 0.7]])
    assert found.dim >= 1
    if found.dim == 1:
        assert np.isfinite(found(x)).all()


def finite_number(given, found):
    assert math.isfinite(float(found)), found


def ordered(given, found):
    assert np.all(found.lower <= found.upper)


slabs = st.floats(0.0, 1.0).flatmap(lambda a: st.just(data.Slab(a, a + 0.5, 2)))
TABLE = {
    "data.Constant": Entry(data.Constant, {"value": floats, "dim": dims}, always=same_values),
    "data.Polynomial": Entry(
        data.Polynomial,
        {"coefficients": made(lambda: [[1.0], [2]], lambda: np.ones((2, 2)), lambda: [[1, 2]])},
        {"dim": st.just(1)},
        always=same_values,
    ),
    "data.Trigonometric": Entry(
        lambda wavevectors, frequencies, amplitudes: Trigonometric(wavevectors, frequencies, amplitudes),
        {
            "wavevectors": made(lambda: [[two_pi], [1.0]], lambda: np.array([[1], [2]])),
            "frequencies": made(lambda: [0.0, 1.0], lambda: np.zeros(2, int)),
            "amplitudes": made(lambda: [1.0, 2j], lambda: np.ones(2, np.float32)),
        },
        always=same_values,
    ),
    "data.cosine": Entry(
        cosine,
        {"wavevector": choice(two_pi, 1, (1.0, 2.0), np.ones(3))},
        {"frequency": floats, "phase": floats, "amplitude": floats},
        always=same_values,
    ),
    "data.sine": Entry(
        sine,
        {"wavevector": choice(two_pi, 1, (1.0, 2.0), np.ones(3))},
        {"frequency": floats, "phase": floats, "amplitude": floats},
        always=same_values,
    ),
    "data.Approximated": Entry(
        data.Approximated,
        {"approximation": one, "error_sup": st.floats(0.0, 1.0)},
        {"function": functions, "with_time": st.booleans()},
    ),
    "data.CallableData": Entry(
        data.CallableData,
        {"function": functions, "dim": st.just(1)},
        {"name": st.just("u"), "with_time": st.booleans(), "component": st.just(0)},
    ),
    "data.Slab": Entry(
        data.Slab, {"start": st.floats(0.0, 1.0), "stop": st.floats(2.0, 3.0), "degree": st.integers(0, 5)}
    ),
    "data.Interval": Entry(
        data.Interval,
        {"lower": made(lambda: np.zeros(2), lambda: 0.0), "upper": made(lambda: np.ones(2))},
    ),
    "data.as_data": Entry(
        data.as_data,
        {"value": scalar_data | functions, "dim": st.just(1), "components": st.just(1), "name": st.just("u")},
        {"with_time": choice(True, None)},
    ),
    "data.checked_function": Entry(
        data.checked_function,
        {"function": functions, "dim": st.just(1), "components": st.just(1), "name": st.just("u")},
        {"with_time": st.booleans()},
    ),
    "data.cell_ranges": Entry(
        data.cell_ranges,
        {"coefficients": made(lambda: np.ones((2, 3)), lambda: np.ones((3, 2), int)), "axes": st.just(1)},
        oracle=ordered,
    ),
    "data.polynomial_range": Entry(
        data.polynomial_range,
        {"coefficients": made(lambda: np.ones((2, 3)), lambda: np.ones((3, 2), int)), "axes": choice(1, 2)},
        {"rtol": st.floats(1e-3, 1.0), "max_subdivisions": st.integers(0, 6)},
    ),
    "data.PolynomialRange": Entry(
        data.PolynomialRange,
        {"axes": choice(1, 2)},
        {"rtol": st.floats(1e-3, 1.0), "max_subdivisions": st.integers(0, 6)},
    ),
    "data.PolynomialRange.take": Entry(
        lambda coefficients: data.PolynomialRange(1).take(coefficients),
        {"coefficients": made(lambda: np.ones((2, 3)), lambda: np.ones((3, 2), int))},
    ),
    "data.data_range": Entry(
        data.data_range,
        {
            "datum": one,
            "lower": made(lambda: np.zeros((1, 2)), lambda: np.zeros((1, 2), int)),
            "upper": made(lambda: np.ones((1, 2))),
        },
        {"start": st.just(0.0), "stop": st.just(1.0)},
    ),
    "data.Data.__call__": Entry(
        lambda datum, x, t=0.0: datum(x, t),
        {"datum": one, "x": points(1)},
        {"t": floats},
        receivers=("datum",),
    ),
    "data.Data.project": Entry(
        lambda datum, degree, time, grid=_GRID: datum.project(grid, degree, time),
        {"datum": one, "degree": st.integers(0, 3), "time": floats | slabs},
        {"grid": st.just(_GRID)},
        oracle=conserves_mean,
        receivers=("datum",),
    ),
    "data.Data.sup": Entry(
        lambda datum, start, stop, lengths=(1.0,): datum.sup(start, stop, lengths),
        {"datum": one, "start": st.just(0.0), "stop": st.just(1.0)},
        {"lengths": st.just((1.0,))},
        oracle=covers,
        receivers=("datum",),
    ),
    "data.Data.derivative": Entry(
        lambda datum, direction: datum.derivative(direction),
        {
            "datum": choice(*(_ONE[k] for k in ("Constant", "Polynomial", "Trigonometric"))),
            "direction": st.just(0),
        },
        receivers=("datum",),
    ),
    "data.Data.algebra": Entry(
        lambda a, b, power=1: ((a + b) - b * 2.0, a * b, -a, 1.0 - a, a**power),
        {
            "a": choice(_ONE["Trigonometric"], cosine(1.0)),
            "b": choice(_ONE["Trigonometric"]) | floats,
        },
        {"power": st.integers(0, 3)},
        receivers=("a",),
        operators=True,
    ),
    "data.Polynomial.algebra": Entry(
        lambda a, b, power=1: ((a + b) - b * 2.0, a * b, -a, 1.0 - a, a**power),
        {"a": choice(_ONE["Polynomial"]), "b": choice(_ONE["Polynomial"]) | floats},
        {"power": st.integers(0, 3)},
        receivers=("a",),
        operators=True,
    ),
    "data.Constant.algebra": Entry(
        lambda a, b, power=1: ((a + b) - b * 2.0, a * b, -a, 1.0 - a, a**power),
        {"a": choice(_ONE["Constant"]), "b": choice(_ONE["Constant"]) | floats},
        {"power": st.integers(0, 3)},
        receivers=("a",),
        operators=True,
    ),
}
