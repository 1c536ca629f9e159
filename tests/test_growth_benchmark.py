"""benchmarks/growth.py: what it stores, and what it says when a target is missed."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def growth(tmp_path, monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = importlib.import_module("growth")
    monkeypatch.setattr(module.records, "RESULTS", tmp_path)
    monkeypatch.setattr(module, "POINTS", 400)
    small = {
        "burgers": replace(module.SERIES["burgers"], cases=((0.05, 0.02),), degrees=(1,), cells=(8,)),
        "l1": replace(module.SERIES["l1"], cases=((0.05, 0.02),), degrees=(1,), cells=(8,)),
        "enclosure": replace(module.SERIES["enclosure"], cases=((0.1, None), (0.1, 1), (0.1, 3)), cells=(4,)),
        "split": replace(module.SERIES["split"], cases=(("linear", 0.1), ("Burgers", 0.0)), cells=(4,)),
    }
    small["split"] = replace(small["split"], degrees=(1,))
    monkeypatch.setattr(module, "SERIES", small)
    yield module
    for name in ("growth", "records"):
        sys.modules.pop(name)


def run(module, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["growth.py", *arguments])
    module.main()


def test_every_series_has_rows_and_a_table(growth, tmp_path, monkeypatch):
    run(growth, monkeypatch)
    stored = json.loads((tmp_path / "growth.json").read_text())["parts"]
    # the default order, 4, 4 and 6 for q = 1, 2, 3, is not measured twice
    assert {name: len(part["rows"]) for name, part in stored.items()} == {
        "burgers": 1,
        "l1": 1,
        "enclosure": 7,
        "split": 2,
    }
    orders = [(row["degree"], row["order"]) for row in stored["enclosure"]["rows"]]
    assert len(set(orders)) == len(orders)
    text = (tmp_path / "growth.md").read_text()
    assert "11 runs, " in text
    assert text.count("\n|--") == 4
    (row,) = stored["burgers"]["rows"]
    assert 1.0 <= row["sharp"] <= row["plain"]
    assert row["guaranteed"]


def test_quick_form_writes_nothing(growth, tmp_path, monkeypatch):
    run(growth, monkeypatch, "--quick", "--only", "l1")
    assert list(tmp_path.iterdir()) == []


def test_targets(growth, monkeypatch, capsys):
    assert growth.outside(1.0, 1.5) == []
    assert growth.outside(0.999, 1.5) == ["0.999, expected at most 1.5"]
    assert growth.outside(1.51, 1.5) == ["1.510, expected at most 1.5"]
    monkeypatch.setattr(growth, "outside", lambda value, largest: ["too large"])
    run(growth, monkeypatch, "--quick", "--only", "split")
    printed = capsys.readouterr().out
    assert "MISSED too large" in printed
    assert "1 runs, 1 miss a target:\n\n- split linear eps=0.1 q=1 N=4: too large" in printed
