"""benchmarks/stationary.py: what it stores, what its short form runs, what counts as a missed target."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

GOOD = {
    "series": "outflow",
    "reconstruction": "two-stage",
    "degree": 1,
    "eps": 1e-4,
    "cells": 32,
    "bound": 1.0,
    "ratio": 1.5,
    "effectivity": 2.1,
    "effectivity_energy": 2.4,
    "enclosed": True,
}


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = importlib.import_module("stationary")
    monkeypatch.setattr(module.records, "RESULTS", tmp_path)
    yield module
    for name in ("stationary", "unstructured", "records"):
        sys.modules.pop(name)


def test_quick_form_and_record(benchmark, tmp_path, monkeypatch, capsys):
    for name, series in benchmark.SERIES.items():
        monkeypatch.setitem(benchmark.SERIES, name, replace(series, cells={1: (4,)}))
    monkeypatch.setattr(sys, "argv", ["stationary.py", "--quick"])
    benchmark.main()
    printed = capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert all(series.title in printed for series in benchmark.SERIES.values())
    assert "a bound below the error" not in printed
    monkeypatch.setattr(sys, "argv", ["stationary.py", "--only", "outflow"])
    benchmark.main()
    part = json.loads((tmp_path / "stationary.json").read_text())["parts"]["outflow"]
    assert len(part["rows"]) == 3 * 4
    assert all(benchmark.sound(row) for row in part["rows"])
    assert "12 runs, " in (tmp_path / "stationary.md").read_text()


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, 0),
        ({"ratio": 2.5}, 1),
        ({"ratio": 2.5, "eps": 1.0}, 0),  # the mesh resolves it
        ({"enclosed": False}, 1),
        ({"effectivity": 0.9}, 1),
        ({"effectivity_energy": 0.99}, 1),
        ({"effectivity": None, "effectivity_energy": None}, 0),
    ],
)
def test_missed_targets(benchmark, changes, missed):
    parameters = benchmark.SERIES["outflow"].parameters()
    assert len(benchmark.failures([GOOD | changes], parameters)) == missed
