"""Interior penalty on unstructured meshes: exact on polynomials, symmetric, definite, conditions, jumps."""

import numpy as np
import pytest
import skfem
from mesh_cases import KINDS, box_mesh

from stfem.equations import AdvectionDiffusion, DiffusivePSystem
from stfem.fluxes import InteriorPenalty
from stfem.meshes import from_skfem
from stfem.problems import Dirichlet, Neumann, Robin, TotalFlux
from stfem.semidiscretization import SolveError
from stfem.semidiscretization.unstructured.diffusion import Diffusion
from stfem.semidiscretization.unstructured.solver import Factorisation
from stfem.spaces.broken import BrokenSpace

ALL = pytest.mark.parametrize("kind", list(KINDS))


def space_of(kind, degree, n=2, perturbation=0.2, periodic=()):
    return BrokenSpace(from_skfem(box_mesh(kind, n, perturbation, turned=True), periodic), degree)


def operator(space, diffusion, boundary, penalty=None):
    equation = AdvectionDiffusion((1.0,) * space.mesh.dim, diffusion=diffusion)
    return Diffusion(space, equation, penalty or InteriorPenalty(), boundary)


def anisotropic(dim):
    return (np.eye(dim) + 0.3) * 0.7


@ALL
@pytest.mark.parametrize("periodic", [False, True])
def test_exact_on_polynomials(kind, periodic):
    space = space_of(kind, 3, n=2 if kind == "hexahedron" else 3, periodic=(0,) if periodic else ())
    dim, matrix = space.mesh.dim, anisotropic(KINDS[kind][1])
    if periodic and dim == 1:
        return

    # cubic in the last direction on simplices; Q_3 of cells that are not affine holds x y and y² only
    power = 3 if space.mesh.reference.simplex else 2

    def g(x, t):
        return 1.0 + x[-1] ** power + (0.0 if periodic else 0.5 * x[0] * x[-1])

    def expected(x, t):
        mixed = 0.0 if periodic else (matrix[0, -1] if dim > 1 else matrix[0, 0])
        return matrix[-1, -1] * power * (power - 1) * x[-1] ** (power - 2) + mixed

    diffusion = operator(space, matrix, Dirichlet(g))
    u = space.project([g])
    rate = diffusion.apply(u) + diffusion.load(0.0)
    np.testing.assert_allclose(rate, space.project([expected]), atol=2e-9)
    assert np.abs(diffusion.apply(u) - space.project([expected])).max() > 1.0  # the load is needed


@ALL
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_symmetric_and_negative(kind, degree):
    space = space_of(kind, degree, n=1 if KINDS[kind][1] == 3 else 3)
    matrix = operator(space, anisotropic(space.mesh.dim), Dirichlet(0.0)).matrix.toarray()
    size = np.abs(matrix).max()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-13 * size)
    assert np.linalg.eigvalsh(matrix).max() < 0.0
    weak = operator(
        space, anisotropic(space.mesh.dim), Dirichlet(0.0), InteriorPenalty(0.02)
    ).matrix.toarray()
    assert np.linalg.eigvalsh(weak).max() > 0.0


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("shape", [skfem.MeshTri, skfem.MeshQuad])
def test_positive_on_stretched_cells(shape, degree):
    mesh = shape.init_tensor(np.linspace(0.0, 1.0, 33), np.linspace(0.0, 1.0, 3))
    matrix = operator(BrokenSpace(from_skfem(mesh), degree), 1.0, Dirichlet(0.0)).matrix.toarray()
    assert np.linalg.eigvalsh(matrix).max() < 0.0


@ALL
def test_given_fluxes(kind):
    """u linear: D∇u·n is known on every side, and so is the state of Robin conditions."""
    space = space_of(kind, 1 if space_is_simple(kind) else 2)
    dim = space.mesh.dim
    slope = np.arange(1.0, dim + 1.0)

    def exact(x, t):
        return 0.3 + np.tensordot(slope, np.asarray(x), 1)

    through = anisotropic(dim) @ slope
    boundary = {
        "left": Neumann(-through[0]),
        "right": Robin(2.0, lambda x, t: through[0] + 2.0 * exact(x, t)),
    }
    if dim > 1:
        boundary |= {"bottom": TotalFlux(7.0), "top": Neumann(through[1])}
    if dim > 2:
        boundary |= {
            "front": Robin(0.5, lambda x, t: -through[2] + 0.5 * exact(x, t)),
            "back": Dirichlet(exact),
        }
    diffusion = operator(space, anisotropic(dim), boundary)
    u = space.project([exact])
    rate = (diffusion.apply(u) + diffusion.load(0.0)) * space.mesh.cell_measures
    # a total flux belongs to convection, which takes all of it: here D∇u·n is missing at the bottom
    total = rate[0, 0].sum()
    assert total == pytest.approx(through[1] if dim > 1 else 0.0, abs=1e-11)
    if dim == 1:
        np.testing.assert_allclose(rate, 0.0, atol=1e-11)


def space_is_simple(kind):
    return kind in ("line", "triangle", "tetrahedron")


