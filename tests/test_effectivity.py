"""benchmarks/effectivity.py: what it stores, and what it says when a target is missed."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

GOOD = {
    "eps": 1e-4,
    "degree": 2,
    "cells": 32,
    "effectivity": 1.05,
    "effectivity_energy": 1.3,
    "order": 4.9,
    "enclosed": True,
    "enclosure_width": 0.01,
}


@pytest.fixture
def effectivity(tmp_path, monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = importlib.import_module("effectivity")
    monkeypatch.setattr(module.records, "RESULTS", tmp_path)
    small = replace(module.SERIES["linear1"], degrees=(1,), cells=(4, 8), eps=(0.0, 1e-2))
    monkeypatch.setattr(module, "SERIES", {"first": small, "second": replace(small, eps=(1e-2,))})
    yield module
    for name in ("effectivity", "records"):
        sys.modules.pop(name)


def run(module, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["effectivity.py", *arguments])
    module.main()


def test_one_series_replaces_its_rows_and_keeps_the_others(effectivity, tmp_path, monkeypatch):
    run(effectivity, monkeypatch)
    stored = json.loads((tmp_path / "effectivity.json").read_text())["parts"]
    assert [len(part["rows"]) for part in stored.values()] == [4, 2]
    assert "6 runs, 0 miss a target." in (tmp_path / "effectivity.md").read_text()
    changed = replace(effectivity.SERIES["first"], eps=(1e-3,), largest=lambda eps: 1.0)
    monkeypatch.setitem(effectivity.SERIES, "first", changed)
    run(effectivity, monkeypatch, "--only", "first")
    again = json.loads((tmp_path / "effectivity.json").read_text())["parts"]
    assert again["second"] == stored["second"]
    assert again["first"]["parameters"]["eps"] == [1e-3]
    assert {row["eps"] for row in again["first"]["rows"]} == {1e-3}
    assert set(again["first"]["versions"]) >= {"stfem", "numpy"}
    table = (tmp_path / "effectivity.md").read_text()
    assert "4 runs, 2 miss a target:\n\n- first q=1 eps=0.001 N=4: effectivity 1." in table
    assert "| second " in table


def test_quick_form_writes_nothing(effectivity, tmp_path, monkeypatch):
    run(effectivity, monkeypatch, "--quick", "--only", "second")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({}, []),
        ({"effectivity": 1.11}, ["effectivity 1.1100"]),
        ({"effectivity": 0.9999}, ["effectivity 0.9999"]),
        ({"effectivity_energy": 2.3}, ["effectivity in the energy norm 2.3000"]),
        ({"order": 4.69}, ["order 4.69"]),
        ({"order": 4.0, "eps": 1e-2}, []),
        ({"enclosed": False}, ["enclosure"]),
        ({"enclosure_width": 0.11}, ["width of the enclosure 0.110"]),
    ],
)
def test_targets(effectivity, change, missed):
    series = replace(effectivity.SERIES["first"], cells=(16, 32))
    assert effectivity.failures(GOOD | change, series) == missed
