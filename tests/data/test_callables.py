"""Callables and whatever else users pass as data (REFERENCE R4.9, R4.11, R4.14)."""

import numpy as np
import pytest

from stfem.data import (
    Approximated,
    CallableData,
    Constant,
    Polynomial,
    Slab,
    Trigonometric,
    as_data,
    checked_function,
    cosine,
    sine,
)
from stfem.meshes import TensorGrid


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize(
    "value",
    [1, 1.0, np.float32(1.0), np.array(1.0), [1.0], lambda x: 1, lambda x: 1.0, lambda x: x[0] * 0 + 1],
)
def test_ones_are_one_everywhere(value, dim):
    (data,) = as_data(value, dim, 1, "initial", with_time=False)
    np.testing.assert_array_equal(data(np.random.default_rng(0).random((dim, 3, 4))), np.ones((3, 4)))
    modes = data.project(TensorGrid((1.0,) * dim, 3), 1, 0.0).coefficients
    expected = np.zeros_like(modes)
    expected[(0,) * dim] = 1.0
    np.testing.assert_allclose(modes, expected, atol=1e-14)


def test_shape_kept_is_one_component_in_1d_and_refused_in_2d():
    (data,) = as_data(lambda x: x * 0 + 1, 1, 1, "initial", with_time=False)
    np.testing.assert_array_equal(data(np.zeros((1, 5))), np.ones(5))
    with pytest.raises(ValueError, match=r"initial: expected an array of shape \(3,\).*got shape \(2, 3\)"):
        as_data(lambda x: x * 0 + 1, 2, 1, "initial", with_time=False)


def test_components():
    x = np.random.default_rng(0).random((2, 4))
    for value in (
        (1.0, sine((1.0, 2.0)), lambda x, t: x[1] * t),
        lambda x, t: np.stack([x[0] * 0 + 1.0, np.sin(x[0] + 2 * x[1]), x[1] * t]),
        lambda x, t: (1.0, np.sin(x[0] + 2 * x[1]), x[1] * t),
    ):
        data = as_data(value, 2, 3, "source")
        assert len(data) == 3
        values = np.stack([component(x, 0.5) for component in data])
        np.testing.assert_allclose(values, [np.ones(4), np.sin(x[0] + 2 * x[1]), 0.5 * x[1]])
    for value in (np.array([1.0, 2.0, 3.0]), lambda x, t: np.array([1.0, 2.0, 3.0])):
        data = as_data(value, 2, 3, "source")
        assert [component(x, 0.5).tolist() for component in data] == [[v] * 4 for v in (1.0, 2.0, 3.0)]
    assert [component.is_zero for component in as_data(0, 2, 3, "source")] == [True] * 3


@pytest.mark.parametrize(
    ("value", "dim", "components", "message"),
    [
        (lambda x: np.ones(5), 1, 1, r"expected an array of shape \(3,\).*got shape \(5,\)"),
        (lambda x: np.ones(3), 1, 1, r"expected an array of shape \(2, 3\).*got shape \(3,\)"),
        (lambda x: x[0], 3, 3, r"got shape \(2, 3\)"),
        (
            lambda x: np.ones((2, *x.shape[1:])),
            2,
            3,
            r"expected an array of shape \(3, 3\).*got shape \(2, 3\)",
        ),
        (lambda x: (x[0], x[0]), 2, 3, r"got shape \(2, 3\)"),
        ([1.0, 2.0], 1, 3, "expected 3 components, got 2"),
        (np.ones(2), 1, 3, r"shape \(3,\), got shape \(2,\)"),
        (np.nan, 1, 1, "finite"),
        (Constant(1.0, 2), 1, 1, "dimension 1, got dimension 2"),
        (Constant(1.0, 1), 1, 3, "expected 3 components"),
    ],
)
def test_wrong_shapes_show_expected_and_got(value, dim, components, message):
    with pytest.raises(ValueError, match=message):
        as_data(value, dim, components, "initial", with_time=False)


@pytest.mark.parametrize("value", ["1", None, 1j, np.array(["a"]), lambda x: 1j * x[0], lambda x: None])
def test_complex_and_non_numeric_values_are_type_errors(value):
    with pytest.raises(TypeError, match="initial: expected real numbers"):
        as_data(value, 1, 1, "initial", with_time=False)


def test_shape_is_checked_on_every_call():
    function = checked_function(lambda x, t: x[0] if t < 1.0 else x[0, :1], 1, 1, "source")
    assert function(np.ones((1, 4)), 0.5).shape == (1, 4)
    with pytest.raises(ValueError, match=r"got shape \(1,\)"):
        function(np.ones((1, 4)), 1.5)


def test_values_that_are_not_finite_are_named():
    data = CallableData(lambda x, t: np.where(x[0] > 0.9, np.nan, 1.0), 1, "source")
    with pytest.raises(ValueError, match=r"source: expected finite values, got nan at x = \[0.9"):
        data.project(TensorGrid((1.0,), 8), 1, 0.0)


