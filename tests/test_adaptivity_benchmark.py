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
    for name in ("adaptivity", "adaptivity_stationary", "adaptivity_unsteady", "records"):
        sys.modules.pop(name)


def test_quick_form_runs_every_series_and_writes_nothing(benchmark, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["adaptivity.py", "--quick"])
    benchmark.main()
    printed = capsys.readouterr().out
    rows = len(benchmark.RULES) * len(benchmark.INDICATORS) + len(benchmark.MESHES) + 2
    layers = benchmark.stationary.Layers().quick()
    rows += 2 * sum(len(benchmark.stationary.CASES[name].eps) for name in layers.names)
    assert "a bound below the error" not in printed
    assert "*Layers without time*" in printed
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


def test_targets_of_unsteady_problems(benchmark):
    def rows(mesh, numbers, tol=None):
        head = {"series": "unsteady", "problem": "layer", "eps": 1e-4, "q": 1, "mesh": mesh, "tol": tol}
        return [
            head | {"unknowns": n, "mean": n, "bound": bound, "error": 0.5 * bound} for n, bound in numbers
        ]

    uniform = rows("uniform", [(10_000, 1e-2), (40_000, 5e-3)])
    good = rows("adaptive", [(1000, 1e-2), (2000, 5e-3), (4000, 2.5e-3)], 1e-2)
    assert benchmark.failures(uniform + good) == []
    (summary,) = benchmark.unsteady.summary(uniform + good)
    assert (summary["slope"], summary["times fewer unknowns"]) == ("-1.00", "20.0")
    slow = rows("adaptive", [(1000, 1e-2), (2000, 8e-3), (4000, 6e-3)], 1e-2)
    assert benchmark.failures(uniform + slow) == [
        "layer, ε = 0.0001, q = 1: slope -0.37",
        "layer, ε = 0.0001, q = 1: 6.9 times fewer unknowns",
    ]
    wrong = [good[0] | {"error": 2e-2, "tol": 9e-3}]
    assert benchmark.failures(wrong) == [
        "layer, ε = 0.0001, q = 1: error 0.02 above the bound 0.01",
        "layer, ε = 0.0001, q = 1: bound 0.01 above the tolerance 0.009",
    ]


def layer(meshes, order, bound=1.0, **changes):
    """A run with bounds, and smaller errors, that fall with an order in unknowns."""
    dofs = [100, 200, 400, 800, 1600, 3200]
    bounds = [bound * (n / 100.0) ** -order for n in dofs]
    return {
        "series": "stationary",
        "problem": "circle",
        "eps": 1e-4,
        "degree": 1,
        "meshes": meshes,
        "dofs": dofs,
        "size": [1e-4] * 6,
        "seconds": [0.1 * n for n in dofs],
        "bound": bounds,
        "bound_energy": bounds,
        "upper": bounds,
        "error": [0.5 * value for value in bounds],
        "error_energy": [None] * 6,
        "error_dg": [0.4 * value for value in bounds],
    } | changes


def test_slopes_and_savings_of_layers(benchmark):
    own = benchmark.stationary
    adaptive, uniform = layer("adaptive", 1.0), layer("uniform", 0.5, bound=2.0)
    assert own.slope(adaptive, "bound") == pytest.approx(-1.0)
    assert own.slope(adaptive | {"size": [0.1] * 6}, "bound") is None  # not resolved
    assert own.slope(adaptive, "error_energy") is None
    # bound 2/√32 where the uniform one ends: reached at 100 √32/2 unknowns
    assert own.saving(adaptive, uniform) == pytest.approx(3200.0 / (50.0 * 32.0**0.5))
    assert own.saving(adaptive, layer("uniform", 0.5, bound=1e6)) is None


def test_layers_that_miss_a_target(benchmark):
    own = benchmark.stationary
    good = [layer("adaptive", 1.0), layer("uniform", 0.2, bound=2.0)]
    assert own.failures(good) == []
    lazy = [layer("adaptive", 0.7), layer("uniform", 0.01, bound=2.0)]
    assert own.failures(lazy) == ["circle, ε = 0.0001, q = 1: slope -0.70 of bound, optimal -1"]
    close = [good[0], layer("uniform", 0.7, bound=2.0)]
    assert len(own.failures(close)) == 1
    assert "of the unknowns" in own.failures(close)[0]
    for error, bound in (("error", "bound"), ("error_energy", "bound_energy"), ("error_dg", "upper")):
        wrong = good[0] | {error: [*good[0]["bound"][:5], 1.001 * good[0][bound][5]]}
        assert own.failures([wrong, good[1]]) == [
            "circle, ε = 0.0001, q = 1, adaptive: a bound below the error"
        ]
