"""benchmarks/unstructured.py: what it stores, what its short form runs, what counts as a missed target."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

GOOD = {
    "series": "wave",
    "reconstruction": "two-stage",
    "degree": 1,
    "eps": 1e-4,
    "cells": 32,
    "bound": 1.0,
    "ratio": 2.0,
    "effectivity": 2.1,
    "effectivity_energy": 2.4,
    "enclosed": True,
}


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    module = importlib.import_module("unstructured")
    monkeypatch.setattr(module.records, "RESULTS", tmp_path)
    yield module
    for name in ("unstructured", "records"):
        sys.modules.pop(name)


def run(module, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["unstructured.py", *arguments])
    module.main()


def test_quick_form_runs_every_series_and_writes_nothing(benchmark, tmp_path, monkeypatch, capsys):
    run(benchmark, monkeypatch, "--quick")
    printed = capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert all(series.title in printed for series in benchmark.SERIES.values())
    assert "a bound below the error" not in printed
    assert "| mixed " in printed


def test_record_and_tables(benchmark, tmp_path, monkeypatch):
    small = replace(benchmark.SERIES["wave"], cells={1: (3, 6)}, eps=(0.0, 1e-2))
    monkeypatch.setitem(benchmark.SERIES, "wave", small)
    run(benchmark, monkeypatch, "--only", "wave")
    part = json.loads((tmp_path / "unstructured.json").read_text())["parts"]["wave"]
    assert len(part["rows"]) == 2 * 3 + 2 * 4  # without diffusion no mixed form
    assert all(row["effectivity"] >= 1.0 and row["enclosed"] for row in part["rows"])
    assert set(part["versions"]) >= {"stfem", "numpy"}
    text = (tmp_path / "unstructured.md").read_text()
    assert "14 runs, " in text
    assert "energy, ε = 0.01" in text


def test_errors_at_layers_are_those_of_a_finer_rule(benchmark):
    """‖u‖ of an unresolved layer, to what the rule promises."""
    eps = 1e-4
    problem = benchmark.outflow_layer(eps)
    sizes = []
    for cells in (48, 96):
        x, weights = benchmark.graded_rule(eps, cells)
        assert weights.sum() == pytest.approx(1.0, rel=1e-12)
        sizes.append(float(weights @ problem.exact(x, 0.0)[0] ** 2))
    # ∫ sin²πy = ½; ∫ (x − E)² = ⅓ − 2∫xE + ∫E² with ∫xE = ε − ε², ∫E² = ε/2 up to e^{−1/ε}
    assert sizes == pytest.approx([0.5 * (1.0 / 3.0 - 2.0 * (eps - eps**2) + 0.5 * eps)] * 2, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({}, []),
        ({"ratio": 2.6}, ["q=1 eps=0.0001 n=32: B/e_h 2.60 of the best, target 2.5"]),
        ({"effectivity": 0.99}, ["two-stage q=1 eps=0.0001 n=32: a bound below the error"]),
        ({"enclosed": False}, ["two-stage q=1 eps=0.0001 n=32: a bound below the error"]),
        (
            {"eps": 1e-2, "effectivity_energy": 2.2},
            ["q=1 eps=0.01 n=32: energy norm 2.20 of the best, target 2"],
        ),
    ],
)
def test_targets(benchmark, change, missed):
    assert benchmark.failures([GOOD | change], benchmark.SERIES["wave"].parameters()) == missed


def test_target_of_layers_holds_on_every_grid(benchmark):
    rows = [GOOD | {"series": "layer", "cells": n, "ratio": ratio} for n, ratio in ((16, 2.5), (32, 1.9))]
    parameters = benchmark.SERIES["layer"].parameters()
    assert benchmark.failures(rows, parameters) == ["q=1 eps=0.0001 n=16: B/e_h 2.50 of the best, target 2"]


def test_targets_of_the_order_and_of_the_local_rule(benchmark):
    coarse = GOOD | {"cells": 16, "bound": 2.5}
    assert benchmark.failures([coarse, GOOD], benchmark.SERIES["wave"].parameters()) == [
        "q=1 eps=0.0001 n=32: order 1.32, target 1.7"
    ]
    local = GOOD | {"reconstruction": "patches", "ratio": 21.0}
    assert benchmark.failures([GOOD, local], benchmark.SERIES["wave"].parameters()) == [
        "patches q=1 eps=0.0001 n=32: B/e_h 21.0, target 20"
    ]
