"""benchmarks/tolerance.py: what it stores, and what counts as a missed target."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

GOOD = {"tol": 1e-4, "error": 4e-5, "bound": 5e-5, "cost": 2.0}


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = importlib.import_module("tolerance")
    monkeypatch.setattr(module.records, "RESULTS", tmp_path)
    yield module
    for name in ("tolerance", "records"):
        sys.modules.pop(name)


def test_quick_form_and_record(benchmark, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tolerance.py", "--quick", "--only", "linear1"])
    benchmark.main()
    assert list(tmp_path.iterdir()) == []
    assert "of 2 rows miss a target" in capsys.readouterr().out
    few = replace(benchmark.SERIES["burgers1"], tolerances=(1e-3, 1e-7), cells=(8, 12), repetitions=1)
    monkeypatch.setitem(benchmark.SERIES, "burgers1", replace(few, degrees=(1, 2)))
    monkeypatch.setattr(sys, "argv", ["tolerance.py", "--only", "burgers1"])
    benchmark.main()
    rows = json.loads((tmp_path / "tolerance.json").read_text())["parts"]["burgers1"]["rows"]
    assert [row["tol"] for row in rows] == [1e-3, 1e-7]
    assert rows[0]["best degree"] is not None
    assert rows[1]["best degree"] is None  # no grid of the scan is fine enough
    assert all(row["error"] <= row["bound"] <= row["tol"] for row in rows)


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, []),
        ({"cost": None}, []),
        ({"cost": 3.1}, ["cost 3.1"]),
        ({"bound": 2e-4}, ["bound"]),
        ({"error": 6e-5}, ["bound"]),
        ({"bound": 4e-6, "error": 3e-6}, ["25.0 times as good as asked for"]),
    ],
)
def test_missed_targets(benchmark, changes, missed):
    assert benchmark.failures(GOOD | changes) == missed
