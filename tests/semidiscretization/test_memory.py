"""Runs that cannot fit in memory are refused before anything of their size is made."""

import time

import pytest

from stfem import Problem, Torus, certify, solve
from stfem.data import sine
from stfem.equations import AdvectionDiffusion, Burgers
from stfem.meshes import TensorGrid
from stfem.semidiscretization import Semidiscretization
from stfem.semidiscretization.memory import LEAST_ARRAYS, physical_memory, require_memory


def problem(equation, dim=1):
    return Problem(equation, Torus((1.0,) * dim), sine((6.283185307179586,) * dim), 0.1)


@pytest.mark.parametrize("equation", [Burgers(1, 0.0), AdvectionDiffusion(1.0, 1e-3)])
@pytest.mark.parametrize(
    "cells", [2**70, 10**20, 1e300, 10**400, 10**12], ids=lambda n: f"{n:.0e}" if n < 1e308 else "beyond"
)
@pytest.mark.parametrize("verb", [solve, certify])
def test_too_many_cells_are_refused_at_once(verb, cells, equation):
    started = time.perf_counter()
    with pytest.raises(ValueError, match=r"^cells: expected at most \S+ in all at degree 1, .*, got 1"):
        verb(problem(equation), cells=cells, degree=1)
    assert time.perf_counter() - started < 1.0


def test_tuples_count_all_their_cells():
    with pytest.raises(ValueError, match=r"^cells: expected at most .*, got 1\.00e\+16$"):
        solve(problem(Burgers(2, 0.0), 2), cells=(10**8, 10**8), degree=1)


def test_the_degree_counts():
    numbers = physical_memory() // (8 * LEAST_ARRAYS)
    grid = TensorGrid((1.0, 1.0), (numbers, 1))
    require_memory(grid, 1, 0)
    with pytest.raises(ValueError, match="at degree 5"):
        require_memory(grid, 1, 5)
    with pytest.raises(ValueError, match=r"^cells: "):
        require_memory(grid, 2, 0)
    with pytest.raises(ValueError, match=r"^cells: .* at degree 5"):
        Semidiscretization(problem(Burgers(2, 0.0), 2), (numbers, 1), 5)
    assert require_memory(TensorGrid((1.0, 1.0), (numbers // 36, 1)), 1, 5) is None
