"""Packages for factorisations are taken where they are installed; every solution is checked."""

import sys
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu

from stfem.semidiscretization.unstructured.factors import factorise
from stfem.semidiscretization.unstructured.solver import Factorisation, SolveError


@pytest.fixture
def system():
    rng = np.random.default_rng(0)
    matrix = sparse.random_array((40, 40), density=0.1, rng=rng)
    matrix = sparse.csr_array(matrix + matrix.T + 20.0 * sparse.eye_array(40))
    return matrix, rng.normal(size=40)


@pytest.fixture
def packages(monkeypatch):
    """Stand-ins that count what they are asked for; none of the real ones."""
    calls = []

    class PyPardisoSolver:
        def factorize(self, matrix):
            calls.append("pardiso factorises")
            assert matrix.format == "csr"
            self._factors = splu(sparse.csc_array(matrix))

        def solve(self, matrix, rhs):
            return self._factors.solve(rhs)

        def free_memory(self, everything=False):
            calls.append("pardiso frees")

    class Context:
        def set_matrix(self, matrix):
            self._matrix = matrix

        def factor(self):
            calls.append("mumps factorises")
            self._factors = splu(sparse.csc_array(self._matrix))

        def solve(self, rhs):
            return self._factors.solve(rhs)

    def install(*names):
        for name, entry in (("pypardiso", PyPardisoSolver), ("mumps", Context)):
            module = ModuleType(name)
            setattr(module, entry.__name__, entry)
            monkeypatch.setitem(sys.modules, name, module if name in names else None)

    return install, calls


@pytest.mark.parametrize(
    ("names", "factor", "expected"),
    [
        ((), 1.0, []),
        (("pypardiso", "mumps"), 1.0, ["pardiso factorises"]),
        (("pypardiso", "mumps"), 1.0 + 0.5j, ["mumps factorises"]),
        (("pypardiso",), 1.0j, []),
        (("mumps",), 1.0, ["mumps factorises"]),
    ],
)
def test_the_fastest_that_is_installed(system, packages, names, factor, expected):
    install, calls = packages
    install(*names)
    matrix, rhs = system
    factors = Factorisation(factor * matrix)
    assert calls == expected
    np.testing.assert_allclose(factor * matrix @ factors.solve(rhs + 0.0 * factor), rhs, atol=1e-12)
    del factors
    assert calls[len(expected) :] == ["pardiso frees"] * ("pardiso factorises" in expected)


def test_another_package_called_mumps_is_left_alone(system, packages, monkeypatch):
    install, _ = packages
    install()
    monkeypatch.setitem(sys.modules, "mumps", ModuleType("mumps"))
    matrix, rhs = system
    np.testing.assert_allclose(matrix @ factorise(matrix).solve(rhs), rhs, atol=1e-12)


def test_wrong_solutions_of_a_package_are_errors(system, packages):
    install, _ = packages
    install("pypardiso")
    matrix, rhs = system
    factors = Factorisation(matrix)
    sys.modules["pypardiso"].PyPardisoSolver.solve = lambda self, matrix, rhs: 0.5 * rhs
    with pytest.raises(SolveError):
        factors.solve(rhs)


@pytest.mark.parametrize("unit", [1e-210, 1e-305, 1e-312])
@pytest.mark.parametrize("kind", [float, complex])
def test_denormal_right_hand_sides(unit, kind):
    """A complex quotient by a denormal number is no number."""
    matrix = (np.eye(3) * (2.0 + (1.0j if kind is complex else 0.0)) + 0.25).astype(kind)
    rhs = np.array([1.0, -2.0, 0.5]).astype(kind)
    found = Factorisation(matrix).solve(unit * rhs)
    expected = np.linalg.solve(matrix, rhs)
    np.testing.assert_allclose(found.real / unit, expected.real, atol=1e-10)
    np.testing.assert_allclose(found.imag / unit, expected.imag, atol=1e-10)
