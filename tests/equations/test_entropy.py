"""Entropies of systems: identities by quadrature, constants at random states, what checks notice (T4)."""

import copy
import math

import numpy as np
import pytest

from stfem import Problem, Torus, certify, testing
from stfem.data import Interval, Trigonometric
from stfem.equations import (
    Acoustics,
    BarotropicGas,
    CellStates,
    ConservationSystem,
    DiffusivePSystem,
    EntropyBounds,
    IsentropicEuler,
    IsothermalEuler,
    ShallowWater,
    StateSet,
    SymmetricSystem,
)
from stfem.problems import shallow_water

PI2 = 2.0 * math.pi
SYSTEMS = [
    *(DiffusivePSystem(0.1, dim, 0.7, 1.6, full) for dim in (1, 2, 3) for full in (False, True)),
    *(make(0.1, dim, 0.7, 1.6, 0.5) for dim in (1, 2, 3) for make in (IsothermalEuler, IsentropicEuler)),
    *(ShallowWater(0.1, dim, 0.7, 1.6, 0.5, gravity=2.0) for dim in (1, 2)),
    *(IsentropicEuler(0.1, 2, 0.7, 1.6, 0.5, exponent=gamma) for gamma in (2.5, 3.5)),
    *(Acoustics(1.3, 0.1, dim) for dim in (1, 2, 3)),
    SymmetricSystem([[[1.0, 2.0], [0.5, -1.0]]], 0.1, [[1.0, 0.0], [0.0, 4.0]]),
]
IDS = [f"{type(s).__name__}-{s.dim}-{n}" for n, s in enumerate(SYSTEMS)]
#: Constants with a factor that must be noticed.
WORSE = {
    "lower": ("convexity", 1.3),
    "dissipation": ("dissipation", 1.3),
    "flux_weight": ("flux weight", 0.3),
    "third": ("third", 0.2),
    "fourth": ("fourth", 0.1),
}


@pytest.mark.parametrize("equation", SYSTEMS, ids=IDS)
def test_constants_hold(equation):
    defects = testing.entropy_defects(equation)
    assert max(defects.values()) < 1e-7, defects
    equation.check()


@pytest.mark.parametrize("name", WORSE)
def test_wrong_constants_are_noticed(name):
    equation = DiffusivePSystem(0.1, 1, 0.7, 1.6, True) if "th" in name else ShallowWater(0.1, 1, 0.7, 1.6)
    entropy = copy.copy(equation.entropy)
    defect, factor = WORSE[name]
    setattr(entropy, name, factor * getattr(entropy, name))
    equation.carry(entropy)
    assert testing.entropy_defects(equation)[defect] > 1e-3
    with pytest.raises(ValueError, match=f"ShallowWater.entropy, {defect}|PSystem.entropy, {defect}"):
        equation.check()


@pytest.mark.parametrize("name", ["residual_weight", "initial_weight", "rate"])
@pytest.mark.parametrize("equation", [SYSTEMS[2], SYSTEMS[8], SYSTEMS[10]], ids=lambda e: type(e).__name__)
def test_weights_that_are_too_small_are_noticed(equation, name, monkeypatch):
    entropy = copy.copy(equation.entropy)
    whole, changed = getattr(entropy, name), copy.copy(equation)
    monkeypatch.setattr(entropy, name, lambda argument: 0.6 * whole(argument), raising=False)
    changed.carry(entropy)
    assert testing.entropy_defects(changed)[name.replace("_", " ")] > 1e-3


class WrongFlux(ShallowWater):
    """Twice the pressure: the energy is no entropy any more."""

    def flux(self, u, x, t, direction):
        result = super().flux(u, x, t, direction)
        result[1 + direction] += 0.5 * u[0] ** 2
        return result

    def jacobian_product(self, u, v, x, t, direction):
        result = super().jacobian_product(u, v, x, t, direction)
        result[1 + direction] += u[0] * v[0]
        return result

    def wave_speed(self, u, x, t, direction):
        return 2.0 * super().wave_speed(u, x, t, direction)


