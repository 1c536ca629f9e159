"""Descriptions of problems: exact where data are exact, and different where problems differ."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stfem import Problem, Torus
from stfem.data import Approximated, Constant, Polynomial, Trigonometric, cosine, sine
from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem, ScalarConservationLaw
from stfem.problems import CATALOGUE, ExactData, burgers_cole_hopf
from stfem.problems.recipes import RECIPES, describe, describe_problem, difference, functions_in, rebuild

PI2 = 2.0 * math.pi
SHEAR = 1.0 + 0.5 * sine((0.0, PI2))


def hump(x):
    return np.exp(np.sin(PI2 * x[0]))


def problem(**changes):
    """One with functions in two places; any part of it may be changed."""
    parts = {
        "equation": AdvectionDiffusion((1.0,), 1e-3),
        "domain": Torus(1.0),
        "initial": hump,
        "final_time": 0.5,
        "source": lambda x, t: t * np.cos(PI2 * x[0]),
    }
    return Problem(**{**parts, **changes})


def without_functions(dim, equation, **more):
    initial = [cosine((PI2,) + (0.0,) * (dim - 1)) * 0.25 + 1.0] * equation.components
    return Problem(equation, Torus((1.0, 0.5, 2.0)[:dim]), initial, 0.1, **more)


EXACT = [
    *(factory() for name, factory in CATALOGUE.items() if name != "burgers_cole_hopf"),
    without_functions(2, AdvectionDiffusion((SHEAR, 0.5), [[2e-3, 1e-3], [1e-3, 1e-3]], reaction=0.5)),
    without_functions(2, AdvectionDiffusion((SHEAR, 0.5), 0.0, divergence=0.0)),
    without_functions(1, AdvectionDiffusion(1.0, reaction=Polynomial([[1.0, 2.0], [0.0, -1.0]]))),
    without_functions(1, AdvectionDiffusion(1.0), source=Approximated(sine(PI2, 3.0), 1e-12)),
    without_functions(1, AdvectionDiffusion(0.0), exact=ExactData([0.25 * cosine(PI2) + 1.0])),
    without_functions(2, ScalarConservationLaw([(0, 0, 0.5), (0, 1)], diffusion=1e-2)),
    without_functions(2, ScalarConservationLaw((0.0, 0.0, 0.0, 1 / 3), dim=2)),
    without_functions(3, Burgers(3, 1e-3)),
    without_functions(1, DiffusivePSystem(0.0, 1, 0.25, 4.0)),
]


@pytest.mark.parametrize("given", EXACT, ids=lambda given: repr(given.equation)[:40])
def test_what_is_made_of_data_is_made_again(given):
    description = describe_problem(given)
    assert list(functions_in(description, "problem")) == []
    made = rebuild(description)
    assert same_bits(describe_problem(made), description)
    assert type(made.equation) is type(given.equation)
    x = np.random.default_rng(0).uniform(0.0, 0.5, (given.equation.dim, 5))
    for name in ("initial", "source"):
        for a, b in zip(getattr(given, name), getattr(made, name), strict=True):
            assert np.array_equal(a(x, 0.03), b(x, 0.03))
    u = given.equation.probe_states(np.random.default_rng(1), 5)
    for i in range(given.equation.dim):
        assert np.array_equal(given.equation.flux(u, x, 0.3, i), made.equation.flux(u, x, 0.3, i))
    assert (given.exact_gradient is None) == (made.exact_gradient is None)
    ranges = u.min(axis=1), u.max(axis=1)
    growths = [p.equation.stability.growth(*ranges) for p in (given, made)]
    assert [form.gradient.tolist() for form in growths[0].forms] == [
        form.gradient.tolist() for form in growths[1].forms
    ]
    assert len(growths[0].forms[0].data) == len(growths[1].forms[0].data)


def same_bits(a, b):
    """Equal descriptions, to the last bit."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_bits(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and a == b


numbers = st.floats(-1e3, 1e3)


@given(st.lists(st.tuples(numbers, numbers, numbers, numbers), min_size=1, max_size=6))
def test_waves_are_made_again_to_the_last_bit(terms):
    k, w, real, imaginary = np.array(terms).T
    wave = Trigonometric(k[:, None], w, real + 1j * imaginary) ** 2
    assert same_bits(describe(rebuild(describe(wave, RECIPES)), RECIPES), describe(wave, RECIPES))


@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=4))
def test_polynomials_are_made_again_to_the_last_bit(coefficients):
    polynomial = Polynomial(coefficients)
    made = rebuild(describe(polynomial, RECIPES))
    assert same_bits(describe(made, RECIPES), describe(polynomial, RECIPES))


