"""benchmarks/step_control.py: what its short form runs, and what counts as a missed target."""

import importlib
import sys
from pathlib import Path

import pytest


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = importlib.import_module("step_control")
    monkeypatch.setattr(module.records, "RESULTS", tmp_path)
    yield module
    for name in ("step_control", "records"):
        sys.modules.pop(name)


def test_quick_form_compares_at_equal_bound_and_writes_nothing(benchmark, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["step_control.py", "--quick", "--only", "explicit"])
    benchmark.main()
    assert "2 runs, 0 miss a target" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    rows = list(benchmark.SERIES["explicit"].quick().rows())
    controlled, equal = rows
    assert equal["bound"] <= benchmark.SAME_BOUND * controlled["bound"]
    assert controlled["temporal part"] <= controlled["tol"]
    assert equal["longest / shortest"] == pytest.approx(1.0)
    assert controlled["evaluations"] > 6 * controlled["steps"]


def test_bounds_below_the_error_are_named(benchmark):
    row = {"series": "pulse", "tol": 1e-3, "steps are": "equal", "bound": 2.0, "error": 1.0}
    assert benchmark.failures([row]) == []
    assert benchmark.failures([row | {"bound": 0.5}]) == [
        "pulse, tol 0.001, equal: bound 0.5 below the error 1"
    ]