def test_an_entropy_that_does_not_fit_the_flux_is_refused():
    equation = WrongFlux(0.0, 1, 0.7, 1.6)
    assert testing.entropy_defects(equation)["compatibility"] > 0.1
    with pytest.raises(ValueError, match="compatibility"):
        Problem(equation, Torus(1.0), (1.0, 0.0), 1.0)


class Damped(ShallowWater):
    def __init__(self):
        super().__init__(0.0, 1)
        self.reaction = Trigonometric.number(1.0, 1)
        self.carry(self.entropy)


def test_a_reaction_beside_an_entropy_is_refused():
    with pytest.raises(ValueError, match="reaction: expected none beside an entropy"):
        Damped()


def test_an_equation_without_entropy():
    from stfem.equations import Burgers

    with pytest.raises(TypeError, match="expected one with an entropy, got Burgers"):
        testing.entropy_defects(Burgers())


class Fields:
    """Two random smooth periodic states u, û on a grid, with spectral derivatives."""

    def __init__(self, equation, seed, count=48):
        rng = np.random.default_rng(seed)
        self.dim = equation.dim
        axes = np.meshgrid(*(np.arange(count) / count,) * self.dim, indexing="ij")
        base = equation.entropy.states.sample(rng, 1)
        base[0] = 1.0
        self.count = count
        self.u, self.v = (self._random(rng, base, axes) for _ in range(2))

    def _random(self, rng, base, axes):
        fields = []
        for value in 0.3 * base[:, 0]:
            phase = sum(PI2 * rng.integers(-1, 2) * x for x in axes) + PI2 * rng.random()
            other = sum(PI2 * rng.integers(-1, 2) * x for x in axes) + PI2 * rng.random()
            fields.append(value + 0.08 * np.sin(phase) + 0.05 * np.cos(other))
        result = np.stack(fields)
        result[0] += 0.75  # volume or density about 1
        return result

    def slope(self, field, i):
        axis = field.ndim - self.dim + i
        k = np.fft.fftfreq(self.count, 1.0 / self.count)
        shape = [1] * field.ndim
        shape[axis] = self.count
        return np.fft.ifft(1j * PI2 * k.reshape(shape) * np.fft.fft(field, axis=axis), axis=axis).real

    def integral(self, values):
        return float(values.mean())


@pytest.mark.parametrize(
    "equation",
    [s for s in SYSTEMS if s.dim < 3],
    ids=[i for i, s in zip(IDS, SYSTEMS, strict=True) if s.dim < 3],
)
def test_relative_entropy_identity(equation):
    """Both sides of the identity of T4 by quadrature that is exact to rounding for smooth periodic fields."""
    fields, entropy, x = Fields(equation, 3), equation.entropy, np.zeros((equation.dim, *(1,) * equation.dim))
    u, v = fields.u, fields.v
    assert entropy.states.contains(u).all()
    e, hessian = u - v, entropy.hessian(v)
    work = entropy.gradient(u) - entropy.gradient(v)
    image = np.einsum("ij...,j...->i...", hessian, e)
    # what convection contributes to d/dt ∫η(u|û) ...
    convection = relative = diffusion = rest = 0.0
    step = 1e-4
    third = (entropy.hessian(v + step * e) - entropy.hessian(v - step * e)) / (2.0 * step)
    difference = entropy.hessian(u) - hessian
    for i in range(equation.dim):
        of_u, of_v = (equation.flux(s, x, 0.0, i) for s in (u, v))
        convection -= (work * fields.slope(of_u, i)).sum(axis=0) - (image * fields.slope(of_v, i)).sum(axis=0)
        remainder = of_u - of_v - equation.jacobian_product(v, e, x, 0.0, i)
        slope = fields.slope(v, i)
        relative -= (np.einsum("ij...,j...->i...", hessian, slope) * remainder).sum(axis=0)
        # ... and ∇·∇u, ∇·∇û in all components
        diffusion += (work * fields.slope(fields.slope(u, i), i)).sum(axis=0)
        diffusion -= (image * fields.slope(slope, i)).sum(axis=0)
        gap = fields.slope(e, i)
        rest -= np.einsum("i...,ij...,j...->...", gap, entropy.hessian(u), gap)
        rest -= 2.0 * np.einsum("i...,ij...,j...->...", gap, difference, slope)
        rest -= np.einsum("i...,ij...,j...->...", slope, difference - third, slope)
    scale = np.abs(convection).max()
    assert fields.integral(convection) == pytest.approx(fields.integral(relative), abs=1e-7 * scale)
    assert fields.integral(diffusion) == pytest.approx(
        fields.integral(rest), abs=1e-7 * np.abs(diffusion).max()
    )
    assert np.abs(relative).max() > 1e-4 * scale or isinstance(equation, SymmetricSystem)


