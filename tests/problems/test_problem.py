import math

import numpy as np
import pytest

from stfem.data import Constant, Polynomial, cosine, sine
from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem
from stfem.problems import Problem, Torus

LINE = Torus((1.0,))
PI2 = 2.0 * math.pi
WAVE = sine(PI2)


def line(**arguments):
    given = {
        "equation": AdvectionDiffusion(1.0),
        "domain": LINE,
        "initial": WAVE,
        "final_time": 1.0,
    } | arguments
    return Problem(**given)


def test_torus() -> None:
    assert Torus([1, 2.0]).lengths == (1.0, 2.0)
    assert Torus(3.0).dim == 1
    assert Torus((2.0, 3.0)).measure == 6.0
    assert Torus((1.0,)) == Torus([1.0])
    for lengths in ((), (0.0,), (-1.0, 1.0), (math.inf,), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="lengths: expected positive"):
            Torus(lengths)
    for lengths in (1e-61, (1.0, 1e61), (1.0,) * 4):
        with pytest.raises(ValueError, match=r"lengths: expected positive.*(from 1e-60 to 1e\+60|three)"):
            Torus(lengths)
    for lengths in ("ab", "1", ("1", 1.0), True, None, ((1.0, 2.0),), ((1.0,), (1.0, 2.0))):
        with pytest.raises(TypeError, match="lengths: expected numbers"):
            Torus(lengths)


def test_normalised_attributes() -> None:
    problem = line(final_time=1)
    assert isinstance(problem.final_time, float)
    assert problem.source[0].is_zero
    assert problem.exact is None
    with pytest.raises(AttributeError):
        problem.final_time = 2.0


@pytest.mark.parametrize("exact", [0, 0.0, (0.0,), np.zeros(1), Constant(0.0, 1)])
def test_exact_solutions_that_are_numbers(exact) -> None:
    problem = line(initial=0.0, exact=exact)
    np.testing.assert_array_equal(problem.exact(np.ones((1, 4)), 0.5), np.zeros((1, 4)))
    np.testing.assert_array_equal(problem.exact_gradient(np.ones((1, 4)), 0.5), np.zeros((1, 1, 4)))


