"""Readable names of parameters."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

import stfem
from stfem.fluxes import InteriorPenalty, flux_upwind
from stfem.studies.labels import LONGEST, label, listed
from stfem.timestepping import RK4, ExplicitRungeKutta


class Nameless:
    pass


class Wrapping:
    def __init__(self, function):
        self.function = function

    def __repr__(self):
        return f"Wrapping({self.function!r})"


@dataclass
class Matrix:
    entries: np.ndarray
    hidden: int = field(default=1, repr=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        ((8, np.int64(4)), (8, 4)),
        ("a", "a"),
        (flux_upwind, "flux_upwind"),
        (partial(flux_upwind, 3, direction=stfem.Siac()), "flux_upwind(3, direction=Siac)"),
        (ExplicitRungeKutta(RK4), "ExplicitRungeKutta(RK4)"),
        (InteriorPenalty(), "InteriorPenalty"),
        (InteriorPenalty(30.0), "InteriorPenalty(penalty=30.0)"),
        (stfem.SplitEstimator(), "SplitEstimator"),
        (stfem.SplitEstimator(spacing=1), "SplitEstimator(spacing=1)"),
        (Nameless(), "Nameless"),
        (Nameless, "Nameless"),
        (Wrapping(flux_upwind), "Wrapping(<function flux_upwind>)"),
        (np.eye(2), "[[1.0, 0.0], [0.0, 1.0]]"),
        (Matrix(np.eye(1), hidden=7), "Matrix(entries=[[1.0]])"),
    ],
)
def test_label(value, expected):
    assert label(value) == expected
    assert type(label(value)) is type(expected)


def test_long_labels_are_cut():
    cut = label(np.arange(100.0))
    assert len(cut) == LONGEST
    assert cut.endswith("…")


def test_listed():
    assert listed({"eps": 0.1, "stepper": None}) == "eps=0.1, stepper=None"
