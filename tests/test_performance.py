"""The scripts in benchmarks/performance run and write what they say, on grids of a few cells."""

import importlib
import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks" / "performance"


@pytest.fixture
def script(tmp_path, monkeypatch):
    known = set(sys.modules)
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)  # it would become part of the names
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    monkeypatch.setattr(importlib.import_module("records"), "RESULTS", tmp_path)
    monkeypatch.setattr(importlib.import_module("timing"), "_REPEATS", 1)
    yield importlib.import_module
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__file__", None) and str(FOLDER.parent) in str(
            sys.modules[name].__file__
        ):
            sys.modules.pop(name)


@pytest.mark.parametrize(
    ("name", "tables", "rows"),
    [("rhs", {"CELLS": {1: 5, 2: 3, 3: 2}}, 36), ("steps", {"CELLS": {1: (5,), 2: (2, 3)}}, 36)],
)
def test_script(name, tables, rows, script, tmp_path, monkeypatch, capsys):
    module = script(name)
    monkeypatch.setattr(module, "QUICK", tables["CELLS"])
    monkeypatch.setattr(module, "peer_ngsolve", None, raising=False)
    monkeypatch.setattr(sys, "argv", [name, "--quick"])
    module.main()
    record = json.loads((tmp_path / f"performance_{name}_quick.json").read_text())
    assert len(record["rows"]) == rows
    assert all(row["Mdof/s"] > 0.0 for row in record["rows"])
    assert "target" in capsys.readouterr().out
    assert (tmp_path / f"performance_{name}_quick.md").read_text().startswith("| ")


def test_classes_for_asv(script):
    for name, case in (("rhs", "RightHandSide"), ("steps", "Step")):
        kind = getattr(script(name), case)
        methods = [method for method in vars(kind) if method.startswith(("time_", "peakmem_"))]
        assert {method.split("_")[0] for method in methods} == {"time", "peakmem"}
        chosen = [values[0] for values in kind.params]
        instance = kind()
        instance.cells = {1: 4}
        instance.setup(*chosen, *([4] if name == "steps" else []))
        for method in methods:
            getattr(instance, method)(*chosen)
