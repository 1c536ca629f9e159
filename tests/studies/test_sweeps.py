"""The two verbs: what they accept, cases that fail, and the bar."""

import math

import pytest

import stfem
from stfem.estimators import AllDualEstimator, AllL2Estimator
from stfem.fluxes import flux_rusanov, flux_upwind
from stfem.problems import linear_advection_diffusion, viscous_burgers
from stfem.studies import StudyError, convergence, sweep
from stfem.timestepping import RK4, SSPRK33, ExplicitRungeKutta

PROBLEM = linear_advection_diffusion(1, 1e-3, 0.05)
LINEAR = {"dim": 1, "final_time": 0.05}


def test_public_names():
    assert {"convergence", "sweep", "Study", "StudyError"} == {*stfem.studies.__all__}
    assert "studies" in stfem.__all__


@pytest.mark.parametrize(
    "varied",
    [
        {"eps": [1e-2, 0.0]},
        {"final_time": [0.02, 0.05]},
        {"dim": [1, 2]},
        {"degree": [0, 1]},
        {"dt": [None, 1e-3]},
        {"cfl": [0.1, 0.2]},
        {"stepper": [ExplicitRungeKutta(RK4), ExplicitRungeKutta(SSPRK33)]},
        {"flux": {"upwind": flux_upwind, "Rusanov": flux_rusanov}},
        {"reconstruction": [stfem.Siac(order=3), stfem.Siac(order=4)]},
        {"estimator": [None, AllDualEstimator()]},
        {"initial_correction": [True, False]},
    ],
)
def test_every_parameter_may_vary(varied):
    """The rows differ, and every one is what `certify` says."""
    ((name, values),) = varied.items()
    study = sweep(linear_advection_diffusion, **{**LINEAR, "cells": 4, "degree": 1, "eps": 1e-2, **varied})
    assert study.varied == (name,) == (study.axis,)
    assert len(study.rows) == 2
    given = {"cells": 4, "degree": 1}
    for row, value in zip(study.rows, values.values() if isinstance(values, dict) else values, strict=True):
        of_problem = {**LINEAR, "eps": 1e-2}
        target = of_problem if name in of_problem else given
        if name == "reconstruction":
            target["estimator"] = stfem.SplitEstimator(reconstruction=value)
        else:
            target[name] = value
        assert row["bound"] == stfem.certify(linear_advection_diffusion(**of_problem), **given).bound
    if name != "flux":  # all upwind fluxes of a linear equation are the same
        assert study.rows[0]["bound"] != study.rows[1]["bound"]


def test_reconstruction_goes_into_the_given_estimator():
    rule = stfem.Siac(order=3)
    study = convergence(PROBLEM, cells=[4], degree=1, estimator=AllL2Estimator(), reconstruction=rule)
    expected = stfem.certify(PROBLEM, cells=4, degree=1, estimator=AllL2Estimator(reconstruction=rule))
    assert study.rows[0]["bound"] == expected.bound


def test_axis():
    given = {**LINEAR, "eps": [1e-2, 1e-3], "cells": [4, 8], "degree": 1}
    assert sweep(linear_advection_diffusion, **given).axis == "eps"
    assert sweep(linear_advection_diffusion, axis="cells", **given).axis == "cells"
    assert convergence(linear_advection_diffusion, **given).axis == "cells"
    rules = [stfem.Siac(order=3), stfem.Siac(order=4)]
    assert convergence(PROBLEM, reconstruction=rules, cells=[4], degree=1).axis == "cells"
    assert sweep(PROBLEM, reconstruction=rules, cells=[4], degree=1).axis == "cells"
    assert sweep(PROBLEM, reconstruction=rules, cells=4, degree=1).axis == "reconstruction"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"cells": 4}, ValueError, "expected at least one parameter with a list of alternatives, got none"),
        ({"axis": "degree"}, ValueError, "degree: expected a list, as for cells, got one value"),
        ({"workers": 0}, ValueError, "workers: expected at least 1, got 0"),
        ({"workers": 1.5}, TypeError, "workers: expected a number of processes, got 1.5"),
        ({"workers": True}, TypeError, "workers: expected a number of processes, got True"),
        ({"executor": 3}, TypeError, "executor: expected an object with submit, got int"),
    ],
)
def test_wrong_calls(given, error, message):
    with pytest.raises(error, match=message):
        sweep(PROBLEM, **{"cells": [4, 8], "degree": 1, **given})


