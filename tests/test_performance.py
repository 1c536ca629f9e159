"""The scripts in benchmarks/performance run and write what they say, on grids of a few cells."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import stfem
from stfem.problems import viscous_burgers
from stfem.residual.measure import SlabMeasure

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


def test_meshes(script, tmp_path, monkeypatch, capsys):
    module = script("meshes")
    monkeypatch.setattr(module, "peer_ngsolve", None)
    monkeypatch.setattr(sys, "argv", ["meshes", "--quick"])
    module.main()
    rows = json.loads((tmp_path / "performance_meshes_quick.json").read_text())["rows"]
    assert len(rows) == 2 * 3 + 3 + 2
    assert all(row.get("Mdof/s", row.get("seconds", row.get("solution seconds"))) > 0.0 for row in rows)
    assert all(row["patches / solution"] > 0.0 and row["slabs, mixed"] >= 1 for row in rows[9:])
    assert rows[6]["scikit-fem seconds"] > 0.0
    assert "target" in capsys.readouterr().out


def test_cost_of_an_estimate(script, tmp_path, monkeypatch, capsys):
    module = script("estimate")
    monkeypatch.setattr(module, "QUICK_CELLS", {1: 5, 2: 3})
    monkeypatch.setattr(module, "QUICK_GRIDS", {1e-4: (3, 6)})
    monkeypatch.setattr(module, "COARSEST", 3)
    monkeypatch.setattr(module, "FINE", 3)
    monkeypatch.setattr(module, "FINE_STEPS", 4)
    monkeypatch.setattr(sys, "argv", ["estimate", "--quick"])
    module.main()
    kernels, runs = (
        json.loads((tmp_path / f"performance_estimate_{part}_quick.json").read_text())["rows"]
        for part in ("kernels", "runs")
    )
    assert len(kernels) == 2 * 2 * 3 * 6
    assert all(row["Mdof/s"] > 0.0 and row["ms"] > 0.0 for row in kernels)
    # a node takes its filters, a slab with the family a slab: in ratios that no noise turns round
    times = {tuple(row[key] for key in ("equation", "dim", "degree", "kernel")): row["ms"] for row in kernels}
    assert all(
        times[(*case, "filter")] < times[(*case, "family")] for *case, kernel in times if kernel == "slab"
    )
    assert [row["cells"] for row in runs] == ["3^2", "6^2"] * 2
    for row in runs:
        assert 1 <= row["slabs"] <= row["steps"]
        whole = row["solve / s"] * (1.0 + row["estimate/solve"])
        assert whole == pytest.approx(row["solve / s"] + row["estimate / s"], rel=1e-2)
    assert [row["steps"] for row in runs if row["cells"] == "6^2"] == [4, 4]  # cut
    assert runs[0]["T"] == 1.0
    assert runs[1]["T"] < 1.0
    assert [runs[0][f"growth of {part}"] for part in ("solve", "estimate")] == [1.0, 1.0]
    assert "target" in capsys.readouterr().out


def test_bounds_without_exact_solution_are_those_with_it(script):
    module = script("estimate")
    case = module.Case("Burgers", 1e-2, 4)
    plain = stfem.certify(case.problem, cells=4, degree=2)
    assert plain.error is None
    assert plain.bound == stfem.certify(viscous_burgers(2, 1e-2), cells=4, degree=2).bound


def test_loss_of_sharpness(script, tmp_path, monkeypatch, capsys):
    module = script("sharpness")
    monkeypatch.setattr(sys, "argv", ["sharpness", "--quick"])
    module.main()
    rows = json.loads((tmp_path / "performance_sharpness_quick.json").read_text())["rows"]
    assert len(rows) == 4
    for row in rows:
        loss = float(row["loss"].rstrip("%")) / 100.0
        assert loss == pytest.approx(
            float(row["bound"]) / float(row["every step, Gauss points"]) - 1.0, abs=2e-4
        )
    assert "target" in capsys.readouterr().out


def test_choices(script, tmp_path, monkeypatch):
    module = script("choices")
    monkeypatch.setattr(module, "PROBLEMS", {"Burgers": viscous_burgers})
    monkeypatch.setattr(sys, "argv", ["choices", "--quick"])
    module.main()
    rows = json.loads((tmp_path / "performance_choices_quick.json").read_text())["rows"]
    found = {row["choice"]: row for row in rows}
    assert list(found) == list(module.CHOICES)
    assert found["default"]["bound / default"] == 1.0
    assert found["spacing=1"]["slabs"] == found["default"]["steps"] > found["default"]["slabs"]
    assert found["Siac(order=2)"]["bound"] != found["default"]["bound"]


def test_compiled_loops_do_the_same(script, tmp_path, monkeypatch, capsys):
    module = script("compiled")
    if module.compiled_kernels is None:
        pytest.skip("numba is not installed")
    monkeypatch.setattr(module, "QUICK_CELLS", (5,))
    monkeypatch.setattr(sys, "argv", ["compiled", "--quick"])
    module.main()
    rows = json.loads((tmp_path / "performance_compiled_quick.json").read_text())["rows"]
    assert [(row["equation"], row["way"]) for row in rows] == [
        ("linear", "numpy"),
        ("linear", "loop"),
        ("Burgers", "numpy"),
        ("Burgers", "loop"),
        ("Burgers", "fluxes"),
    ]
    assert all(float(row["relative difference"]) < 1e-14 for row in rows)
    # rows of cells by themselves are those of the whole, bit by bit
    semi, u = module.scheme("Burgers", 2, 2, 5)
    loop = module.compiled_kernels.burgers(semi)
    whole, parts = np.empty_like(u), np.empty_like(u)
    loop(u, whole, 0, 5)
    for first, last in ((3, 5), (0, 3)):
        loop(u, parts, first, last)
    assert np.array_equal(whole, parts)
    monkeypatch.setattr(module, "compiled_kernels", None)
    module.main()
    assert "not installed" in capsys.readouterr().out


def test_threads(script, tmp_path, monkeypatch, capsys):
    module = script("threads")
    monkeypatch.setattr(module, "CONTROL", 10)
    monkeypatch.setattr(module, "compiled_kernels", None)
    monkeypatch.setattr(sys, "argv", ["threads", "--quick"])
    module.main()
    rows = json.loads((tmp_path / "performance_threads_quick.json").read_text())["rows"]
    assert [row["work"] for row in rows] == ["control", "linear", "Burgers", "Burgers + SIPG"]
    assert all(row["one thread / ms"] > 0.0 and row["gain"] > 0.0 for row in rows)
    assert "target" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["threads"])
    monkeypatch.setattr(module, "rows", lambda cells, seconds: [rows[0] | {"gain": 1.0}])
    with pytest.raises(SystemExit, match="control"):
        module.main()
    assert not (tmp_path / "performance_threads.json").exists()


def test_reference_of_sharpness_takes_no_short_cut(script, monkeypatch):
    module = script("sharpness")
    problem = viscous_burgers(2, 1e-2, 0.02)
    solution = stfem.solve(problem, cells=4, degree=1)
    measured = []
    run = SlabMeasure.run
    monkeypatch.setattr(SlabMeasure, "run", lambda self: (measured.append(1), run(self)))
    estimate = stfem.estimate(solution, stfem.SplitEstimator(module.SiacAtPoints(), spacing=1))
    assert len(measured) == estimate.facts["slabs"] == solution.steps


def test_memory_in_solution_vectors(script, tmp_path, monkeypatch):
    module = script("memory")
    case = module.Case("linear", 2, 1e-2, 8, 3)
    facts = module.measured(case, True)
    assert facts["steps"] == 3
    assert 1 <= facts["slabs"] <= 3
    # no run does with less than two nodes of three arrays, none takes a thousand vectors
    assert 6.0 < facts["vectors"] < 1000.0
    assert facts["MiB"] > facts["vectors"] * 24**2 * 8 / 2**20
    monkeypatch.setattr(module, "QUICK", (case,))
    monkeypatch.setattr(sys, "argv", ["memory", "--quick"])
    module.main()
    (row,) = json.loads((tmp_path / "performance_memory_quick.json").read_text())["rows"]
    assert row["peak / solution vectors"] == pytest.approx(facts["vectors"], rel=0.1)


@pytest.mark.parametrize(
    ("name", "eps", "steps", "most"), [("linear", 1e-4, 12, 50.0), ("Burgers", 1e-2, 6, 110.0)]
)
def test_few_vectors_are_held(name, eps, steps, most, script):
    """A single whole filtered field of all nodes, or a slab at Gauss points in one piece, takes more."""
    module = script("memory")
    assert module.measured(module.Case(name, 2, eps, 96, steps, 0.1), True)["vectors"] < most


def test_classes_for_asv(script):
    for name, case in (
        ("rhs", "RightHandSide"),
        ("steps", "Step"),
        ("estimate", "Kernels"),
        ("estimate", "Run"),
    ):
        kind = getattr(script(name), case)
        methods = [method for method in vars(kind) if method.startswith(("time_", "peakmem_"))]
        assert {method.split("_")[0] for method in methods} == {"time", "peakmem"}
        chosen = [values[0] for values in kind.params]
        instance = kind()
        if case == "Run":
            chosen[-1] = 4
        else:
            instance.cells = {1: 4}
        instance.setup(*chosen, *([4] if name == "steps" else []))
        for method in methods:
            getattr(instance, method)(*chosen)