@pytest.mark.parametrize("equation", SYSTEMS, ids=IDS)
def test_weights_of_a_cell_cover_its_states(equation):
    entropy, rng = equation.entropy, np.random.default_rng(4)
    centre = entropy.states.sample(rng, 40)
    inner = np.clip(centre, 0.9, 1.3) if equation.components == 1 else centre
    half = 0.02 * rng.random(inner.shape)
    box = Interval(inner - half, inner + half)
    weights = {name: getattr(entropy, name)(box) for name in ("residual_weight", "initial_weight")}
    for _ in range(20):
        state = inner + half * rng.uniform(-1.0, 1.0, inner.shape)
        for name, whole in weights.items():
            single = getattr(entropy, name)(Interval(state, state))
            gap = np.moveaxis(whole - single, -1, 0)
            assert np.linalg.eigvalsh(gap).min() >= -1e-12 * np.abs(whole).max()


def test_rates_of_a_cell_cover_its_states():
    entropy, rng = ShallowWater(0.1, 2, 0.7, 1.6, 0.5).entropy, np.random.default_rng(5)
    state = entropy.states.sample(rng, 50)
    forms = rng.normal(size=(len(entropy.forms), 50))
    around = CellStates(Interval(state - 0.01, state + 0.01), Interval(forms - 0.1, forms + 0.1))
    whole = entropy.rate(around)
    for _ in range(50):
        s = state + rng.uniform(-0.01, 0.01, state.shape)
        f = forms + rng.uniform(-0.1, 0.1, forms.shape)
        assert np.all(entropy.rate(CellStates(Interval(s, s), Interval(f, f))) <= whole + 1e-12)


def test_gas_at_rest_does_not_grow():
    """No slopes and no source: 2μ = 0, also in a uniform flow; a compression grows, an expansion does not."""
    entropy = IsothermalEuler(0.0, 1, 0.5, 2.0).entropy
    state = np.array([[1.0], [0.3]])
    forms = np.zeros((4, 1))

    def rate(slope):
        forms[1] = slope
        return float(entropy.rate(CellStates(Interval(state, state), Interval(forms, forms)))[0])

    assert rate(0.0) == pytest.approx(0.0, abs=1e-14)
    assert rate(-1.0) == pytest.approx(2.0, rel=1e-12)
    assert rate(1.0) == pytest.approx(0.0, abs=1e-12)


def water(u):
    return u[1] ** 2 / (2.0 * u[0]) + 0.5 * u[0] ** 2


def water_flux(u):
    return np.stack([u[1], u[1] ** 2 / u[0] + 0.5 * u[0] ** 2])


STATES = StateSet(np.array([0.85, -0.15]), np.array([1.15, 0.15]))


def test_constants_from_functions_alone():
    """Sampled and widened: close to the true ones, and named as what they are."""
    equation = ConservationSystem([water_flux], water, STATES, 1e-3)
    equation.check()
    bounds, exact = equation.entropy.bounds, ShallowWater(1e-3, 1, 0.85, 1.15, 0.15 / 0.85)
    u = STATES.sample(np.random.default_rng(1), 3000)
    eigenvalues = np.linalg.eigvalsh(np.moveaxis(exact.entropy.hessian(u), -1, 0))
    assert bounds.lower <= eigenvalues.min() <= 1.2 * bounds.lower
    assert eigenvalues.max() <= bounds.upper <= 1.2 * eigenvalues.max()
    assert np.allclose(equation.entropy.hessian(u), exact.entropy.hessian(u), atol=1e-8)
    affine = np.array([[1.0], [0.0]])  # in which the two entropies differ
    assert np.allclose(equation.entropy.gradient(u) - affine, exact.entropy.gradient(u), atol=1e-14)
    assert "2000 samples" in equation.entropy.assumption
    x, v = np.zeros((1, 1)), np.ones_like(u)
    assert np.allclose(equation.jacobian_product(u, v, x, 0.0, 0), exact.jacobian_product(u, v, x, 0.0, 0))
    assert np.allclose(equation.wave_speed(u, x, 0.0, 0), exact.wave_speed(u, x, 0.0, 0), rtol=1e-12)
    given = ConservationSystem([water_flux], water, STATES, 1e-3, bounds)
    assert given.entropy.assumption is None


