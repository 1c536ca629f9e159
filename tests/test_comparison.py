"""benchmarks/comparison.py: the methods do what is known of them, the tables say what was stored."""

import importlib
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial.legendre import Legendre, leggauss

import stfem
from stfem.estimators import AllDualEstimator
from stfem.problems import linear_advection_diffusion

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def script():
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module
    for name in set(sys.modules) - known:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", None)):
            sys.modules.pop(name)


@pytest.fixture(scope="module")
def compared(script):
    return script("comparison_methods")


def solved(problem, degree, cells):
    return stfem.solve(problem, cells=cells, degree=degree)


def rates(values):
    return np.log2(np.divide(values[:-1], values[1:]))


def upwind_ratio(degree):
    """‖R − 2^{−q−1} R_fine‖ / ‖R‖ on a cell; upwind errors tend to R = P_{q+1} − P_q."""
    remainder = Legendre.basis(degree + 1) - Legendre.basis(degree)
    x, weights = leggauss(degree + 2)
    fine = 0.5 ** (degree + 1) * remainder(x)
    halves = [weights @ (remainder(0.5 * (x + side)) - fine) ** 2 for side in (-1.0, 1.0)]
    return math.sqrt(0.5 * sum(halves) / (weights @ remainder(x) ** 2))


@pytest.mark.parametrize("degree", [1, 2])
def test_mesh_doubling_of_upwind_transport(degree, compared):
    way = compared.methods(degree)["mesh doubling"]
    runs = [compared.Run(linear_advection_diffusion(1, 0.0), cells, degree) for cells in (16, 32, 64)]
    readings = [way.readings(run)[0] for run in runs]
    assert rates([reading.value for reading in readings]) == pytest.approx(degree + 1, abs=0.1)
    assert readings[-1].value / readings[-1].error == pytest.approx(upwind_ratio(degree), rel=2e-3)


def test_step_doubling_falls_with_the_order_of_the_time_stepping_and_sees_nothing_else(compared):
    way = compared.methods(1)["step doubling, Richardson"]
    runs = [compared.Run(linear_advection_diffusion(1, 0.0), cells, 1) for cells in (16, 32, 64)]
    order = runs[0].solution.stepper.order
    assert order != 2  # other than that of the space
    readings = [way.readings(run)[0] for run in runs]
    assert rates([reading.value for reading in readings]) == pytest.approx(order, abs=0.25)
    assert readings[-1].value < 0.05 * readings[-1].error


def test_richardson_is_a_factor(compared):
    run = compared.Run(linear_advection_diffusion(1, 0.0), 8, 2)
    ways = compared.methods(2)
    plain, larger = (ways[name].readings(run)[0] for name in ("mesh doubling", "mesh doubling, Richardson"))
    assert larger.value == pytest.approx(plain.value * 8.0 / 7.0, rel=1e-12)
    assert larger.error == plain.error


def test_dual_norm_alone_loses_the_root_of_the_diffusion_and_the_split_nothing(compared):
    ways = compared.methods(1)

    def sharpness(method, eps):
        reading = ways[method].readings(compared.Run(linear_advection_diffusion(1, eps), 8, 1))[0]
        return reading.value / reading.error

    for method, slope in (("all in the dual norm", -0.5), ("split", 0.0)):
        high, low = (sharpness(method, eps) for eps in (1e-4, 1e-8))
        assert math.log10(high / low) / 4.0 == pytest.approx(slope, abs=0.02)


def test_members_alone_are_no_sharper_than_the_split(compared):
    run = compared.Run(linear_advection_diffusion(1, 1e-2), 8, 2)
    values = {
        name: way.readings(run)[0].value
        for name, way in compared.methods(2).items()
        if name.startswith("split") or "λ = 1" in name
    }
    assert len(values) == 6
    assert values["split"] <= min(values.values()) * (1.0 + 1e-12)
    assert values["split"] < 0.99 * values["split, λ = 0 alone"]


def test_difference_of_solutions_is_that_of_their_values(compared):
    problem = linear_advection_diffusion(2, 1e-2, final_time=0.01)
    coarse, fine = solved(problem, 1, 3), solved(problem, 1, 6)
    x = np.stack(np.meshgrid(*2 * [(np.arange(360) + 0.5) / 360.0], indexing="ij"))
    square = np.mean((coarse(x) - fine(x)) ** 2)
    assert compared.difference(coarse, fine) == pytest.approx(math.sqrt(square), rel=1e-4)
    assert compared.difference(fine, fine) == 0.0