def test_exact_state_of_a_system() -> None:
    system = DiffusivePSystem(0.0, dim=1)
    for exact in ((1.0, Constant(0.0, 1)), np.array([1.0, 0.0])):
        problem = Problem(system, Torus(1.0), (1.0, 0.0), 1.0, exact=exact)
        np.testing.assert_array_equal(problem.exact(np.ones((1, 2)), 0.5), [[1.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("value", [1, 1.0, Constant(1.0, 2), lambda x: 1.0, lambda x: x[0] * 0 + 1])
def test_ones_in_every_form(value) -> None:
    """R4.9 for scalar equations."""
    problem = Problem(AdvectionDiffusion((1.0, 0.0)), Torus((1.0, 1.0)), value, 1.0)
    x = np.random.default_rng(0).uniform(size=(2, 4, 3))
    assert np.array_equal(problem.initial[0](x), np.ones((4, 3)))


@pytest.mark.parametrize(
    "value", [1, lambda x: np.ones(3), lambda x: (1.0, x[0] * 0 + 1.0, 1), (1, lambda x: 1.0, 1.0)]
)
def test_ones_per_component(value) -> None:
    """R4.9 for systems."""
    problem = Problem(DiffusivePSystem(0.1, 2), Torus((1.0, 1.0)), value, 1.0)
    x = np.random.default_rng(0).uniform(size=(2, 5))
    for component in problem.initial:
        assert np.array_equal(component(x), np.ones(5))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"initial": lambda x: np.ones(7)}, ValueError, r"initial: expected .*got shape \(7,\)"),
        ({"source": lambda x, t: np.ones((2, 3))}, ValueError, "source: expected"),
        ({"initial": (WAVE, WAVE)}, ValueError, "initial: expected 1 components, got 2"),
        ({"initial": sine((PI2, 0.0))}, ValueError, "initial: expected data of dimension 1"),
        ({"initial": math.nan}, ValueError, "initial: expected finite"),
        ({"domain": Torus((1.0, 1.0))}, ValueError, "domain: expected dimension 1"),
        ({"domain": (1.0,)}, TypeError, "expected a Torus"),
        ({"equation": "burgers"}, TypeError, "expected an Equation"),
        ({"final_time": 0.0}, ValueError, "final_time: expected positive"),
        ({"final_time": math.inf}, ValueError, "final_time: expected positive and finite"),
        ({"final_time": math.nan}, ValueError, "final_time: expected positive and finite, .* got nan"),
        ({"final_time": 1e-300}, ValueError, "final_time: expected .* from 1e-100 to .* got 1e-300"),
        ({"final_time": 5e-324}, ValueError, "final_time: expected .* from 1e-100 to .* got 5e-324"),
        ({"final_time": 1e300}, ValueError, r"final_time: expected .* to 1e\+100, got 1e\+300"),
        ({"final_time": "1"}, TypeError, "final_time: expected a number"),
        ({"final_time": True}, TypeError, "final_time: expected a number, got True"),
        ({"exact": lambda x, t: np.ones(5)}, ValueError, "exact: expected"),
        ({"exact": 3.0}, ValueError, r"exact: expected the initial value .*, got \[3.\]"),
        ({"exact": "u"}, TypeError, "exact: expected real numbers"),
        ({"exact": math.nan}, ValueError, "exact: expected finite numbers"),
        (
            {"exact": lambda x, t: np.sin(PI2 * (x[0] - t)) + 1e-3},
            ValueError,
            "exact: expected the initial value",
        ),
        ({"exact_gradient": lambda x, t: x[0]}, ValueError, "exact_gradient: expected shape"),
        ({"exact_gradient": "no"}, TypeError, "exact_gradient: expected a callable"),
    ],
)
def test_wrong_arguments(arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        line(**arguments)


def test_inconsistent_equation_is_found() -> None:
    class Slip(Burgers):
        def jacobian_product(self, u, v, x, t, direction):
            return 2.0 * u * v

    with pytest.raises(ValueError, match="jacobian_product"):
        line(equation=Slip(1))


@pytest.mark.parametrize("shape", [(4,), (2, 5)])
def test_gradient_in_either_shape(shape) -> None:
    x = np.random.default_rng(0).uniform(size=(2, *shape))

    def exact(x, t):
        return np.sin(PI2 * x[0])

    def gradient(x, t):
        return np.stack([PI2 * np.cos(PI2 * x[0]), 0.0 * x[1]])

    def full(x, t):
        return gradient(x, t)[:, None]

    for given in (gradient, full):
        problem = Problem(
            AdvectionDiffusion((0.0, 1.0)), Torus((1.0, 1.0)), sine((PI2, 0.0)), 1.0, None, exact, given
        )
        assert problem.exact(x, 0.0).shape == (1, *shape)
        assert np.array_equal(problem.exact_gradient(x, 0.0), full(x, 0.0))


def test_discontinuous_initial_value_is_accepted() -> None:
    def step(x, t=0.0):
        return np.where((x[0] - t) % 1.0 > 0.5, 1.0, 0.0)

    assert line(initial=lambda x: step(x), exact=step).exact is not None


def test_velocity_must_be_periodic_along_itself() -> None:
    square = Torus((1.0, 2.0))

    def build(*velocity):
        return Problem(AdvectionDiffusion(velocity), square, 1.0, 1.0)

    build(sine((PI2, 0.0)), cosine((0.0, 0.5 * PI2), frequency=3.0))
    build(sine((0.0, 1.3)), 1.0)  # a tangential jump is harmless
    build(Polynomial([[0.0], [1.0], [-1.0]], dim=2), 0.0)
    for velocity in [
        (sine((0.5 * PI2, 0.0)) * 1.0 + sine((1.0, 0.0)), 1.0),
        (1.0, Polynomial([[0.0, 1.0]], dim=2)),
    ]:
        with pytest.raises(ValueError, match="periodic in direction"):
            build(*velocity)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"initial": lambda x, t: x[0]}, r"initial: expected a function of \(x\), got one of \(x, t\)"),
        ({"source": lambda x: x[0]}, r"source: expected a function of \(x, t\), got one of \(x\)"),
        ({"exact": lambda x: x[0]}, r"exact: expected a function of \(x, t\), got one of \(x\)"),
        (
            {"exact_gradient": lambda: 0.0},
            r"exact_gradient: expected a function of \(x, t\), got one of \(\)",
        ),
    ],
)
def test_functions_of_too_many_or_too_few_arguments(given, message):
    equation = AdvectionDiffusion(1.0)
    with pytest.raises(TypeError, match=message):
        Problem(equation, Torus(1.0), **{"initial": 0.0, "final_time": 0.1, **given})


def test_errors_within_a_function_are_its_own():
    def broken(x):
        return len(3)

    with pytest.raises(TypeError, match="object of type 'int' has no len"):
        Problem(AdvectionDiffusion(1.0), Torus(1.0), broken, 0.1)