def test_a_system_of_ones_own_is_certified():
    base = shallow_water(1, 1e-3, 0.05)
    own = ConservationSystem([water_flux], water, STATES, 1e-3)
    problem = Problem(own, base.domain, base.initial, 0.05, base.source, exact=base.exact)
    result, shipped = (certify(p, cells=12, degree=1) for p in (problem, base))
    assert 1.0 <= shipped.effectivity <= result.effectivity < 4.0
    assert np.allclose(result.solution.coefficients, shipped.solution.coefficients, atol=1e-14)
    assert not result.guaranteed
    assert any("samples" in sentence for sentence in result.assumptions)
    assert shipped.guaranteed


def test_an_entropy_that_is_not_convex_is_refused():
    with pytest.raises(ValueError, match="expected strictly convex"):
        ConservationSystem([water_flux], lambda u: u[0] ** 2 - u[1] ** 2, STATES)
    with pytest.raises(ValueError, match="compatibility"):
        ConservationSystem([water_flux], lambda u: u[0] ** 2 + u[1] ** 2, STATES).check()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 1.0, 1.0, 0.0, 0.0, ()), "0 < lower"),
        ((1.0, 0.5, 1.0, 0.0, 0.0, ()), "lower <= upper"),
        ((1.0, 2.0, 1.5, 0.0, 0.0, ()), "ratio <= 1"),
        ((1.0, math.inf, 1.0, 0.0, 0.0, ()), "finite"),
    ],
)
def test_impossible_bounds(arguments, message):
    with pytest.raises(ValueError, match=message):
        EntropyBounds(*arguments)


def test_state_sets():
    with pytest.raises(ValueError, match="lower < upper"):
        StateSet(np.ones(2), np.ones(2))
    states = ShallowWater(0.0, 1, 0.5, 2.0, 1.0).entropy.states
    inside = np.array([[1.0, 1.0, 0.6], [0.9, -1.0, 0.7]])
    assert states.contains(inside).tolist() == [True, True, False]
    sample = states.sample(np.random.default_rng(0), 500)
    assert states.contains(sample).all()
    assert np.abs(sample[1] / sample[0]).max() > 0.95
    with pytest.raises(ValueError, match="bounded"):
        ConservationSystem([water_flux], water, StateSet(np.full(2, -np.inf), np.full(2, np.inf)))
    empty = StateSet(np.zeros(1), np.ones(1), np.array([[-1.0]]), "none")
    with pytest.raises(ValueError, match="next to nothing"):
        StateSet(np.array([0.5]), np.ones(1), empty.constraints).sample(np.random.default_rng(0), 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BarotropicGas(1.0, 0.5), "γ ≥ 1"),
        (lambda: BarotropicGas(0.0, 1.4), "κ > 0"),
        (lambda: IsentropicEuler(lower=0.0), "state set"),
        (lambda: IsothermalEuler(speed=0.0), "speed"),
        (lambda: Acoustics(math.nan), "speed"),
        (lambda: SymmetricSystem([np.eye(2), np.eye(3)]), "one shape"),
        (lambda: SymmetricSystem([[[0.0, 1.0], [2.0, 0.0]]]), "symmetric"),
        (lambda: SymmetricSystem([np.zeros((2, 2))], 0.0, -np.eye(2)), "positive definite"),
        (lambda: SymmetricSystem([np.zeros((2, 2))], 0.0, np.eye(3)), "shape"),
        (lambda: Acoustics().carry(ShallowWater(dim=2).entropy), "expected 2 components, got 3"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
