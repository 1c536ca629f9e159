"""benchmarks/adaptivity.py: what its short form runs, and what counts as a missed target."""

import importlib
import sys
from pathlib import Path

import pytest


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = importlib.import_module("adaptivity")
    monkeypatch.setattr(module.records, "RESULTS", tmp_path)
    yield module
    for name in ("adaptivity", "records"):
        sys.modules.pop(name)


def test_quick_form_runs_every_series_and_writes_nothing(benchmark, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["adaptivity.py", "--quick"])
    benchmark.main()
    printed = capsys.readouterr().out
    rows = len(benchmark.RULES) * len(benchmark.INDICATORS) + len(benchmark.MESHES)
    assert f"{rows} runs, " in printed
    assert list(tmp_path.iterdir()) == []


def test_missed_targets_are_named(benchmark):
    marking = {
        "series": "marking",
        "rule": "maximum",
        "indicators": "equal",
        "count": 1_000_000,
        "seconds": 0.09,
    }
    cycles = {"series": "cycles", "cells": "line", "q": 1, "drift": 9e-13}
    assert benchmark.failures([marking, cycles]) == []
    missed = benchmark.failures([marking | {"seconds": 0.11}, cycles | {"drift": 2e-12}])
    assert missed == ["maximum, equal: 0.11 s", "line, q = 1: mass changed by 2e-12"]
