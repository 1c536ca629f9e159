"""Solutions and estimates come back from files as they went in; nothing else passes for them."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

import stfem
from stfem import Estimate, Problem, Solution, Torus, certify, equations, estimate, solve
from stfem.data import Polynomial, cosine, sine
from stfem.estimators import PaperEstimator
from stfem.fluxes import InteriorPenalty, flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.io import container
from stfem.problems import (
    burgers_cole_hopf,
    diffusive_p_system,
    linear_advection_diffusion,
    sheared_pulse,
    viscous_burgers,
)
from stfem.timestepping import (
    ARK324L2SA,
    RK4,
    SSPRK33,
    ButcherTableau,
    ExplicitRungeKutta,
    ImplicitExplicitRungeKutta,
)

PI2 = 2.0 * math.pi


def same(a, b):
    """Equal in type and to the last bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


def without_times(result):
    """All fields of an estimate but how many seconds it took."""
    values = {entry.name: getattr(result, entry.name) for entry in fields(Estimate)}
    facts = {name: fact for name, fact in result.facts.items() if not name.startswith("seconds")}
    return {**values, "facts": facts}


def assert_same_solution(a, b):
    assert same(a.values, b.values)
    assert same(a.initial, b.initial)
    assert (a.dt, a.steps, a.time) == (b.dt, b.steps, b.time)
    assert repr(a) == repr(b)
    for m, n in zip(a.nodes(), b.nodes(), strict=True):
        assert m.time == n.time
        assert same(m.values, n.values)
        assert same(m.rate, n.rate)
    assert same(without_times(estimate(a)), without_times(estimate(b)))


def hump(x):
    return np.exp(np.sin(PI2 * x[0]))


def with_functions(**changes):
    equation = equations.AdvectionDiffusion((1.0,), 1e-3)
    parts = {"equation": equation, "domain": Torus(1.0), "initial": hump, "final_time": 0.1}
    return Problem(**{**parts, **changes})


WITHOUT_FUNCTIONS = {
    "linear 1D": (linear_advection_diffusion(1, 1e-3, 0.1), {"cells": 8, "degree": 3}),
    "linear 2D, degree 0": (linear_advection_diffusion(2, 0.0, 0.1), {"cells": (4, 6), "degree": 0}),
    "one cell": (linear_advection_diffusion(2, 1e-3, 0.05), {"cells": 1, "degree": 1}),
    "shear, upwind": (sheared_pulse(2, 1e-3, 0.05), {"cells": 4, "degree": 2, "flux": flux_upwind}),
    "Burgers 3D": (viscous_burgers(3, 1e-3, 0.01), {"cells": 2, "degree": 1}),
    "Burgers, implicit": (
        viscous_burgers(1, 0.1, 0.02),
        {"cells": 8, "degree": 2, "stepper": ImplicitExplicitRungeKutta(ARK324L2SA)},
    ),
    "p-system": (diffusive_p_system(2, 1e-2, 0.01), {"cells": 4, "degree": 1}),
    "matrix, reaction, source, penalty": (
        Problem(
            equations.AdvectionDiffusion((1.0, 0.5), [[2e-3, 1e-3], [1e-3, 1e-3]], reaction=0.5),
            Torus((1.0, 2.0)),
            Polynomial(np.ones((2, 3, 1))),
            0.05,
            source=sine((PI2, 0.0), frequency=-PI2),
        ),
        {"cells": (4, 3), "degree": 1, "penalty": InteriorPenalty(30.0), "dt": 0.01},
    ),
    "two fluxes, own tableau": (
        Problem(
            equations.ScalarConservationLaw([(0, 0, 0.5), (0, 1)], diffusion=1e-2),
            Torus((1.0, 1.0)),
            1.0 + 0.1 * cosine((PI2, PI2)),
            0.02,
        ),
        {
            "cells": 4,
            "degree": 1,
            "flux": flux_engquist_osher,
            "stepper": ExplicitRungeKutta(ButcherTableau.from_text("midpoint", "0; 1/2", "0 1", order=2)),
        },
    ),
}


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("name", WITHOUT_FUNCTIONS)
def test_a_file_holds_all_there_is_to_data(tmp_path, name, history):
    problem, options = WITHOUT_FUNCTIONS[name]
    solution = solve(problem, **options, history=history)
    assert solution.save(tmp_path / "run.npz") == tmp_path / "run.npz"
    loaded = Solution.load(str(tmp_path / "run.npz"))
    assert (loaded.stored is not None) == history
    assert_same_solution(solution, loaded)
    assert_same_solution(solution, Solution.load(tmp_path / "run.npz", problem))  # checked, and the same
    x = np.random.default_rng(0).uniform(0.0, 1.0, (problem.equation.dim, 7))
    assert same(solution(x), loaded(x))