def test_jump_in_the_middle_of_a_cell_is_integrated_exactly():
    """R4.11: 1_{x > 1/2} on 9 cells, P1: end values -0.25 and 1.25 in the middle cell, integral 0.5."""
    (data,) = as_data(lambda x: x[0] > 0.5, 1, 1, "initial", with_time=False)
    modes = data.project(TensorGrid((1.0,), 9), 1, 0.0).coefficients
    mean, slope = modes[:, 4]
    np.testing.assert_allclose(
        [mean - np.sqrt(3) * slope, mean + np.sqrt(3) * slope], [-0.25, 1.25], rtol=1e-14
    )
    assert modes[0].sum() / 9 == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_projection_matches_the_closed_form(dim):
    exact = sine((2.0, -1.0, 3.0)[:dim], 2.0) * cosine((1.0, 4.0, 2.0)[:dim])
    data, grid = CallableData(exact, dim), TensorGrid((1.0, 2.0, 0.5)[:dim], (3, 2, 2)[:dim])
    for time in (0.3, Slab(0.2, 0.4, 2)):
        got, expected = data.project(grid, 2, time), exact.project(grid, 2, time)
        np.testing.assert_allclose(got.coefficients, expected.coefficients, atol=1e-8)
        assert got.remainder_l2 <= 1.001 * expected.remainder_l2
        assert got.remainder_l2 >= 0.3 * expected.remainder_l2
        assert got.remainder_sup <= expected.remainder_sup


def test_blocks_of_cells_do_not_change_the_result(monkeypatch):
    data, grid = CallableData(lambda x, t: np.exp(x[0] * x[1] + t), 2), TensorGrid((1.0, 1.0), (7, 3))
    whole = data.project(grid, 1, Slab(0.0, 0.1, 1))
    monkeypatch.setattr("stfem.data.sampling._BLOCK", 1000)
    parts = data.project(grid, 1, Slab(0.0, 0.1, 1))
    np.testing.assert_allclose(parts.coefficients, whole.coefficients, rtol=1e-13)
    assert parts.remainder_l2 == pytest.approx(whole.remainder_l2, rel=1e-10)
    assert parts.remainder_sup == whole.remainder_sup


def test_only_bare_callables_carry_an_assumption():
    (data,) = as_data(lambda x: x[0], 1, 1, "initial", with_time=False)
    assert data.assumption.startswith("initial: integrated with 2(degree + 4) points")
    assert data.assumption.endswith("not proved")
    assert not data.time_dependent
    assert as_data(lambda x, t: x[0], 1, 1, "source")[0].time_dependent
    for proved in (Constant(1.0, 1), sine(1.0), Polynomial([1.0, 1.0], dim=1), Approximated(sine(1.0), 0.1)):
        assert proved.assumption is None
    assert Approximated(data, 0.1).assumption == data.assumption
    assert as_data(sine(1.0), 1, 1, "initial")[0].assumption is None


def test_supremum_of_a_callable_is_estimated():
    data = CallableData(lambda x, t: np.sin(np.pi * x[0]) * t, 1)
    assert data.sup(0.0, 2.0, (1.0,)) == pytest.approx(2.0, rel=1e-5)


def test_approximated_adds_its_error_to_every_remainder():
    truth = lambda x, t: np.sin(x[0]) + 0.01 * np.cos(40.0 * x[0])  # noqa: E731
    data = Approximated(sine(1.0), 0.01, truth)
    grid, slab = TensorGrid((2.0,), 4), Slab(0.0, 0.25, 1)
    plain, got = sine(1.0).project(grid, 2, slab), data.project(grid, 2, slab)
    np.testing.assert_array_equal(got.coefficients, plain.coefficients)
    assert got.remainder_l2 == pytest.approx(plain.remainder_l2 + 0.01 * np.sqrt(0.5))
    assert got.remainder_sup == pytest.approx(plain.remainder_sup + 0.01)
    assert data.project(grid, 2, 0.0).remainder_l2 == pytest.approx(
        sine(1.0).project(grid, 2, 0.0).remainder_l2 + 0.01 * np.sqrt(2.0)
    )
    assert data.sup(0.0, 1.0, (2.0,)) == pytest.approx(1.01)
    x = np.array([[0.3, 0.8]])
    np.testing.assert_allclose(data(x, 0.1), truth(x, 0.1))
    np.testing.assert_allclose(Approximated(sine(1.0), 0.01)(x), np.sin(x[0]))
    assert not Approximated(Constant(0.0, 1), 0.01).is_zero
    assert not Approximated(Constant(0.0, 1), 0.01).constant
    with pytest.raises(ValueError, match="error_sup"):
        Approximated(sine(1.0), -1.0)
    with pytest.raises(TypeError, match="expected Data"):
        Approximated(1.0, 0.1)


def test_derivative_of_a_callable_is_refused():
    with pytest.raises(TypeError, match="not known exactly"):
        CallableData(lambda x, t: x[0], 1).derivative(0)


def test_trigonometric_passes_through_as_it_is():
    field = sine((1.0, 1.0))
    assert as_data(field, 2, 1, "initial")[0] is field
    assert isinstance(as_data([field, 2], 2, 2, "initial")[1], Constant)
    assert isinstance(field, Trigonometric)
