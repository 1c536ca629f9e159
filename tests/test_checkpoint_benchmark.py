"""benchmarks/checkpoints.py runs and writes what it says, on grids of a few cells."""

import importlib
import json
import sys
from pathlib import Path


def test_quick(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    before = sys.modules.pop("checkpoints", None)  # what tests share has that name too
    module = importlib.import_module("checkpoints")
    try:
        monkeypatch.setattr(module.records, "RESULTS", tmp_path)
        monkeypatch.setattr(sys, "argv", ["checkpoints.py", "--quick"])
        module.main()
    finally:
        for name in ("checkpoints", "records"):
            sys.modules.pop(name)
        if before is not None:
            sys.modules["checkpoints"] = before
    rows = json.loads((tmp_path / "checkpoints_quick.json").read_text())["rows"]
    assert len(rows) == 4
    for row in rows:
        assert 0.0 < row["write"] <= row["longest write"]
        assert 0.0 < row["state"] < row["slab"]
        assert row["MB"] > 0.01
    assert (tmp_path / "checkpoints_quick.md").read_text().startswith("| run")