def test_convergence_needs_several_grids():
    with pytest.raises(ValueError, match="cells: expected a list, as for degree, got one value"):
        convergence(PROBLEM, cells=8, degree=[1, 2])


def test_wrong_arguments_of_the_factory_are_told_before_anything_runs():
    with pytest.raises(ValueError, match=r"viscous_burgers\(dim=1, eps=-1.0\): eps: expected"):
        sweep(viscous_burgers, dim=1, eps=[1.0, -1.0], cells=4, degree=1)


def test_failed_cases_are_told_in_the_end():
    with pytest.raises(StudyError) as caught:
        convergence(PROBLEM, cells=[4, 8], degree=[1, 99])
    study = caught.value.study
    assert [(row["degree"], row["cells"]) for row in study.rows] == [(1, 4), (1, 8)]
    assert study.rows[1]["eoc_bound"] is not None
    message = str(caught.value)
    assert message.startswith(
        "2 of 4 cases failed; the study of the others is in .study\n  ValueError: degree"
    )
    assert "cells=4, degree=99; cells=8, degree=99" in message


def test_failed_cases_beside_the_rows():
    class Picky(stfem.SplitEstimator):
        def run(self, semidiscretization, *given):
            if semidiscretization.grid.cells == (8,):
                raise FloatingPointError("something went wrong")
            return super().run(semidiscretization, *given)

    study = convergence(PROBLEM, cells=[4, 8, 16], degree=1, estimator=Picky(), raise_failures=False)
    assert [row["cells"] for row in study.rows] == [4, 16]
    ratio = study.rows[0]["bound"] / study.rows[1]["bound"]
    assert study.rows[1]["eoc_bound"] == pytest.approx(math.log(ratio, 4))  # over the gap
    (failure,) = study.failures
    assert failure["parameters"] == {"cells": 8, "degree": 1, "estimator": "Picky"}
    assert failure["error"] == "FloatingPointError: something went wrong"
    assert "in run" in failure["traceback"]
    assert f"failed: cells=8, degree=1, estimator=Picky: {failure['error']}" in str(study)
    assert "1 failed" in repr(study)


def test_failed_cases_are_not_kept(tmp_path):
    given = {"cells": [4], "degree": [1, 99], "store": tmp_path, "raise_failures": False}
    assert convergence(PROBLEM, **given).reused == 0
    again = convergence(PROBLEM, **given)
    assert (again.reused, len(again.failures)) == (1, 1)


def test_nothing_succeeds():
    study = convergence(PROBLEM, cells=[4], degree=99, raise_failures=False)
    assert study.rows == ()
    assert "0 of 0 bounds" in str(study)
    assert study.to_latex().startswith(r"\begin{tabular}")


def test_interrupt_keeps_what_is_finished(tmp_path):
    stop = tmp_path / "stop"

    class Impatient(stfem.SplitEstimator):
        def run(self, semidiscretization, *given):
            if stop.exists() and semidiscretization.grid.cells == (8,):
                raise KeyboardInterrupt
            return super().run(semidiscretization, *given)

    given = {"cells": [4, 8, 16], "degree": 1, "estimator": Impatient(), "store": tmp_path / "cases"}
    stop.touch()
    with pytest.raises(KeyboardInterrupt):
        convergence(PROBLEM, **given)
    stop.unlink()
    assert convergence(PROBLEM, **given).reused == 1


def test_progress(capsys, tmp_path):
    convergence(PROBLEM, cells=[4, 8], degree=1, store=tmp_path)
    assert capsys.readouterr() == ("", "")
    convergence(PROBLEM, cells=[4, 8, 16], degree=1, store=tmp_path, progress=True)
    assert "| 2/3 [" in capsys.readouterr().err  # the two that are there count as done


def test_numbers_without_exact_solution():
    def without(eps):
        exact = linear_advection_diffusion(1, eps, 0.05)
        return stfem.Problem(exact.equation, exact.domain, initial=exact.initial[0], final_time=0.05)

    study = sweep(without, eps=[1e-2, 0.0], cells=8, degree=1)
    assert [(row["error"], row["effectivity"], row["eoc_error"]) for row in study.rows] == [(None,) * 3] * 2
    assert all(row["bound"] > 0.0 for row in study.rows)
    assert "error" not in study.to_text().split()
