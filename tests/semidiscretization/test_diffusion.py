"""Interior penalty with a constant matrix D: bilinear form, definiteness, flux (T1, T2.1)."""

import numpy as np
import pytest

from stfem.fluxes import InteriorPenalty
from stfem.meshes import TensorGrid
from stfem.reconstruction.checks import scheme_flux_defect
from stfem.semidiscretization import Diffusion
from stfem.spaces.legendre import gauss, legendre_values

FULL = np.array([[1.0, 0.4], [0.4, 0.5]])
VECTOR = np.array([0.6, -1.1])
MATRICES = {
    "identity": np.eye(2),
    "diagonal": np.diag([1.0, 1e-3]),
    "one direction": np.diag([0.0, 1.0]),
    "full": FULL,
    "nearly degenerate": np.outer(VECTOR, VECTOR) + 1e-9 * np.eye(2),
    "degenerate": np.outer(VECTOR, VECTOR),
}


def operator(diffusion):
    """Dense matrix of P."""
    grid = diffusion.grid
    shape = (*(diffusion.degree + 1,) * grid.dim, *grid.cells)
    size = int(np.prod(shape))
    return diffusion.apply(np.eye(size).reshape(size, *shape)).reshape(size, size).T


def bilinear_form(grid, degree, matrix, penalty, u, v):
    """−Σ∫D∇u·∇v + Σ_faces ∫( {D∇u}·n [v] + {D∇v}·n [u] − penalty n·Dn [u][v] ) by loops."""
    s, weights = gauss(degree + 2)
    ends = np.array([0.0, 1.0])

    def value(field, cell, points, orders):
        tables = [
            legendre_values(degree, p, k) / h**k for p, k, h in zip(points, orders, grid.spacing, strict=True)
        ]
        return np.einsum(
            "ai,bj,ij->ab", *tables, field[:, :, cell[0] % grid.cells[0], cell[1] % grid.cells[1]]
        )

    def gradient(field, cell, points):
        return np.stack([value(field, cell, points, order) for order in ((1, 0), (0, 1))])

    total = 0.0
    for cell in np.ndindex(*grid.cells):
        slopes = np.einsum("ij,jab->iab", matrix, gradient(u, cell, (s, s)))
        inner = (slopes * gradient(v, cell, (s, s))).sum(axis=0)
        total -= grid.cell_measure * weights @ inner @ weights
        for i in range(2):
            following = tuple(c + (k == i) for k, c in enumerate(cell))
            traces = []
            for neighbour, end in ((cell, ends[1:]), (following, ends[:1])):
                points = tuple(end if k == i else s for k in range(2))
                traces += [
                    (
                        value(f, neighbour, points, (0, 0)),
                        (matrix @ gradient(f, neighbour, points).reshape(2, -1))[i],
                    )
                    for f in (u, v)
                ]
            (um, dum), (vm, dvm), (up, dup), (vp, dvp) = [(a.ravel(), b.ravel()) for a, b in traces]
            face = 0.5 * (dum + dup) * (vm - vp) + 0.5 * (dvm + dvp) * (um - up)
            face -= penalty[i] * matrix[i, i] * (um - up) * (vm - vp)
            total += grid.spacing[1 - i] * weights @ face
    return total


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("degree", [1, 2])
def test_operator_is_the_bilinear_form(name, degree):
    grid, matrix, rule = TensorGrid((1.0, 1.7), (3, 4)), MATRICES[name], InteriorPenalty()
    diffusion = Diffusion(grid, degree, matrix, rule)
    diagonal = not matrix[0, 1]
    penalty = [rule.coefficient(degree, h, 2, diagonal) for h in grid.spacing]
    rng = np.random.default_rng(1)
    u, v = rng.normal(size=(2, degree + 1, degree + 1, 3, 4))
    expected = bilinear_form(grid, degree, matrix, penalty, u, v)
    found = grid.cell_measure * float((diffusion.apply(u) * v).sum())
    assert found == pytest.approx(expected, rel=1e-11)
    turned = bilinear_form(grid, degree, np.diag(np.diag(matrix)), penalty, u, v)
    assert bool(turned == pytest.approx(found, rel=1e-6)) is bool(diagonal)  # cross terms take part


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_symmetric_and_negative_semi_definite(name, degree):
    for cells in ((4, 3), (2, 1)):
        p = operator(Diffusion(TensorGrid((1.0, 1.0), cells), degree, MATRICES[name], InteriorPenalty()))
        size = np.abs(p).max()
        np.testing.assert_allclose(p, p.T, atol=1e-12 * size)
        assert np.linalg.eigvalsh(p).max() <= 1e-12 * size
        constant = np.zeros((degree + 1, degree + 1, *cells))
        constant[0, 0] = 1.0
        np.testing.assert_allclose(p @ constant.ravel(), 0.0, atol=1e-12 * size)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("name", ["identity", "full", "degenerate"])