def test_functions_are_named():
    swirl = AdvectionDiffusion(lambda x, t: np.sin(PI2 * x[::-1]), dim=2, divergence=0)
    cases = {
        "problem.initial[0]": problem(source=0.0),
        "problem.source[0]": problem(initial=1.0),
        "problem.source[0].function": problem(
            initial=1.0, source=Approximated(Constant(0.0, 1), 1.0, lambda x, t: np.sin(x[0]))
        ),
        "problem.exact": problem(initial=1.0, source=0.0, exact=lambda x, t: 1.0 + 0.0 * x[0]),
        "problem.exact_gradient": problem(
            initial=1.0, source=0.0, exact=1.0, exact_gradient=lambda x, t: 0.0 * x
        ),
        "problem.equation": problem(
            equation=ScalarConservationLaw(np.exp, np.exp, np.exp, dim=1), initial=1.0, source=0.0
        ),
        "problem.equation.velocity[0]": Problem(swirl, Torus((1.0, 1.0)), 1.0, 0.1),
    }
    for name, case in cases.items():
        assert next(functions_in(describe_problem(case), "problem")) == name
    everything = functions_in(describe_problem(burgers_cole_hopf()), "problem")
    assert list(everything) == ["problem.exact", "problem.exact_gradient"]


def test_the_same_again_agrees():
    for make in (problem, burgers_cole_hopf):
        assert difference(describe_problem(make()), describe_problem(make()), "problem") is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"domain": Torus(2.0)}, r"problem\.domain\.lengths\[0\]: expected 1, got 2"),
        ({"final_time": 0.5000001}, r"problem\.final_time: expected 0\.5, got 0\.5000001"),
        ({"initial": lambda x: hump(x) + 1e-9}, r"problem\.initial\[0\]\.values: expected \S+, got \S+"),
        ({"initial": sine(PI2)}, r"problem\.initial\[0\]: expected a function, got trigonometric"),
        ({"source": 0.0}, r"problem\.source\[0\]: expected a function, got constant"),
        ({"source": lambda x, t: t * t * np.cos(PI2 * x[0])}, r"problem\.source\[0\]\.values"),
        ({"equation": AdvectionDiffusion((1.0,), 0.0)}, r"equation\.diffusion: expected 0\.001, got 0"),
        (
            {"equation": AdvectionDiffusion((2.0,), 1e-3)},
            r"equation\.velocity\[0\]\.value: expected 1, got 2",
        ),
        ({"equation": Burgers(1, 1e-3)}, r"equation: expected advection–diffusion, got Burgers"),
        ({"exact": lambda x, t: hump(x) + t}, r"problem\.exact: expected None, got a function"),
    ],
)
def test_what_differs_is_named(changes, sentence):
    found = difference(describe_problem(problem()), describe_problem(problem(**changes)), "problem")
    assert found is not None
    assert re.search(sentence, found), found


def test_zero_diffusion_is_not_a_tiny_one():
    tiny, none = (describe_problem(problem(equation=AdvectionDiffusion((1.0,), d))) for d in (1e-300, 0.0))
    assert difference(tiny, none, "problem") is not None
    assert difference(none, tiny, "problem") is not None


def test_rounding_is_no_difference():
    a, b = describe_problem(problem()), describe_problem(problem(initial=lambda x: hump(x) * (1.0 + 1e-15)))
    assert difference(a, b, "problem") is None


def test_an_equation_of_a_users_own_is_known_again():
    def law(factor, **more):
        return ScalarConservationLaw(
            lambda u: factor * np.exp(u),
            lambda u: factor * np.exp(u),
            lambda u: factor * np.exp(u),
            dim=1,
            **more,
        )

    class Slow(Burgers):
        def flux(self, u, x, t, direction):
            return 0.5 * super().flux(u, x, t, direction)

        def jacobian_product(self, u, v, x, t, direction):
            return 0.5 * super().jacobian_product(u, v, x, t, direction)

    def description(equation):
        return describe_problem(problem(equation=equation))

    first = description(law(1.0))
    assert difference(first, description(law(1.0)), "problem") is None
    assert "flux" in difference(first, description(law(1.5)), "problem")
    assert "diffusion" in difference(first, description(law(1.0, diffusion=1e-3)), "problem")
    # a class derived from a shipped one is not the shipped one
    assert next(functions_in(description(Slow(1)), "problem")) == "problem.equation"
    assert difference(description(Slow(1)), description(Burgers(1)), "problem") is not None


def test_what_cannot_be_described():
    with pytest.raises(TypeError, match="expected something that can be described"):
        describe(object(), RECIPES)
    with pytest.raises(TypeError, match="expected something that can be described"):
        describe(np.sin, RECIPES)
