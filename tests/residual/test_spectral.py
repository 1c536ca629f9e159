"""The best splits of a residual against sums over frequencies of values at points (T3, optimal split)."""

import math

import numpy as np
import pytest
from test_nodal import CASES, Brute, linear, rough_nodes, slab_of, smooth_nodes

from stfem.residual.spectral import MULTIPLIERS
from stfem.spaces.legendre import gauss, legendre_values

#: Frequencies known to the brute way, per direction.
REACH = 60


def residual_of(name, pieces=1):
    """Norms with their spectrum, without interpolation in time, and R(1) at points of the slab."""
    semi, bound, slab, split = slab_of(CASES[name], smooth_nodes, degree=3, scale=0.02)
    norms = split._quadratic.norms(slab, 0.0, 0.0, pieces, False, True)
    points = 2 * bound.degree + 30 if bound.grid.dim == 1 else 2 * bound.degree + 8
    return norms, Brute(semi, bound, slab, points, 2 * slab.time.degree + 3)


def frequencies_of(brute, values, reach):
    """s = kᵀDk and ∫|R̂_k|² over the slab for all |n_i| ≤ reach, by sums over points."""
    grid, dim = brute.grid, brute.dim
    time = brute.weights.sum(axis=tuple(range(1, 1 + dim))).ravel() / grid.cell_measure
    weights = brute.weights[0] / brute.weights[0].sum() * grid.cell_measure
    spectrum = (values[:, 0] * weights).reshape(len(values), *values.shape[2:])
    numbers = np.arange(-reach, reach + 1)
    for i in range(dim):
        x = brute.x[i].max(axis=tuple(k for k in range(2 * dim) if k % dim != i))  # (points, cells)
        wave = np.exp(-2j * np.pi * numbers[:, None, None] * x / grid.lengths[i])
        # sums over the points and the cells of this direction; frequencies gather at the end
        spectrum = np.tensordot(spectrum, wave, axes=((1, 1 + dim - i), (1, 2)))
    energies = np.tensordot(time, np.abs(spectrum) ** 2, 1) / grid.measure
    k = np.stack(np.meshgrid(*(2 * np.pi * numbers / L for L in grid.lengths), indexing="ij"))
    return np.einsum("i...,ij,j...->...", k, brute.equation.diffusion, k), energies


@pytest.mark.parametrize(
    "name", ["linear", "linear, q = 3", "linear, half cells", "Burgers", "linear 2D, full matrix"]
)
def test_splits_against_all_frequencies(name):
    norms, brute = residual_of(name)
    reach = REACH if brute.dim == 1 else 18
    values = brute.hyperbolic(1.0)
    s, energies = frequencies_of(brute, values, reach)
    total = brute.integral(values**2)
    assert energies.sum() <= total * (1.0 + 1e-9)
    hyperbolic, dual = (part[0] for part in norms.spectrum.splits())
    assert len(hyperbolic) == MULTIPLIERS
    # every split covers the frequencies that the points resolve, with the multipliers of its groups
    groups = norms.spectrum
    edges = groups.rates[groups.rates > 0.0]
    place = np.clip(np.searchsorted(edges, s * (1.0 + 1e-12), side="right") - 1, 0, len(edges) - 1)
    for m, high, low in zip(groups._multipliers, hyperbolic, dual, strict=True):
        of_group = np.where(s > 0.0, m[groups.rates > 0.0][place], 1.0)
        kept = float((of_group**2 * energies).sum())
        moved = float(((1.0 - of_group) ** 2 * energies / np.where(s > 0.0, s, 1.0)).sum())
        assert kept <= high * (1.0 + 1e-9)
        # what the form leaves to a bound of its norm is not moved
        assert math.sqrt(moved) <= math.sqrt(low) + math.sqrt(groups.rest[0] / edges[0]) + 1e-9
        assert high <= 1.05 * kept + (total - float(energies.sum())) + 1e-6 * total
        assert low <= 1.05 * moved + 2.0 * total / edges[-1]