def test_stretched_cells_keep_the_sign(degree, name):
    """64 × 2 cells (REFERENCE R4, 15): all Fourier blocks are negative semi-definite."""
    diffusion = Diffusion(TensorGrid((1.0, 1.0), (64, 2)), degree, MATRICES[name], InteriorPenalty())
    eigenvalues = diffusion._solver._eigenvalues
    assert eigenvalues.max() <= 1e-11 * diffusion.spectral_radius
    weak = Diffusion(TensorGrid((1.0, 1.0), (64, 2)), degree, MATRICES[name], InteriorPenalty(0.3))
    assert weak._solver._eigenvalues.max() > 1e-3 * weak.spectral_radius


def test_lowest_degree_is_finite_differences():
    grid = TensorGrid((1.0, 2.0), (5, 4))
    diffusion = Diffusion(grid, 0, np.diag([0.3, 0.7]), InteriorPenalty())
    u = np.random.default_rng(2).normal(size=(1, 1, 5, 4))
    expected = sum(
        d * (np.roll(u, 1, a) - 2 * u + np.roll(u, -1, a)) / h**2
        for d, a, h in zip((0.3, 0.7), (2, 3), grid.spacing, strict=True)
    )
    np.testing.assert_allclose(diffusion.apply(u), expected, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("cells", [(4, 3), (1, 2)])
def test_divergence_of_the_scheme_flux(name, cells):
    for degree in (1, 2, 3):
        diffusion = Diffusion(TensorGrid((1.0, 1.3), cells), degree, MATRICES[name], InteriorPenalty())
        u = np.random.default_rng(3).normal(size=(degree + 1, degree + 1, *cells))
        assert scheme_flux_defect(diffusion, u) <= 1e-12


def test_divergence_defect_is_seen():
    """A flux with another penalty has another divergence."""
    grid = TensorGrid((1.0, 1.3), (4, 3))
    diffusion = Diffusion(grid, 1, FULL, InteriorPenalty())
    other = Diffusion(grid, 1, FULL, InteriorPenalty(20.0))
    diffusion.flux_terms = other.flux_terms
    assert scheme_flux_defect(diffusion, np.random.default_rng(4).normal(size=(2, 2, 4, 3))) > 1e-3


def test_zero_matrix_does_nothing():
    diffusion = Diffusion(TensorGrid((1.0,), 4), 2, np.zeros((1, 1)), InteriorPenalty())
    u = np.ones((3, 4))
    assert diffusion.terms == []
    assert diffusion.spectral_radius == 0.0
    np.testing.assert_array_equal(diffusion.apply(u), 0.0)
    np.testing.assert_array_equal(diffusion.solve(u, 0.1), u)


@pytest.mark.parametrize("name", MATRICES)
def test_pseudo_inverse_and_projection_on_the_range(name):
    matrix = MATRICES[name]
    diffusion = Diffusion(TensorGrid((1.0, 1.0), 2), 1, matrix, InteriorPenalty())
    inverse, projection = diffusion.inverse, diffusion.range_projection
    scale = np.abs(inverse).max()
    np.testing.assert_allclose(inverse @ matrix @ inverse, inverse, atol=1e-6 * scale)
    if name == "degenerate":
        np.testing.assert_allclose(projection, np.outer(VECTOR, VECTOR) / (VECTOR @ VECTOR), atol=1e-14)
    else:
        assert projection is None


@pytest.mark.parametrize("eps", [1.0, 1e-14, 1e-300])
def test_tiny_entries_have_an_inverse(eps):
    matrix = eps * np.eye(2)
    diffusion = Diffusion(TensorGrid((1.0, 1.0), 2), 1, matrix, InteriorPenalty())
    np.testing.assert_allclose(diffusion.inverse * eps, np.eye(2), rtol=1e-15)
