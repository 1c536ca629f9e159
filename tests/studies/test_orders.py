"""Orders of convergence against ones computed by hand, and where there are none."""

import math

import pytest

import stfem
from stfem.problems import linear_advection_diffusion
from stfem.studies import convergence
from stfem.studies.columns import with_orders

PROBLEM = linear_advection_diffusion(1, 1e-4, 0.05)


def rows(*entries, **fixed):
    names = ("h", "error", "bound")
    return [
        {**fixed, "cells": round(1 / entry[0]), **dict(zip(names, entry, strict=True))} for entry in entries
    ]


def orders(entries):
    return [(row["eoc_error"], row["eoc_bound"]) for row in with_orders(entries)]


def test_halved_and_divided_by_three():
    found = orders(rows((1 / 4, 64.0, 32.0), (1 / 8, 8.0, 2.0), (1 / 24, 8.0 / 9.0, 2.0 / 81.0)))
    assert found[0] == (None, None)
    assert found[1] == pytest.approx((3.0, 4.0), abs=1e-14)  # 64/8 = 2^3, 32/2 = 2^4
    assert found[2] == pytest.approx((2.0, 4.0), abs=1e-14)  # 9 = 3^2, 81 = 3^4


def test_refined_in_either_direction():
    down = orders(rows((1 / 4, 9.0, 9.0), (1 / 12, 1.0, 3.0)))[1]
    up = orders(rows((1 / 12, 1.0, 3.0), (1 / 4, 9.0, 9.0)))[1]
    assert down == pytest.approx((2.0, 1.0), abs=1e-14)
    assert up == pytest.approx(down, abs=1e-14)


def test_every_combination_has_its_own_sequence():
    coarse, fine = (1 / 4, 16.0, 16.0), (1 / 8, 4.0, 8.0)
    other = (1 / 8, 2.0, 1.0)
    mixed = [*rows(coarse, eps=1.0), *rows(coarse, eps=0.0), *rows(fine, eps=1.0), *rows(other, eps=0.0)]
    assert orders(mixed) == [(None, None), (None, None), (2.0, 1.0), (3.0, 4.0)]


@pytest.mark.parametrize("size", [None, 0.0, math.inf, math.nan])
def test_no_order_without_two_sizes(size):
    assert orders(rows((1 / 4, size, 1.0), (1 / 8, 1.0, 0.5)))[1] == (None, 1.0)
    assert orders(rows((1 / 4, 1.0, 1.0), (1 / 8, size, 0.5)))[1] == (None, 1.0)


def test_no_order_between_grids_of_one_width():
    assert orders(rows((1 / 8, 1.0, 1.0), (1 / 8, 0.5, 0.5)))[1] == (None, None)


def test_orders_and_numbers_of_a_study_are_those_of_certify():
    study = convergence(PROBLEM, cells=[8, 16, 48], degree=[1, 2])
    assert [(row["degree"], row["cells"]) for row in study.rows] == [
        (q, n) for q in (1, 2) for n in (8, 16, 48)
    ]
    alone = {(q, n): stfem.certify(PROBLEM, cells=n, degree=q) for q in (1, 2) for n in (8, 16, 48)}
    for row in study.rows:
        q, n = row["degree"], row["cells"]
        result = alone[q, n]
        for name in ("bound", "error", "effectivity", "bound_energy", "bound_l1", "error_dg", "guaranteed"):
            assert row[name] == getattr(result, name), name
        assert (row["enclosure_lower"], row["enclosure_upper"]) == result.enclosure
        assert {name: row[name] for name in result.parts} == result.parts
        assert (row["h"], row["unknowns"], row["steps"]) == (1 / n, n * (q + 1), result.solution.steps)
        assert row["slabs"] == result.facts["slabs"]
        assert 0.0 < row["seconds_solve"] < row["seconds"]
        before, ratio = {8: (None, 1), 16: (8, 2), 48: (16, 3)}[n]
        expected = before and math.log(alone[q, before].bound / result.bound, ratio)
        assert row["eoc_bound"] == (expected and pytest.approx(expected, rel=1e-12))
        if n == 16:  # 2q + 1, and a grid so coarse that it may be half an order off
            assert abs(row["eoc_error"] - (2 * q + 1)) < 0.5