def test_a_loaded_history_is_read_only(tmp_path):
    solve(linear_advection_diffusion(1, 0.0, 0.1), cells=4, degree=1, history=True).save(tmp_path / "run.npz")
    for node in Solution.load(tmp_path / "run.npz").nodes():
        assert not node.values.flags.writeable
        assert not node.rate.flags.writeable


def test_a_certified_solution_is_estimated_alike(tmp_path):
    result = certify(viscous_burgers(1, 1e-2, 0.05), cells=8, degree=2)
    result.solution.save(tmp_path / "run.npz")
    again = estimate(Solution.load(tmp_path / "run.npz"))
    assert same(without_times(again), without_times(result))


def test_functions_are_given_again(tmp_path):
    path = tmp_path / "run.npz"
    solution = solve(with_functions(), cells=8, degree=2)
    solution.save(path)
    with pytest.raises(
        ValueError,
        match=r"run\.npz: expected load\(path, problem=…\), got no problem: .* problem\.initial\[0\]$",
    ):
        Solution.load(path)
    assert_same_solution(solution, Solution.load(path, with_functions()))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"initial": lambda x: hump(x) + 1e-6}, r"problem\.initial\[0\]\.values: expected"),
        ({"final_time": 0.2}, r"problem\.final_time: expected 0\.1, got 0\.2"),
        ({"domain": Torus(2.0)}, r"problem\.domain\.lengths\[0\]: expected 1, got 2"),
        (
            {"equation": equations.AdvectionDiffusion((1.0,), 1e-4)},
            r"diffusion: expected 0\.001, got 0\.0001",
        ),
        ({"equation": equations.Burgers(1, 1e-3)}, r"equation: expected advection–diffusion, got Burgers"),
        ({"source": 1.0}, r"problem\.source\[0\]\.value: expected 0, got 1"),
    ],
)
def test_another_problem_is_refused(tmp_path, changes, sentence):
    solve(with_functions(), cells=4, degree=1).save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=rf"computed with something else: .*{sentence}"):
        Solution.load(tmp_path / "run.npz", with_functions(**changes))


def test_what_is_no_problem_is_refused(tmp_path):
    solve(with_functions(), cells=4, degree=1).save(tmp_path / "run.npz")
    with pytest.raises(TypeError, match="problem: expected a Problem, got 'hump'"):
        Solution.load(tmp_path / "run.npz", "hump")


def test_an_exact_solution_that_is_a_function(tmp_path):
    problem = burgers_cole_hopf(0.02, 0.05)
    solution = solve(problem, cells=8, degree=1)
    solution.save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=r"problem\.exact, problem\.exact_gradient"):
        Solution.load(tmp_path / "run.npz")
    assert_same_solution(solution, Solution.load(tmp_path / "run.npz", burgers_cole_hopf(0.02, 0.05)))
    with pytest.raises(ValueError, match=r"diffusion: expected 0\.02, got 0\.03"):
        Solution.load(tmp_path / "run.npz", burgers_cole_hopf(0.03, 0.05))


def flux_central(equation, u_minus, u_plus, x, t, direction):
    f_minus, f_plus = (equation.flux(u, x, t, direction) for u in (u_minus, u_plus))
    return 0.5 * (f_minus + f_plus)


class Heun:
    order, implicit = 2, False

    def __init__(self, weight=0.5):
        self.weight = weight

    def step(self, ode, t, u, dt, rate):
        def rhs(t, u):
            return ode.rhs_hyperbolic(t, u) + (ode.rhs_parabolic(t, u) if ode.has_diffusion else 0.0)

        return u + dt * ((1.0 - self.weight) * rate + self.weight * rhs(t + dt, u + dt * rate))


class Stiff:
    def __init__(self, factor):
        self.factor = factor

    def coefficient(self, degree, spacing, dim, diagonal):
        return self.factor / spacing


@pytest.mark.parametrize(
    ("name", "own", "others"),
    [
        ("flux", flux_central, [flux_rusanov, lambda *given: 1.001 * flux_central(*given)]),
        ("stepper", Heun(), [ExplicitRungeKutta(SSPRK33), Heun(0.6)]),
        ("penalty", Stiff(20.0), [InteriorPenalty(20.0), Stiff(21.0)]),
    ],
)
def test_parts_of_your_own_are_given_again(tmp_path, name, own, others):
    path = tmp_path / "run.npz"
    problem = linear_advection_diffusion(1, 1e-2, 0.05)
    solution = solve(problem, cells=8, degree=1, dt=1e-3, **{name: own})
    solution.save(path)
    with pytest.raises(ValueError, match=rf"expected load\(path, {name}=…\), got no {name}"):
        Solution.load(path)
    assert_same_solution(solution, Solution.load(path, **{name: own}))
    for other in others:
        with pytest.raises(ValueError, match=rf"computed with something else: {name}"):
            Solution.load(path, **{name: other})
    with pytest.raises(TypeError, match=rf"{name}: expected"):
        Solution.load(path, **{name: "upwind"})


