"""Ranges of û for the entropy of a system, and what Gauss points leave out of an analytic flux (T4, T4.6)."""

import math
from dataclasses import replace

import numpy as np
import pytest
from test_growth import SLAB, random_modes, sampled

from stfem import Problem, SplitEstimator, Torus, certify
from stfem.data import sine
from stfem.equations import DiffusivePSystem, IsentropicEuler, ShallowWater
from stfem.meshes import TensorGrid
from stfem.problems import CATALOGUE, shallow_water
from stfem.residual.analytic import interpolation_defect_sq
from stfem.residual.entropy import EntropyMeasure
from stfem.spaces.legendre import gauss, legendre_values

PI2 = 2.0 * math.pi
SYSTEMS = ["diffusive_p_system", "viscous_p_system", "shallow_water", "isothermal_euler", "isentropic_euler"]


def gas_modes(equation, cells, size=0.01, seed=0):
    """û near the uniform state (1, 0, …) on the slab."""
    modes = size * random_modes(equation.dim, 3, cells, equation.components, seed)
    modes[0, 0, *(0,) * equation.dim] += 1.0
    return modes


def measured(problem, grid, modes, degree=3):
    measure = EntropyMeasure(problem, problem.equation.entropy, grid, degree)
    half = grid.cells[0] // 2
    blocks = [(slice(0, half), modes[:, :, *(slice(None),) * grid.dim, :half])]
    blocks.append((slice(half, None), modes[:, :, *(slice(None),) * grid.dim, half:]))
    return measure.on(SLAB, blocks, 7, 7)


def still(equation, source=None):
    state = (1.0, *(0.0,) * equation.dim)
    return Problem(equation, Torus((1.0, 1.4)[: equation.dim]), state, 1.0, source)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dim", [1, 2])
def test_rate_of_the_p_system(dim, full, linear):
    """2μ ≥ sup −(∇·v̂ + g_τ)(2/τ̂ + 1/lower), taken together: a source that cancels ∇·v̂ leaves nothing."""
    equation = DiffusivePSystem(0.0, dim, 0.5, 2.0, full)
    grid = TensorGrid((1.0, 1.4)[:dim], (8, 6)[:dim])
    modes = gas_modes(equation, grid.cells)
    if linear:  # in space and time: then the ranges on a cell are sharp
        modes[2:], modes[:, :, 2:] = 0.0, 0.0
        modes[:, :, :, 2:] = modes[:, :, :, 2:] * (dim == 1)
    points = 21 if dim == 1 else 9
    slopes = [sampled(modes, dim, grid.spacing, i, points) for i in range(dim)]
    divergence = sum(slopes[i][:, 1 + i] for i in range(dim))
    source = np.zeros(1 + dim).tolist()
    source[0] = 0.05
    rate = measured(still(equation, tuple(source)), grid, modes).growth
    volume = sampled(modes, dim, grid.spacing, None, points)[:, 0]
    truth = float((-(divergence + 0.05) * (2.0 / volume + 1.0 / 0.5)).max())
    assert truth > 0.0
    assert truth - 1e-10 <= rate <= (1.1 if linear else 2.0) * truth
    source[0] = 100.0  # expansion everywhere
    assert measured(still(equation, tuple(source)), grid, modes).growth == 0.0


def test_weights_cover_all_states_on_a_cell():
    equation = ShallowWater(0.0, 2, 0.5, 2.0, 0.5)
    grid = TensorGrid((1.0, 1.4), (4, 3))
    modes = gas_modes(equation, grid.cells)
    found = measured(still(equation), grid, modes)
    whole = np.einsum("ijc,jkc->ikc", found.roots, found.roots).reshape(3, 3, 4, 3)
    values = np.moveaxis(sampled(modes, 2, grid.spacing, None, 7), 1, 0)
    depth, velocity = values[0], values[1:] / values[0]
    e = np.random.default_rng(0).normal(size=3)
    exact = 2.0 / depth**2 * sum((e[1 + i] - velocity[i] * e[0]) ** 2 for i in range(2)) + e[0] ** 2
    covered = np.einsum("i,ijxy,j->xy", e, whole, e)
    assert np.all(exact <= covered * (1.0 + 1e-12))
    assert np.all(covered <= 1.3 * exact.max(axis=(0, 1, 2)))
    assert found.root_weight == pytest.approx(
        max(np.linalg.norm(found.roots[..., c], 2) for c in range(12)), rel=1e-12
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [((0, 0.9), "within 0.5 ≤ u_0 ≤ 1.5"), ((1, 0.45), r"within 0 ≤ 0.4·u_0 \+ -1·u_1 ≤ inf")],
)
def test_state_set_is_verified(change, message):
    equation = ShallowWater(0.0, 1, 0.5, 1.5, 0.4)
    grid = TensorGrid((1.0,), (8,))
    modes = gas_modes(equation, grid.cells)
    measured(still(equation), grid, modes)
    component, height = change
    modes[0, component, 0, 3] += height
    with pytest.raises(ValueError, match=f"state set: expected the reconstruction {message}"):
        measured(still(equation), grid, modes)


