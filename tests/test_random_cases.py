"""Some cases of benchmarks/random_cases.py, and what its check would notice."""

import importlib
import json
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import stfem
from stfem.residual import SlabNorms

SEEDS = range(65, 90)  # a stretch of the 2,000 that takes little time

NONLINEAR_SEEDS = range(16, 24)


@pytest.fixture(scope="module")
def cases() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
        module = importlib.import_module("random_cases")
        yield module
        for name in ("random_cases", "random_nonlinear", "random_problems", "records", "truth"):
            sys.modules.pop(name)


@cache
def row(cases, seed):
    return cases.run(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_bound_lies_below_the_truth(cases, seed):
    assert row(cases, seed)["violated"] == []


@pytest.mark.parametrize("seed", NONLINEAR_SEEDS)
def test_no_bound_of_a_nonlinear_problem_lies_below_the_truth(cases, seed):
    found = cases.run(seed, cases.nonlinear_case)
    assert found["violated"] == []
    assert found["kind"] == list(cases.NONLINEAR)[seed % 4]
    assert ("bound_l1" in found) is (seed % 4 < 2)


@pytest.mark.parametrize("seed", NONLINEAR_SEEDS[2:4])
def test_another_solution_of_a_system_is_noticed(cases, seed):
    case = cases.nonlinear_case(seed)
    first, *others = case.exact
    wrong = replace(case, exact=(replace(first, amplitudes=1.1 * first.amplitudes), *others))
    assert {"bound", "bound_final", "bound_energy"} <= set(cases.checked(wrong)["violated"])


def test_cases_are_what_they_should_be(cases):
    rows = [row(cases, seed) for seed in SEEDS]
    share = cases.shares(rows)
    assert all(share[name] >= least for name, least in cases.LEAST_SHARES.items())
    assert cases.shares([{"kind": "raised"}]) == dict.fromkeys(share, 0.0)
    assert {r["kind"] for r in rows} == set(cases.KINDS)


def test_a_case_depends_on_its_seed_alone(cases):
    first, again, other = (cases.random_case(seed) for seed in (4, 4, 5))
    assert np.array_equal(first.exact.amplitudes, again.exact.amplitudes)
    assert first.problem.final_time == again.problem.final_time != other.problem.final_time


def sharp(cases):
    """A cheap case whose bound is close to the error, so that little is needed to break it."""
    return cases.random_case(min(SEEDS, key=lambda seed: row(cases, seed)["bound"]))


def test_a_residual_taken_too_small_is_noticed(cases, monkeypatch):
    cheap = [seed for seed in SEEDS if row(cases, seed)["bound"] < 1.2 and row(cases, seed)["steps"] < 20]
    complete = SlabNorms.piecewise  # patched after the rows above, which other tests take from the cache

    def halved(norms, members):
        alpha, flux = complete(norms, members)
        return 0.5 * alpha, flux

    monkeypatch.setattr(SlabNorms, "piecewise", halved)
    assert sum(bool(cases.run(seed)["violated"]) for seed in cheap) >= 3


def test_another_solution_is_noticed(cases):
    case = sharp(cases)
    assert cases.checked(case)["violated"] == []
    wrong = replace(case, exact=replace(case.exact, amplitudes=1.5 * case.exact.amplitudes))
    assert set(cases.NORMS) <= set(cases.checked(wrong)["violated"])


def test_violations(cases):
    pairs = {"good": (1.0, 1.0), "tiny": (1.0, 1.0 + 5e-10), "bad": (1.0, 1.0 + 2e-9), "none": (np.nan, 1.0)}
    assert cases.violations(pairs, 1.0) == ["bad", "none"]
    assert cases.violations({"round-off": (0.0, 5e-15), "bad": (0.0, 2e-14)}, 1.0) == ["bad"]


def test_quadrature_knows_functions_in_closed_form(cases):
    """Modes of x² y on two cells by three, its integral and slopes; |sin| has kinks."""
    quadrature = cases.Quadrature((2.0, 3.0), (2, 3), 2)
    x, y = np.meshgrid(*quadrature.axes, indexing="ij")
    modes = np.zeros((1, 3, 3, 2, 3))
    for m, n in np.ndindex(2, 3):
        square = [m * m + m + 1.0 / 3.0, (m + 0.5) / 3.0**0.5, 1.0 / (6.0 * 5.0**0.5)]
        modes[0, :, :2, m, n] = np.outer(square, [n + 0.5, 0.5 / 3.0**0.5])
    assert np.allclose(quadrature.values(modes)[0], x**2 * y, rtol=1e-13)
    assert np.allclose(quadrature.values(modes, 0)[0], 2.0 * x * y, rtol=1e-12)
    assert np.allclose(quadrature.values(modes, 1)[0], x**2, rtol=1e-12)
    assert quadrature.integral(quadrature.values(modes))[0] == pytest.approx(12.0, rel=1e-13)
    line = cases.Quadrature((1.0,), (3,), 0)
    assert line.integral(np.abs(np.sin(2.0 * np.pi * line.axes[0]))) == pytest.approx(2.0 / np.pi, rel=1e-3)


def test_waves_agree_with_the_data_of_the_library(cases):
    seed = next(s for s in SEEDS if (c := cases.random_case(s)).problem.domain.dim == 2 and c.kind != "decay")
    waves = cases.random_case(seed).exact
    axes, times = (np.linspace(0.0, 1.0, 4), np.linspace(0.0, 2.0, 5)), np.array([0.0, 0.3])
    points = np.stack(np.meshgrid(*axes, indexing="ij"))
    for i, t in enumerate(times):
        assert np.allclose(waves(axes, times)[i], waves.data()(points, t), rtol=1e-12, atol=1e-12)
        slope = waves.data().derivative(1)(points, t)
        assert np.allclose(waves(axes, times, 1)[i], slope, rtol=1e-12, atol=1e-12)


def test_only_the_complete_run_is_recorded(cases, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cases.records, "RESULTS", tmp_path)
    complete = range(SEEDS[0], SEEDS[0] + 2)
    monkeypatch.setattr(cases, "CAMPAIGN", replace(cases.CAMPAIGN, complete=complete))
    monkeypatch.setattr(cases, "outcomes", lambda seeds, workers, case: (row(cases, seed) for seed in seeds))
    for arguments in (["--cases", "1"], ["--seed0", str(SEEDS[1])], ["--cases", "3"], ["--dry"]):
        cases.main(arguments)
        assert "nothing written" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    cases.main([])
    assert "nothing written" not in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["random_cases.json", "random_cases.md"]
    record = json.loads((tmp_path / "random_cases.json").read_text(encoding="utf-8"))
    assert [entry["seed"] for entry in record["rows"]] == [SEEDS[0], SEEDS[0] + 1]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\+g[0-9a-f]+(\.dirty)?)?", record["versions"]["stfem"])


def test_a_version_that_is_not_known_is_no_record(cases, monkeypatch, tmp_path):
    monkeypatch.setattr(stfem, "__version__", "0+unknown")
    assert "unknown" not in cases.records.version()  # the version of this source tree
    monkeypatch.setattr(stfem, "__file__", str(tmp_path / "stfem" / "__init__.py"))
    with pytest.raises(RuntimeError, match="expected an installation or the package in"):
        cases.records.version()
    monkeypatch.setattr(stfem, "__version__", "3.2.1")
    assert cases.records.version() == "3.2.1"


def test_a_case_that_raises_counts_as_failed(cases):
    raised = {"seed": -1, "kind": "raised", "violated": ["ValueError()"]}
    *_, total = cases.summary([raised, row(cases, SEEDS[0])])
    assert (total["cases"], total["failed"]) == (2, 1)
