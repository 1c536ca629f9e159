"""Keywords told apart by signature, alternatives, and all their combinations."""

from functools import partial

import numpy as np
import pytest

import stfem
from stfem.problems import linear_advection_diffusion, viscous_burgers
from stfem.studies.cases import OPTIONS, cases_of, read_parameters

PROBLEM = linear_advection_diffusion(1, 1e-3, 0.1)
GRID = {"cells": 4, "degree": 1}


def cases(source, **given):
    return cases_of(source, read_parameters(source, given))


def varied(source, **given):
    (one,) = [parameter for parameter in read_parameters(source, given) if parameter.varied]
    return one


def test_all_combinations_with_the_cells_fastest():
    found = [case.labels for case in cases(viscous_burgers, cells=[4, 8], eps=[1.0, 0.0], degree=1, dim=1)]
    assert found == [
        {"cells": cells, "eps": eps, "degree": 1, "dim": 1} for eps in (1.0, 0.0) for cells in (4, 8)
    ]
    assert list(found[0]) == ["cells", "eps", "degree", "dim"]  # as in the call


def test_problem_and_options_get_what_is_theirs():
    case = cases(viscous_burgers, eps=0.5, dim=2, final_time=0.2, cells=[(4, 8)], degree=2, cfl=0.3)[0]
    assert case.problem.equation.diffusion[0, 0] == 0.5
    assert (case.problem.domain.dim, case.problem.final_time) == (2, 0.2)
    assert case.options == {"cells": (4, 8), "degree": 2, "cfl": 0.3}


def test_every_option_of_certify_is_known():
    named = {"cells", "degree", "dt", "cfl", "stepper", "flux", "penalty", "initial_correction", "estimator"}
    assert named < {*OPTIONS}
    assert not {"problem", "progress"} & {*OPTIONS}


def test_every_problem_is_built_once():
    calls = []

    def factory(eps):
        calls.append(eps)
        return linear_advection_diffusion(1, eps)

    found = cases(factory, eps=[0.1, 0.2], cells=[4, 8, 16], degree=[1, 2])
    assert (len(found), calls) == (12, [0.1, 0.2])


@pytest.mark.parametrize(
    "given",
    [[0.5, 0.25], range(1, 3), np.array([0.5, 0.25]), {"large": 0.5, "small": 0.25}, iter([0.5, 0.25])],
)
def test_what_holds_alternatives(given):
    eps = varied(viscous_burgers, eps=given, **GRID)
    assert eps.name == "eps"
    assert all(type(value) in (int, float) for value in eps.values)
    assert eps.labels == (("large", "small") if isinstance(given, dict) else eps.values)
    assert len(eps.values) == 2


def test_a_tuple_is_one_grid_and_alternatives_of_what_is_no_tuple():
    read = {p.name: p for p in read_parameters(PROBLEM, {"cells": (8, 4), "degree": (1, 2)})}
    assert read["cells"].values == ((8, 4),)
    assert not read["cells"].varied
    assert read["degree"].values == (1, 2)
    assert read["degree"].varied


def test_final_time_of_a_problem():
    found = cases(PROBLEM, final_time=[0.05, 0.2], **GRID)
    assert [case.problem.final_time for case in found] == [0.05, 0.2]
    x = np.linspace(0.0, 1.0, 5)[None]
    assert np.array_equal(found[1].problem.exact(x, 0.1), PROBLEM.exact(x, 0.1))
    assert cases(PROBLEM, **GRID)[0].problem is PROBLEM


def test_factories_of_several_kinds():
    bound = cases(partial(viscous_burgers, dim=1), eps=[0.1], **GRID)
    assert bound[0].problem.domain.dim == 1
    anything = cases(lambda **given: linear_advection_diffusion(**given), dim=1, eps=[0.1], **GRID)
    assert anything[0].problem.equation.diffusion[0, 0] == 0.1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"epsilon": [1.0]}, TypeError, r"expected a parameter of viscous_burgers \(dim, eps, final_time"),
        ({"epsilon": [1.0]}, TypeError, "is it eps?"),
        ({"history": True}, TypeError, "history: expected a parameter"),
        ({"cells": None}, TypeError, "expected cells=, got none"),
        ({"eps": []}, ValueError, "eps: expected at least one alternative"),
        ({"eps": [0.1, 0.2, 0.1]}, ValueError, "eps: expected alternatives that differ, got 0.1 twice"),
        ({"eps": [1, 1.0]}, ValueError, "got 1.0 twice"),
        ({"eps": [-1.0]}, ValueError, r"viscous_burgers\(eps=-1.0\): eps: expected a diffusion"),
        ({"eps": (0.1, 0.2)}, TypeError, r"a tuple is one value; alternatives are a list: eps=\[…\]"),
    ],
)
def test_wrong_keywords(given, error, message):
    complete = {name: value for name, value in {**GRID, **given}.items() if value is not None}
    with pytest.raises(error, match=message):
        cases(viscous_burgers, **complete)


def test_names_that_would_be_taken_twice():
    with pytest.raises(TypeError, match="degree: expected a name of its own"):
        cases(lambda degree: PROBLEM, **GRID)
    with pytest.raises(TypeError, match="growth: expected the name of no result"):
        cases(lambda growth: PROBLEM, growth=[1.0], **GRID)


def test_wrong_sources():
    with pytest.raises(TypeError, match="expected a Problem or a function that returns one, got str"):
        cases("burgers", **GRID)
    with pytest.raises(TypeError, match=r"expected a Problem, got int"):
        cases(lambda: 3, **GRID)
    with pytest.raises(TypeError, match="expected width=, got none"):
        cases(lambda width: PROBLEM, **GRID)


def test_alternatives_with_one_name_are_told_apart():
    rules = [stfem.Siac(4), stfem.Siac(6), lambda: None, lambda: None]
    read = varied(PROBLEM, flux=rules, **GRID)
    assert read.labels == ("Siac(order=4)", "Siac(order=6)", "<lambda>", "<lambda> (2)")
    with pytest.raises(ValueError, match=r"expected alternatives that differ, got Siac\(order=4\) twice"):
        varied(PROBLEM, flux=[stfem.Siac(4), stfem.Siac(4)], **GRID)
