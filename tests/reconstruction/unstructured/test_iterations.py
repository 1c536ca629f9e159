"""Second stages that stop after a fixed number of steps: as guaranteed, nearly as sharp."""

import numpy as np
import pytest
from sample_meshes import moved
from scipy import sparse

import stfem
from stfem.problems import transient_wave
from stfem.reconstruction.unstructured import TwoStage, VertexPatches
from stfem.reconstruction.unstructured.systems import FixedIterations


def test_conjugate_gradients_end_at_the_solution():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 12))
    matrix, fixed = root @ root.T + 12.0 * np.eye(12), np.array([1, 7])
    load, given, start = rng.normal(size=12), rng.normal(size=2), rng.normal(size=12)
    free = np.setdiff1d(np.arange(12), fixed)
    expected = np.zeros(12)
    expected[fixed] = given
    right = load[free] - matrix[np.ix_(free, fixed)] @ given
    expected[free] = np.linalg.solve(matrix[np.ix_(free, free)], right)
    errors = []
    for count in (1, 3, 40):
        found = FixedIterations(sparse.csr_array(matrix), fixed, count).solve(load, given, start)
        np.testing.assert_array_equal(found[fixed], given)
        errors.append(np.sqrt((found - expected) @ matrix @ (found - expected)))
    assert errors[0] > errors[1] > 1e-6
    assert errors[2] < 1e-12
    same = FixedIterations(sparse.csr_array(matrix), fixed, 3).solve(load, given, expected)
    np.testing.assert_allclose(same, expected, atol=1e-13)


@pytest.mark.parametrize("unit", [1e-156, 1e-300, 1e150])
def test_the_unit_does_not_matter(unit):
    """Squares of small numbers vanish: steps were quotients of zeros there."""
    matrix, fixed = sparse.csr_array(np.diag([2.0, 3.0, 4.0, 5.0]) + 0.5), np.array([2])
    load, given, start = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.7]), np.zeros(4)
    expected = FixedIterations(matrix, fixed, 2).solve(load, given, start)
    found = FixedIterations(matrix, fixed, 2).solve(unit * load, unit * given, start)
    np.testing.assert_allclose(found / unit, expected, rtol=1e-13)


def test_a_few_steps_are_nearly_as_sharp():
    problem = transient_wave(2, 1e-4, 0.2, moved("triangles", 12).with_defaults())
    solution = stfem.solve(problem, degree=1, history=True, dt=0.02)
    rules = (VertexPatches(), TwoStage(), TwoStage(iterations=10), TwoStage(iterations=100))
    local, exact, few, many = (
        stfem.estimate(solution, stfem.MeshEstimator((rule,), spacing=1)) for rule in rules
    )
    for estimate in (few, many):
        assert estimate.error <= estimate.bound
    assert few.bound < 1.2 * exact.bound < 0.7 * local.bound
    assert many.bound == pytest.approx(exact.bound, rel=1e-2)


def test_no_steps_are_refused():
    problem = transient_wave(2, 1e-4, 0.2, moved("triangles", 2).with_defaults())
    solution = stfem.solve(problem, degree=1, history=True, dt=0.1)
    with pytest.raises(ValueError, match="iterations: expected at least 1, got 0"):
        stfem.estimate(solution, stfem.MeshEstimator((TwoStage(iterations=0),)))
