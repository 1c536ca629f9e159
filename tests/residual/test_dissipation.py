"""Growth rates that diffusion lowers, and the joint dual norm, against large matrices (T4)."""

import math

import numpy as np
import pytest
from test_nodal import CASES, Brute, burgers, slab_of, smooth_nodes

from stfem.data import polynomial_range
from stfem.meshes.grid import TensorGrid
from stfem.residual.dissipation import definite, exponents
from stfem.residual.growth_form import SHARES, GrowthDissipation
from stfem.spaces.legendre import gauss, legendre_values

FAR = (10**6,) * 3


def projected(function, grid, degree=6):
    """Modes of a function of x on every cell."""
    points, weights = gauss(degree + 4)
    table = (legendre_values(degree, points) * weights[:, None]).T
    axes = [
        (np.arange(n)[:, None] + points).ravel() * h for n, h in zip(grid.cells, grid.spacing, strict=True)
    ]
    values = function(np.stack(np.meshgrid(*axes, indexing="ij")))
    for i, n in enumerate(grid.cells):
        values = np.moveaxis(values, i, 0).reshape(n, len(points), *np.delete(values.shape, i))
        values = np.moveaxis(np.tensordot(table, values, axes=(1, 1)), 1, 0)  # (n, modes, …)
        values = values.reshape(-1, *values.shape[2:])
        values = np.moveaxis(values, 0, i)
    modes = values.reshape([k for n in grid.cells for k in (n, degree + 1)])
    dim = grid.dim
    return np.transpose(modes, [2 * i + 1 for i in range(dim)] + [2 * i for i in range(dim)])


def matrix_of(function, grid, diffusion, highest, share):
    """θ∇·D∇ + ½c on mean-zero trigonometric polynomials, from a fine transform."""
    dim, count = grid.dim, 4 * highest + 2
    axes = [np.arange(count) * length / count for length in grid.lengths]
    spectrum = np.fft.fftn(function(np.stack(np.meshgrid(*axes, indexing="ij")))) / count**dim
    ranges = [np.arange(-highest, highest + 1)] * dim
    n = np.stack(np.meshgrid(*ranges, indexing="ij")).reshape(dim, -1)
    n = n[:, np.any(n != 0, axis=0)]
    k = 2.0 * np.pi * n / np.reshape(grid.lengths, (-1, 1))
    convolution = spectrum[tuple(n[i][:, None] - n[i][None, :] for i in range(dim))]
    return 0.5 * convolution - share * np.diag(np.einsum("ik,ij,jk->k", k, diffusion, k)), n


def form_of(function, grid, diffusion, final_time=1.0, limit=FAR, degree=6, mean_free=True):
    field = projected(function, grid, degree)
    bounds = polynomial_range(field, grid.dim)
    return GrowthDissipation(grid, diffusion, field, bounds, final_time, limit[: grid.dim], mean_free)


def wave(x):
    return 12.0 * np.cos(2.0 * np.pi * x[0]) + 5.0 * np.sin(6.0 * np.pi * x[0]) + 1.0


def waves(x):
    return 9.0 * np.cos(2.0 * np.pi * x[0]) * np.sin(2.0 * np.pi * x[1]) - 3.0 * np.cos(2.0 * np.pi * x[1])


CASES_OF_RATES = [
    (wave, TensorGrid((1.0,), 24), np.array([[0.02]]), 60),
    (wave, TensorGrid((1.0,), 24), np.array([[0.5]]), 40),
    (waves, TensorGrid((1.0, 1.0), (8, 8)), np.array([[0.2, 0.05], [0.05, 0.1]]), 10),
]


@pytest.mark.parametrize(("function", "grid", "diffusion", "highest"), CASES_OF_RATES)
def test_rates_against_large_matrices(function, grid, diffusion, highest):
    found = form_of(function, grid, diffusion).rates
    for share, rate in zip(SHARES, found, strict=True):
        matrix, _ = matrix_of(function, grid, diffusion, highest, share)
        exact = 2.0 * float(np.linalg.eigvalsh(matrix)[-1])
        assert rate >= exact - 1e-6
        assert rate == pytest.approx(exact, abs=0.15 if grid.dim == 1 else 0.6)
    assert found[-1] < found[0]


def test_too_small_matrices_still_bound():
    function, grid, diffusion, highest = CASES_OF_RATES[0]
    exact = 2.0 * float(np.linalg.eigvalsh(matrix_of(function, grid, diffusion, highest, 1.0)[0])[-1])
    rates = [form_of(function, grid, diffusion, limit=(n,)).rates[-1] for n in (1, 3, 6, 12, 24)]
    assert min(rates) >= exact - 1e-6
    assert rates[-1] < rates[1]
    assert form_of(function, grid, diffusion, limit=(1,)).bounded_below(np.ones(1)) is None


def test_decay_of_constant_coefficients():
    """c = 0: the rate of Poincaré's inequality, −2λ₁."""
    grid = TensorGrid((1.0, 2.0), (4, 4))
    form = form_of(lambda x: 0.0 * x[0], grid, np.diag([0.3, 0.1]))
    assert form.rates[-1] == pytest.approx(-2.0 * 0.1 * np.pi**2, rel=1e-9)