def defect_by_quadrature(equation, grid, modes, points, times):
    """∫∫|N − IN|² per cell and unit of measure in one dimension, with many points."""
    table, slope = (
        (lambda s, order=0: legendre_values(modes.shape[2] - 1, s, order) / grid.spacing[0] ** order),
        1,
    )

    def convection(t, s):
        in_time = legendre_values(len(modes) - 1, t)
        u, v = (np.einsum("at,tmpc,sp->masc", in_time, modes, table(s, order)) for order in (0, slope))
        return equation.jacobian_product(u, v, np.zeros((1, 1, 1, 1)), 0.0, 0)

    nodes, (t, w), (s, v) = (gauss(times)[0], gauss(points)[0]), gauss(40), gauss(40)
    exact, known = convection(t, s), convection(*nodes)
    in_time = legendre_values(times - 1, t) @ np.linalg.inv(legendre_values(times - 1, nodes[0]))
    in_space = legendre_values(points - 1, s) @ np.linalg.inv(legendre_values(points - 1, nodes[1]))
    gap = exact - np.einsum("at,mtsc,bs->mabc", in_time, known, in_space)
    return np.einsum("a,b,mabc->c", w, v, gap**2)


@pytest.mark.parametrize(
    "equation", [DiffusivePSystem(0.0, 1), IsentropicEuler(0.0, 1), ShallowWater(0.0, 1)]
)
@pytest.mark.parametrize("size", [0.003, 0.03])
def test_interpolation_of_an_analytic_flux(equation, size):
    """The bound lies above the defect, and both fall with more points."""
    grid = TensorGrid((1.0,), (5,))
    modes = gas_modes(equation, grid.cells, size)
    before = np.inf
    for points in (4, 6, 8):
        bound = interpolation_defect_sq(equation, grid, modes, points, points)
        exact = defect_by_quadrature(equation, grid, modes, points, points)
        assert np.all(exact <= bound)
        assert np.all(bound < before)
        before = 0.3 * bound
    assert np.all(exact > 0.0)


def test_a_singularity_that_is_too_close_is_seen():
    equation, grid = DiffusivePSystem(0.0, 1), TensorGrid((1.0,), (5,))
    modes = gas_modes(equation, grid.cells)
    modes[0, 0, 1] = 0.5  # the line through 0 lies within the smallest ellipse
    assert np.isinf(interpolation_defect_sq(equation, grid, modes, 7, 7)).all()


def test_a_coarse_grid_that_proves_nothing_says_so():
    """û reaches so close to zero that the quadrature is not proved."""
    equation = DiffusivePSystem(0.0, 1, 0.02, 4.0)
    wave = 1.0 + sine(PI2, amplitude=0.7)
    problem = Problem(equation, Torus(1.0), (wave, 0.0), 1e-4)
    result = certify(problem, cells=4, degree=1)
    assert not result.guaranteed
    assert "not polynomial" in result.assumptions[-1]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("members", [(0.0,), (0.5,), (1.0,)])
def test_every_member_bounds_the_error(name, members):
    """λ = 0 pays with the flux weight, the share of the curvature and the coupling of p."""
    problem = CATALOGUE[name](1, 0.05, 0.02)
    result = certify(problem, cells=10, degree=1, estimator=SplitEstimator(members=members))
    assert result.parts["parabolic"] > 0.0 or members == (1.0,)
    assert 1.0 <= result.effectivity < 15.0
    assert 1.0 <= result.effectivity_energy < 25.0


@pytest.mark.parametrize("name", [*SYSTEMS, "acoustics"])
def test_weights_that_are_halved_break_the_bound(name, monkeypatch):
    """Effectivities are so close to 1 that an error of a factor two would not go unnoticed."""
    problem, whole = CATALOGUE[name](1, 1e-4, 0.05), EntropyMeasure.on
    assert certify(problem, cells=12, degree=1).effectivity >= 1.0

    def halved(*arguments):
        found = whole(*arguments)
        return replace(found, roots=0.5 * found.roots)

    monkeypatch.setattr(EntropyMeasure, "on", halved)
    assert certify(problem, cells=12, degree=1).effectivity < 1.0


def test_curvature_costs_dissipation_where_it_must():
    """Only where all components diffuse and D²η varies; the share grows with the diffusion."""
    shares = []
    for eps in (0.0, 1e-4, 1.0):
        problem = shallow_water(1, eps, 0.1)
        grid = TensorGrid((1.0,), (8,))
        entropy = problem.equation.entropy
        measure = EntropyMeasure(problem, entropy, grid, 3)
        modes = gas_modes(problem.equation, grid.cells, 0.005)
        found = measure.on(SLAB, [(slice(0, 8), modes)], 7, 7)
        assert (found.coupling > 0.0) is (eps > 0.0)
        shares.append(1.0 - entropy.flux_weight / measure.parabolic_factor)
    assert shares[0] == 0.0 < shares[1] < shares[2]