def test_another_shipped_part_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    problem = linear_advection_diffusion(1, 1e-2, 0.05)
    solution = solve(problem, cells=8, degree=1, dt=1e-3, stepper=ExplicitRungeKutta(RK4))
    solution.save(path)
    Solution.load(path, flux=flux_rusanov, stepper=ExplicitRungeKutta(RK4), penalty=InteriorPenalty())
    for part, sentence in [
        ({"flux": flux_upwind}, "flux.name: expected flux_rusanov, got flux_upwind"),
        ({"stepper": ExplicitRungeKutta(SSPRK33)}, r"stepper\.tableau\.name: expected RK4, got SSPRK"),
        ({"penalty": InteriorPenalty(3.0)}, r"penalty\.penalty: expected None, got 3\.0"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            Solution.load(path, **part)


def test_an_equation_of_your_own(tmp_path):
    def law(factor):
        function = lambda u: factor * np.exp(u)  # noqa: E731  (three times the same)
        return equations.ScalarConservationLaw(function, function, function, dim=1, diffusion=1e-2)

    solution = solve(with_functions(equation=law(1.0), initial=sine(PI2)), cells=8, degree=1)
    solution.save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=r"here problem\.equation$"):
        Solution.load(tmp_path / "run.npz")
    again = with_functions(equation=law(1.0), initial=sine(PI2))
    assert_same_solution(solution, Solution.load(tmp_path / "run.npz", again))
    with pytest.raises(ValueError, match=r"problem\.equation\.flux"):
        Solution.load(tmp_path / "run.npz", with_functions(equation=law(2.0), initial=sine(PI2)))


@pytest.mark.parametrize("estimator", [None, PaperEstimator()])
def test_every_field_of_an_estimate_comes_back(tmp_path, estimator):
    result = certify(viscous_burgers(1, 1e-2, 0.05), cells=8, degree=1, estimator=estimator)
    assert result.save(tmp_path / "estimate.npz") == tmp_path / "estimate.npz"
    loaded = Estimate.load(tmp_path / "estimate.npz")
    assert type(loaded) is Estimate
    for entry in fields(Estimate):
        assert same(getattr(loaded, entry.name), getattr(result, entry.name)), entry.name
    assert str(loaded) == str(result)
    assert (loaded.guaranteed, loaded.effectivity) == (result.guaranteed, result.effectivity)
    assert loaded.to_dict() == result.estimate.to_dict()


def test_infinities_and_nothing_come_back(tmp_path):
    result = certify(linear_advection_diffusion(1, 0.0, 0.05), cells=4, degree=1).estimate
    odd = replace(
        result,
        bound=math.inf,
        bound_energy=None,
        enclosure=(0.0, math.inf),
        error=None,
        error_final=math.nan,
        history={"bound": np.array([1.0, 2.0, math.inf]), "temporal": np.array([0.5, math.inf, math.nan])},
        facts={"cells": (4,), "name": "ü", "step": np.float64(0.5), "list": [1, (2,)]},
        assumptions=(),
    )
    odd.save(tmp_path / "estimate.npz")
    loaded = Estimate.load(tmp_path / "estimate.npz")
    for entry in fields(Estimate):
        assert same(getattr(loaded, entry.name), getattr(odd, entry.name)), entry.name
    assert type(loaded.facts["list"][1]) is tuple


def test_files_of_the_other_kind_are_refused(tmp_path):
    result = certify(linear_advection_diffusion(1, 0.0, 0.05), cells=4, degree=1)
    result.save(tmp_path / "estimate.npz")
    result.solution.save(tmp_path / "solution.npz")
    with pytest.raises(ValueError, match="expected a saved solution, got a saved estimate"):
        Solution.load(tmp_path / "estimate.npz")
    with pytest.raises(ValueError, match="expected a saved estimate, got a saved solution"):
        Estimate.load(tmp_path / "solution.npz")
    with pytest.raises(ValueError, match=r"ends in \.npz"):
        result.save(tmp_path / "estimate.json")


def test_an_estimate_of_a_later_format_is_refused(tmp_path):
    stfem.io.container.write(tmp_path / "estimate.npz", "estimate", {"bound": 1.0})
    with pytest.raises(ValueError, match=r"estimate\.npz: expected the entries assumptions, bound, bound_e"):
        Estimate.load(tmp_path / "estimate.npz")


def test_files_with_other_content_are_refused(tmp_path):
    """Whole by their checksums, but not what `save` writes."""
    path = tmp_path / "run.npz"
    solve(linear_advection_diffusion(1, 1e-3, 0.1), cells=4, degree=1, history=True).save(path)
    saved = stfem.io.container.read(path, "solution")
    wrong = {
        "the entries cells, degree": {"cells": (4,)},
        "coefficients of shape": {**saved, "values": saved["values"][:, :1]},
        "of shape": {**saved, "stored": [{**saved["stored"][0], "rate": np.zeros(3)}]},
        "a description of the flux": {**saved, "flux": {"is": "flux", "name": "flux_of_mine"}},
        "a description of the stepper": {**saved, "stepper": {"is": "explicit stepper"}},
        "a description of the problem": {**saved, "problem": {**saved["problem"], "final_time": -1.0}},
        "a damaged one": [1.0],
    }
    for sentence, content in wrong.items():
        stfem.io.container.write(path, "solution", content)
        with pytest.raises(ValueError, match=rf"run\.npz: expected .*{sentence}"):
            Solution.load(path)


def rewritten(path, change):
    """The saved content with a change made to it; the file is whole."""
    content = container.read(path, "solution")
    change(content)
    container.write(path, "solution", content)
    return path


def scaled(factor, *keys):
    """Multiply the array at these keys."""

    def change(content):
        *outer, last = keys
        for key in outer:
            content = content[key]
        content[last] = content[last] * factor

    return change


@pytest.mark.parametrize("keys", [("initial",), ("values",), ("stored", 1, "values"), ("stored", 1, "rate")])
def test_coefficients_that_are_not_finite_are_refused(tmp_path, keys):
    problem = linear_advection_diffusion(1, 1e-3, 0.1)
    path = solve(problem, cells=8, degree=1, history=True).save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=r"run\.npz: expected finite coefficients, got others"):
        Solution.load(rewritten(path, scaled(np.nan, *keys)))