def test_cost_is_the_median_of_ratios(compared, monkeypatch):
    given = iter([6.0, 2.0, 5.0, 1.0, 9.0, 9.0])
    clock = iter([0.0, 1.0, 2.0, 3.0])
    monkeypatch.setattr(compared.timing, "timed", lambda work: next(given))
    monkeypatch.setattr(compared.time, "perf_counter", lambda: next(clock))
    assert compared.ratio(lambda: None, lambda: None, 2.5) == 3.0


def test_methods_leave_out_what_they_are_not_made_for(compared, script):
    cases = script("comparison").CASES
    ways = compared.methods(2)
    assert not ways["all in the dual norm"].applies(cases["p-system-2d"].factory(1e-2).equation)
    assert not ways["arXiv 2604.01200"].applies(cases["shear-2d"].factory(1e-2).equation)
    assert all(way.applies(cases["burgers-1d"].factory(1e-2).equation) for way in ways.values())


def test_waves_are_a_solution(script):
    module = script("comparison")
    problem, k = module.waves(1e-4), 2.0 * math.pi * module.WAVES
    x = np.linspace(0.0, 1.0, 37)[None]
    for t in (0.0, 0.3):
        expected = np.sin(k * (x[0] - t)) * math.exp(-1e-4 * k**2 * t)
        assert np.asarray(problem.exact(x, t)).reshape(-1) == pytest.approx(expected, abs=1e-12)


def test_script(script, tmp_path, monkeypatch, capsys):
    module = script("comparison")
    monkeypatch.setattr(script("records"), "RESULTS", tmp_path)
    monkeypatch.setattr(module, "PICTURE", tmp_path / "comparison.png")
    monkeypatch.setattr(module, "SECONDS", 0.0)
    cases = {
        "smooth": module.Case("linear", module.linear(1), 4, (1e-2, 0.0), 1),
        "waves": module.Case("hard", module.waves, 4, (0.0,), 1),
    }
    monkeypatch.setattr(module, "CASES", cases)
    monkeypatch.setattr(sys, "argv", ["comparison", "--quick", "--only", "waves"])
    monkeypatch.setattr(module.Case, "quick", lambda self: self)
    module.main()
    assert "guaranteed and below the error: 0" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(sys, "argv", ["comparison"])
    module.main()
    parts = json.loads((tmp_path / "comparison.json").read_text())["parts"]
    assert list(parts) == ["smooth", "waves"]
    assert {row["eps"] for row in parts["smooth"]["rows"]} == {1e-2, 0.0}
    assert (tmp_path / "comparison.png").stat().st_size > 10_000
    # the number of waves that no grid of 4 or 8 cells can hold: doubling is blind, bounds are not
    blind = {row["method"]: row for row in parts["waves"]["rows"] if row["estimates"] == "u_h at T"}
    assert blind["mesh doubling"]["sharpness"] < 0.1
    assert blind["split"]["sharpness"] >= 1.0
    table = (tmp_path / "comparison.md").read_text()
    assert "| ε = 0.01 " in table
    assert "below the error: 0" in table


def test_a_guaranteed_bound_below_the_error_is_a_failure(script, compared, monkeypatch, capsys):
    module = script("comparison")

    class Wrong:
        def applies(self, equation):
            return True

        def readings(self, run):
            return [compared.Reading("u_h at T", 0.5, 1.0, True)]

        def cost(self, run, seconds):
            return 1.0

    monkeypatch.setattr(module, "methods", lambda degree: {"wrong": Wrong()})
    monkeypatch.setattr(sys, "argv", ["comparison", "--quick", "--only", "linear-1d"])
    with pytest.raises(SystemExit, match="below the error"):
        module.main()
    assert "BELOW" in capsys.readouterr().out


def test_infinite_values_are_said_and_left_out_of_the_cost(script):
    module = script("comparison")
    row = {"kind": "k", "eps": 0.0, "method": "m", "estimates": "e", "guaranteed": True, "error": 1.0}
    rows = [
        row | {"value": "inf", "sharpness": "inf", "cost": 7.0},
        row | {"value": 2.0, "sharpness": 2.0, "cost": 3.0},
    ]
    (line,) = module.table(rows, "kind").splitlines()[2:]
    assert [entry.strip() for entry in line.split("|")[5:8]] == ["2.00 … ∞", "0 of 2", "3.00"]


def test_dual_norm_without_diffusion_is_infinite():
    solution = solved(linear_advection_diffusion(1, 0.0), 1, 4)
    assert stfem.estimate(solution, AllDualEstimator()).bound == math.inf
