"""benchmarks/systems.py: its targets on a small part, and what it says when one is missed."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

NAMES = ("p-system", "viscous-p-system", "shallow-water", "isothermal", "isentropic", "acoustics")


@pytest.fixture(scope="module")
def systems() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
        yield importlib.import_module("systems")
        for name in ("systems", "records"):
            sys.modules.pop(name)


@pytest.mark.parametrize("name", [f"{name}1" for name in NAMES])
def test_targets_in_one_dimension(systems, name):
    """ε ∈ {0, 1e-6, 1e-4, 1e-2}, q = 1, 2: effectivities in [1, 5], within 1.5 of each other, guaranteed."""
    rows = list(systems.runs(name, replace(systems.SERIES[name], cells=(16,))))
    assert len(rows) == 8
    assert all(row["guaranteed"] for row in rows)
    assert systems.table(rows).endswith("8 runs, 0 targets missed.")


@pytest.mark.parametrize("name", [f"{name}2" for name in NAMES])
def test_targets_in_two_dimensions(systems, name):
    series = replace(systems.SERIES[name], cells=(8,), degrees=(1,), eps=(0.0, 1e-2), final_time=0.03)
    rows = list(systems.runs(name, series))
    assert all(row["guaranteed"] for row in rows)
    assert systems.table(rows).endswith("2 runs, 0 targets missed.")


@pytest.mark.parametrize("name", ["isothermal3", "acoustics3"])
def test_three_dimensions(systems, name):
    series = replace(systems.SERIES[name], eps=(1e-3,), final_time=0.01)
    (row,) = systems.runs(name, series)
    assert row["guaranteed"]
    assert systems.table([row]).endswith("1 runs, 0 targets missed.")


def test_missed_targets_are_named(systems):
    good = {"series": "s", "degree": 1, "cells": 8, "guaranteed": True, "enclosed": True}
    good |= {"effectivity_energy": 1.5, "effectivity": 1.2, "eps": 0.0}
    cases = {
        "effectivity 0.990": {"effectivity": 0.99},
        "effectivity 5.100": {"effectivity": 5.1},
        "ratio 1.600": {"effectivity": 1.92},
        "enclosure": {"enclosed": False},
        "energy norm": {"effectivity_energy": 0.9},
    }
    for message, change in cases.items():
        text = systems.table([good, good | change | {"eps": 1e-2}])
        assert "1 targets missed:" in text
        assert message in text
    assert "0 targets missed." in systems.table([good, good | {"eps": 1e-2}])
    assert set(systems.SERIES) >= {f"{name}{dim}" for name in NAMES for dim in (1, 2)}