@pytest.mark.parametrize("keys", [("initial",), ("values",), ("stored", 0, "time"), ("stored", -1, "time")])
def test_a_history_that_does_not_belong_to_its_ends_is_refused(tmp_path, keys):
    problem = linear_advection_diffusion(1, 1e-3, 0.1)
    path = solve(problem, cells=8, degree=1, history=True).save(tmp_path / "run.npz")
    change = scaled(2.0, *keys)
    if keys[-1] == "time":

        def change(content):
            content["stored"][keys[1]]["time"] += 0.5

    with pytest.raises(ValueError, match=r"run\.npz: expected a history from the initial values at 0"):
        Solution.load(rewritten(path, change))


@pytest.mark.parametrize("factor", [2.0, 1.0 + 1e-7, 0.0])
@pytest.mark.parametrize("name", ["initial", "values"])
@pytest.mark.parametrize(
    "problem",
    [linear_advection_diffusion(1, 1e-3, 0.1), viscous_burgers(1, 1e-2, 0.05)],
    ids=("linear", "Burgers"),
)
def test_an_estimate_is_about_the_values_that_are_there(tmp_path, problem, name, factor):
    """The repeated run has to end at the values of the file, or its bound is one for something else."""
    path = solve(problem, cells=8, degree=1).save(tmp_path / "run.npz")
    altered = Solution.load(rewritten(path, scaled(factor, name)))
    with pytest.raises(ValueError, match=r"values: expected those at which the time stepping .* ends"):
        estimate(altered)


def test_round_off_of_another_machine_is_no_alteration(tmp_path):
    path = solve(viscous_burgers(1, 1e-2, 0.05), cells=8, degree=1).save(tmp_path / "run.npz")
    whole = estimate(Solution.load(path))
    assert estimate(Solution.load(rewritten(path, scaled(1.0 + 1e-13, "values")))).bound == whole.bound


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bound", math.nan),
        ("bound_final", math.nan),
        ("bound_energy", math.nan),
        ("bound_l1", math.nan),
        ("enclosure", (0.0, math.nan)),
        ("parts", {"initial": math.nan}),
        ("indicators_sq", np.array([0.0, math.nan])),
    ],
)
def test_an_estimate_that_is_no_number_is_refused(tmp_path, name, value):
    result = certify(Problem(equations.AdvectionDiffusion(1.0), Torus(1.0), hump, 0.1), cells=8, degree=1)
    path = replace(result.estimate, **{name: value}).save(tmp_path / "estimate.npz")
    with pytest.raises(ValueError, match=rf"estimate\.npz: expected numbers as {name}, got NaN"):
        Estimate.load(path)
    assert replace(result.estimate, bound=math.inf).save(path)
    assert Estimate.load(path).bound == math.inf