@pytest.mark.parametrize("contrast", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("kind", ["line", "triangle", "quadrilateral"])
def test_jumping_diffusion(kind, contrast):
    """A broken line u with continuous D∂_xu is reproduced, whatever the ratio of the diffusions."""
    mesh = box_mesh(kind, 4, 0.0, turned=True)
    mesh = mesh.with_subdomains({"thick": lambda x: x[0] < 0.5, "thin": lambda x: x[0] > 0.5})

    def exact(x, t):
        return np.where(x[0] < 0.5, x[0] - 0.5, contrast * (x[0] - 0.5))

    space = BrokenSpace(from_skfem(mesh), 1)
    diffusion = operator(space, {"thick": contrast, "thin": 1.0}, Dirichlet(exact))
    u = space.project([exact])
    rate = diffusion.apply(u) + diffusion.load(0.0)
    np.testing.assert_allclose(rate, 0.0, atol=1e-10 * contrast)
    values = np.linalg.eigvalsh(diffusion.matrix.toarray())
    assert values.max() < 0.0
    if contrast > 1.0:  # weights keep the penalty at the interface that of the weaker side
        plain = operator(space, {"thick": contrast, "thin": contrast}, Dirichlet(exact))
        middle = np.flatnonzero(
            np.abs(space.mesh.facet_points(np.full((space.mesh.dim - 1, 1), 0.5))[0, 0] - 0.5) < 1e-9
        )
        minus, plus = space.mesh.facets.cells[:, middle[0]]
        block, other = (
            d.matrix.toarray().reshape(*2 * (space.mesh.size, space.modes)) for d in (diffusion, plain)
        )
        assert np.abs(block[minus, :, plus]).max() < 5.0 / contrast * np.abs(other[minus, :, plus]).max()


def test_one_sided_diffusion_has_no_flux_through_the_interface():
    mesh = box_mesh("line", 4).with_subdomains({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})
    space = BrokenSpace(from_skfem(mesh), 2)
    diffusion = operator(space, {"a": 1.0, "b": 0.0}, Dirichlet(0.0))
    u = np.random.default_rng(0).normal(size=(1, 3, 4))
    rate = diffusion.apply(u)
    assert np.isfinite(rate).all()
    np.testing.assert_array_equal(rate[:, :, 2:], 0.0)


def test_only_some_components_diffuse():
    space = space_of("triangle", 1)
    equation = DiffusivePSystem(0.1, dim=2)
    diffusion = Diffusion(space, equation, InteriorPenalty(), Dirichlet((1.0, 2.0, 3.0)))
    u = np.random.default_rng(0).normal(size=(3, space.modes, space.mesh.size))
    rate, load = diffusion.apply(u), diffusion.load(0.0)
    np.testing.assert_array_equal(rate[0], 0.0)
    np.testing.assert_array_equal(load[0], 0.0)
    np.testing.assert_allclose(load[2], 1.5 * load[1], atol=1e-12)
    solved = diffusion.solve(u, 0.3)
    np.testing.assert_allclose(solved - 0.3 * diffusion.apply(solved), u, atol=1e-11)
    np.testing.assert_array_equal(solved[0], u[0])


@pytest.mark.parametrize("kind", ["line", "quadrilateral", "hexahedron"])
def test_degree_zero_is_the_two_point_flux(kind):
    space = space_of(kind, 0, n=4, perturbation=0.0)
    diffusion = operator(space, 0.5, Dirichlet(lambda x, t: x[0]))
    u = space.project([lambda x, t: x[0]])
    np.testing.assert_allclose(diffusion.apply(u) + diffusion.load(0.0), 0.0, atol=1e-11)
    middle = np.argmin(np.abs(space.mesh.centroids - 0.375).sum(axis=0))
    unit = np.zeros_like(u)
    unit[0, 0, middle] = 1.0
    assert diffusion.apply(unit)[0, 0, middle] == pytest.approx(-0.5 * 2 * space.mesh.dim * 16.0)


def test_degree_zero_needs_orthogonal_cells():
    operator(space_of("line", 0, n=4, perturbation=0.3), 1.0, Dirichlet(0.0)).matrix  # noqa: B018
    for kind, matrix in (("triangle", 1.0), ("quadrilateral", 1.0)):
        space = space_of(kind, 0, n=3, perturbation=0.2)
        with pytest.raises(ValueError, match="degree: expected at least 1 for diffusion"):
            operator(space, matrix, Dirichlet(0.0)).matrix  # noqa: B018
    flat = space_of("quadrilateral", 0, perturbation=0.0)
    with pytest.raises(ValueError, match="degree: expected at least 1 for diffusion"):
        operator(flat, anisotropic(2), Dirichlet(0.0)).matrix  # noqa: B018


def test_transfer_coefficient_must_not_change_in_time():
    with pytest.raises(ValueError, match="boundary 'boundary': expected alpha independent of time"):
        operator(space_of("line", 1), 1.0, Robin(lambda x, t: 1.0 + t))


@ALL
def test_spectral_radius(kind):
    space = space_of(kind, 2)
    diffusion = operator(space, 0.3, Dirichlet(0.0))
    scale = np.repeat(space.mesh.cell_measures**-0.5, space.modes)
    exact = np.linalg.eigvalsh(-scale[:, None] * diffusion.matrix.toarray() * scale).max()
    assert exact * (1.0 - 1e-6) <= diffusion.spectral_radius <= 1.03 * exact


def test_failed_solves_tell_their_residual():
    with pytest.raises(SolveError, match="singular") as caught:
        Factorisation(np.zeros((3, 3)))
    assert caught.value.residual == np.inf
    matrix, rhs = np.array([[1e-18, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    good = Factorisation(matrix)  # pivots on the diagonal lose digits, which refinement brings back
    np.testing.assert_allclose(good.solve(rhs), [1.0, 1.0], rtol=1e-14)
    np.testing.assert_array_equal(good.solve(np.zeros(2)), 0.0)
    assert np.isnan(good.solve(np.array([np.nan, 1.0]))).all()
    poor = Factorisation(matrix)
    poor._matrix = poor._matrix + np.array([[3.0, 0.0], [0.0, -4.0]])  # the factors are those of another one
    with pytest.raises(SolveError, match="relative residual of") as caught:
        poor.solve(rhs)
    assert caught.value.residual > 1e-10