def test_everything_in_the_dual_norm_is_the_norm_of_a_primitive():
    """As λ → 0 what remains is ‖R − mean‖ in H^{-1}: in one dimension the norm of a primitive."""
    norms, brute = residual_of("linear")
    values, s = brute.hyperbolic(1.0)[:, 0], brute.s
    h, cells = brute.grid.spacing[0], brute.grid.cells[0]
    # ∫_0^s L_p = (L_{p+1}/√(2p+3) − L_{p−1}/√(2p−1)) / (2√(2p+1)) for p > 0, and s for p = 0
    _, weights = gauss(len(s))
    degree = len(s) - 1
    table = legendre_values(degree + 1, s)
    modes = np.einsum("q,qp,tqc->ptc", weights, table[:, : degree + 1], values)
    roots = np.sqrt(2.0 * np.arange(degree + 3) + 1.0)
    primitives = np.empty((len(s), degree + 1))
    primitives[:, 0] = s
    for p in range(1, degree + 1):
        lower = table[:, p - 1] / roots[p - 1]
        primitives[:, p] = 0.5 * (table[:, p + 1] / roots[p + 1] - lower) / roots[p]
    integral, whole = np.tensordot(primitives, modes, 1), modes[0]
    mean = whole.mean(axis=-1, keepdims=True)
    x = (np.arange(cells) + s[:, None]) * h
    before = np.cumsum(whole, axis=-1) - whole
    primitive = h * (integral + before) - mean * x[:, None, :]
    primitive = np.moveaxis(primitive, 0, 1)
    average = (primitive * brute.weights).sum(axis=(1, 2)) / (cells * brute.weights.sum(axis=(1, 2)))
    square = brute.integral(((primitive - average[:, None, None]) ** 2)[:, None])
    diffusion = float(brute.equation.diffusion[0, 0])
    assert norms.spectrum.duals[0].sum() == pytest.approx(square / diffusion, rel=2e-3)
    assert norms.spectrum.duals[0].sum() >= square / diffusion * (1.0 - 1e-6)


@pytest.mark.parametrize("pieces", [3, 8])
def test_pieces_add_up(pieces):
    whole, _ = residual_of("Burgers")
    cut, _ = residual_of("Burgers", pieces)
    for name in ("squares", "duals"):
        parts = getattr(cut.spectrum, name)
        assert parts.shape[0] == pieces
        assert parts.sum(axis=0) == pytest.approx(getattr(whole.spectrum, name)[0], rel=1e-5)


def test_splits_are_never_worse():
    """The members of the flux family stay; splits come on top."""
    norms, _ = residual_of("Burgers")
    plain = norms.piecewise((1.0,))
    assert plain[0].shape == (1, 1 + MULTIPLIERS)
    assert plain[0][0, 1:].max() <= plain[0][0, 0] * (1.0 + 1e-9)
    assert np.all(np.diff(plain[1][0, 1:]) <= 0.0)
    costs = norms.costs(0.01)
    assert costs.min() <= costs[:5].min()
    gains = norms.gains(0.01)
    assert 0.0 <= gains[1] < 1.0


def test_no_spectrum_without_definite_diffusion():
    for name in ("linear, no diffusion", "linear 2D, degenerate matrix"):
        *_, slab, split = slab_of(CASES[name], smooth_nodes, degree=3)
        assert split.norms(slab, level=1e15).spectrum is None
        assert split.spectral_gain(slab, 1.0) == 0.0


def test_known_products_do_not_outlive_the_choice_of_modes():
    """Rough nodes of different kinds make the form choose other modes; the spectrum follows."""
    _, bound, slab, split = slab_of((linear(), 6, 2, None), rough_nodes)
    first = split._quadratic.norms(slab, 0.0, 0.0, 1, False, True)
    split._quadratic._forms[0].restart(np.arange(bound.degree + 1))
    second = split._quadratic.norms(slab, 0.0, 0.0, 1, False, True)
    assert second.spectrum.squares.sum() >= first.spectrum.squares.sum() * (1.0 - 1e-9)
    assert second.spectrum.squares.sum() == pytest.approx(second.residual_sq.sum(), rel=1e-9)
    assert math.isclose(second.spectrum.rest.sum(), 0.0, abs_tol=1e-9 * second.residual_sq.sum())