@pytest.mark.parametrize("eps", [0.02, 0.005])
def test_viscous_shock(eps):
    """−tanh(x/2ε): pointwise 1/(4ε), with all of the dissipation 0.382/(4ε) (Pöschl and Teller).

    −e'' − sech²(y) e has the lowest eigenvalue −s² with s(s+1) = 1. Errors with mean zero grow less, the less
    the shorter the torus.
    """
    s = 0.5 * (math.sqrt(5.0) - 1.0)
    assert s**2 == pytest.approx(0.382, abs=1e-3)
    found = []
    for length, mean_free in ((60.0 * eps, False), (60.0 * eps, True), (240.0 * eps, True)):
        grid = TensorGrid((length,), int(3.0 * length / eps))

        def rate(x, length=length):
            return 1.0 / (2.0 * eps * np.cosh((x[0] - 0.5 * length) / (2.0 * eps)) ** 2)

        form = form_of(rate, grid, np.array([[eps]]), final_time=10.0, mean_free=mean_free)
        found.append(0.5 * form.rates[-1] * 4.0 * eps)
    assert found[0] == pytest.approx(s**2, rel=1e-3)
    assert found[1] < found[2] < found[0]


def test_exponents():
    start, stop = np.array([2.0, -4.0, -1.0]), np.array([4.0, -2.0, 1.0])
    found = exponents(start, stop, 2, 0.5)
    assert found.sum(axis=0) == pytest.approx([0.75, -0.75, 0.0])
    assert found[:, 2] == pytest.approx([-0.0625, 0.0625])
    # a rate that changes its sign on a piece may not decay there
    assert exponents(start, stop, 1, 0.5)[0, 2] == pytest.approx(0.125)


def joint_of(case):
    """Norms of a slab with everything, and R(1) at points."""
    _, bound, slab, split = slab_of(case, smooth_nodes, degree=3, scale=0.05)
    growth = split._growth_rate.rate(slab.time, lambda: split._modes(slab))
    rates = split._dissipative.rates(slab.time, growth, lambda: split._modes(slab), None)
    norms = split._quadratic.norms(slab, 0.0, growth, 1, False, True, rates)
    return norms, bound, slab, split


def test_joint_dual_norm_against_a_large_matrix():
    """∫⟨R, (σ + B)^{-1}R⟩ over a slab, with B of the slopes of û at many times."""
    case = (burgers(diffusion=0.05), 6, 2, None)
    norms, bound, slab, _ = joint_of(case)
    assert norms.joint is not None
    brute = Brute(slab_semi(case), bound, slab, 24, 9)
    highest = 40
    n = np.array([k for k in range(-highest, highest + 1) if k])
    x = brute.x[0]
    numbers = np.arange(-2 * highest, 2 * highest + 1)
    waves = np.exp(-2j * np.pi * numbers[:, None, None] * x / brute.grid.lengths[0])
    space = brute.weights[0] / brute.weights[0].sum() * brute.grid.cell_measure
    time = brute.weights.sum(axis=(1, 2)) / brute.grid.cell_measure
    slopes, residual = -brute.at(brute.u, (0,))[:, 0], brute.hyperbolic(1.0)[:, 0]
    measure = brute.grid.measure
    exact = np.zeros(len(norms.joint.start))
    for t, (c, r) in enumerate(zip(slopes, residual, strict=True)):
        of_c = (waves * (c * space)).sum(axis=(1, 2)) / measure
        of_r = (waves * (r * space)).sum(axis=(1, 2)) / np.sqrt(measure)
        form = np.diag(0.05 * (2.0 * np.pi * n / brute.grid.lengths[0]) ** 2)
        form = form - 0.5 * of_c[n[:, None] - n[None, :] + 2 * highest]
        low = of_r[n + 2 * highest]
        tau = (brute.t[t] - slab.time.start) / slab.time.duration
        sigma = 0.5 * (norms.joint.start + tau * (norms.joint.stop - norms.joint.start))
        least = float(np.linalg.eigvalsh(form)[0])
        for i, s in enumerate(sigma):
            assert s + least > 0.0
            exact[i] += time[t] * np.vdot(low, np.linalg.solve(form + s * np.eye(len(n)), low)).real
    assert np.all(norms.joint.squares[0] >= exact * (1.0 - 1e-6))
    # close to the largest eigenvalue linear interpolation in time costs more
    assert norms.joint.squares[0, 2:] == pytest.approx(exact[2:], rel=0.25)


def slab_semi(case):
    return slab_of(case, smooth_nodes, degree=3, scale=0.05)[0]


def test_rates_are_left_out_where_they_gain_nothing():
    *_, slab, split = slab_of((burgers(diffusion=1e-7), 6, 2, None), smooth_nodes, degree=3)
    assert split._dissipative.rates(slab.time, 3.0, lambda: split._modes(slab), None) is None
    for name in ("linear", "linear 2D, degenerate matrix"):
        *_, split = slab_of(CASES[name], smooth_nodes, degree=3)
        assert split._dissipative is None


def test_a_rank_one_diffusion_is_not_definite():
    """Round-off leaves a positive eigenvalue; and what is too small for a reciprocal is of no use."""
    vector = np.array([0.1, 0.7])
    rank_one = np.outer(vector, vector)
    assert not any(
        definite(scale * rank_one, 1.0) for scale in np.random.default_rng(0).uniform(0.1, 9.0, 50)
    )
    assert definite(rank_one + 1e-9 * np.eye(2), 1.0)
    assert definite(np.diag([1.0, 1e-30]), 1.0)
    assert not definite(np.diag([5e-324]), 1.0)
    assert not definite(np.diag([1e-140]), 1e30)
