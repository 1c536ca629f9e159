"""What the campaigns have found, each with the input that showed it."""

import dataclasses
import itertools
import time

import numpy as np
import pytest
import skfem

import stfem
from stfem import data, equations, fluxes, plotting, reconstruction, semidiscretization, timestepping
from stfem.data import as_data, polynomial_range, sine
from stfem.io import container, save_solution
from stfem.meshes import TensorGrid

EXPECTED = r"expected .*, got"
CALLS, NOISE = itertools.count(), np.random.default_rng(0)
line = stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0))
resting = stfem.Problem(equations.Burgers(1), stfem.Torus(1.0), 0.0, 0.1)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: data.Constant(10**400, 1), ValueError),
        (lambda: data.Constant(np.ma.masked, 1), TypeError),
        (lambda: data.Constant(1.0, [[0, 1], [-1, 0]]), TypeError),
        (lambda: data.Polynomial([[10**400]]), TypeError),
        (lambda: sine(10**400), TypeError),
        (lambda: sine(1.0, amplitude=[1.0, 2.0]), TypeError),
        (lambda: sine(1.0) ** 10**9, ValueError),
        (lambda: sine(1.0) * np.ma.masked, TypeError),
        (lambda: sine(1.0)(np.zeros((1, 2)), 1e308), ValueError),
        (lambda: data.CallableData(np.cos, 1, with_time=False).sup(0.0, 2**64, "a"), TypeError),
        (lambda: data.Slab(0.0, "a", 1), TypeError),
        (lambda: data.CallableData(np.sin, 1), TypeError),
        (lambda: data.CallableData(int, 1), TypeError),
        (lambda: as_data(1.0, 1, 10**400, "u"), ValueError),
        (lambda: polynomial_range(np.full((2, 2), 1e308), 1), ValueError),
        (lambda: sine(1.0).project(None, 1, 0.0), TypeError),
        (lambda: sine(1.0).project(TensorGrid((1.0,), 2), 10**9, 0.0), ValueError),
        (lambda: sine(1.0).sup(0.0, "1", (1.0,)), TypeError),
        (lambda: stfem.Torus(itertools.repeat(1.0)), TypeError),
        (lambda: stfem.Box((0.0, 0.0), (1.0, 1.0), None, itertools.count()), TypeError),
        (lambda: TensorGrid((1.0,), itertools.count()), TypeError),
        (lambda: TensorGrid((1.0,), dict), TypeError),
        (lambda: equations.AdvectionDiffusion(1.0, dim=np.array([np.nan, np.inf])), TypeError),
        (lambda: equations.ScalarConservationLaw("a"), TypeError),
        (lambda: equations.ScalarConservationLaw([1j, 2.0]), TypeError),
        (lambda: equations.ShallowWater(gravity=1e308), ValueError),
        (lambda: equations.ShallowWater(lower=5e-324), ValueError),
        (lambda: equations.Acoustics(dim=10**18), ValueError),
        (lambda: equations.SymmetricSystem([[["."]]]), TypeError),
        (lambda: equations.StateSet(["a"], [1.0]), TypeError),
        (lambda: equations.is_diagonal(np.zeros(3)), ValueError),
        (lambda: stfem.problems.nonlinear_wave(power=np.array([2.0, 3.0])), TypeError),
        (lambda: stfem.problems.rotating_pulse(refinements=200), ValueError),
        (lambda: stfem.problems.ExactData(np.ones((1,) * 40)), ValueError),
        (lambda: stfem.Hermite("5"), TypeError),
        (lambda: reconstruction.kernel_coefficients([1], 2), TypeError),
        (lambda: reconstruction.kernel_coefficients(10**9, 2), ValueError),
        (lambda: reconstruction.TwoStage(first=5), TypeError),
        (lambda: stfem.SplitEstimator(reconstruction=None), TypeError),
        (lambda: fluxes.InteriorPenalty(1e308), ValueError),
        (lambda: timestepping.ButcherTableau("a", ((),), (1,), 10**6), ValueError),
        (lambda: timestepping.ButcherTableau("a", (), (), 1), ValueError),
        (lambda: timestepping.ButcherTableau.from_text("a", None, "1", 1), TypeError),
        (lambda: timestepping.ExplicitRungeKutta(4), TypeError),
        (lambda: timestepping.ImplicitRungeKutta(timestepping.RADAU3, solver=4), TypeError),
        (lambda: timestepping.number_of_steps(1.0, -(10**400)), ValueError),
        (lambda: semidiscretization.semidiscretize(None, 4, 1), TypeError),
        (lambda: save_solution("a", "a.npz"), TypeError),
        (lambda: plotting.bound_parts("a"), TypeError),
        (lambda: stfem.problems.stationary_layer(reaction=1e18), ValueError),
        (lambda: sine(1.0).sup(0.0, 1.0, (1.0, 2.0)), ValueError),
        (lambda: timestepping.ImplicitRungeKutta(timestepping.RADAU3, solver=type), TypeError),
        (lambda: stfem.adaptivity.sharp_estimator("a"), TypeError),
        (lambda: stfem.io.save_stationary("a", "a.npz"), TypeError),
        (lambda: sine(1.0, phase=1j), TypeError),
        (lambda: sine(1.0, amplitude=1j), TypeError),
        (lambda: data.cosine(1.0, 1j), TypeError),
        (lambda: sine("1"), TypeError),
        (lambda: sine(np.ma.array([1.0], mask=[True])), ValueError),
        (lambda: sine(1.0)(np.ma.array([[0.3]], mask=[[True]])), ValueError),
        (lambda: data.Polynomial(np.array([[1.0 + 2.0j], [0.0]])), TypeError),
        (lambda: data.Polynomial([["3"]]), TypeError),
        (lambda: data.Polynomial(np.ma.array([[1.0], [2.0]], mask=[[True], [False]])), ValueError),
        (lambda: data.Approximated(sine(1.0), error_sup="1"), TypeError),
        (lambda: stfem.problems.ExactData([sine(1.0)], decay="1"), TypeError),
        (lambda: equations.ScalarConservationLaw(b"1", dim=1), TypeError),
        (lambda: equations.Acoustics(-1.0), ValueError),
        (lambda: equations.DiffusivePSystem(dim="1"), TypeError),
        (lambda: equations.SymmetricSystem("ab"), TypeError),
        (lambda: stfem.SplitEstimator(spacing=2.5), TypeError),
        (lambda: stfem.SplitEstimator(members="abc"), TypeError),
        (lambda: stfem.adaptivity.mark_dorfler(np.array([1.0j, 2.0])), TypeError),
        (lambda: stfem.adaptivity.mark_maximum(np.ma.array([1.0, 2.0], mask=[True, False])), ValueError),
        (lambda: stfem.certify(resting, tol=10**400), ValueError),
        (lambda: stfem.solve(resting, cells=b"1", degree=1), TypeError),
        (lambda: stfem.solve(resting, cells=np.ma.array([1], mask=[True]), degree=1), TypeError),
        (lambda: stfem.solve(resting, cells=2, degree=1, history="False"), TypeError),
        (lambda: stfem.solve(resting, cells=2, degree=1, progress="no"), TypeError),
        (lambda: stfem.solve(resting, cells=2, degree=1, checkpoint="a\0b"), ValueError),
    ],
)
def test_a_clear_error_where_there_was_none(make, error):
    started = time.perf_counter()
    with pytest.raises(error, match="expected"):
        make()
    assert time.perf_counter() - started < 2.0


def test_functions_cannot_write_to_points():
    """A function that writes to its argument changes nothing but its copy."""

    def writing(x):
        x *= 0.5
        return x[0]

    datum = data.CallableData(writing, 1, with_time=False)
    x = np.array([[0.2, 0.4]])
    np.testing.assert_array_equal(datum(x), [0.1, 0.2])
    np.testing.assert_array_equal(x, [[0.2, 0.4]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, t: x[0] + next(CALLS),
        lambda x, t: NOISE.normal(size=x.shape[1:]),
    ],
    ids=["counting", "noisy"],
)
def test_functions_that_change_from_call_to_call(function):
    with pytest.raises(
        ValueError, match="source: expected the same values at every call with the same points"
    ):
        stfem.Problem(equations.Burgers(1), stfem.Torus(1.0), 0.0, 0.1, source=function)


def test_gradients_cannot_write_to_points():
    """Nor one that writes: what other functions get afterwards are the points themselves."""

    def writing(x, t):
        x *= 0.5
        return x

    problem = stfem.Problem(
        equations.Burgers(1), stfem.Torus(1.0), 0.0, 0.1, exact=lambda x, t: 0.0, exact_gradient=writing
    )
    x = np.array([[0.2, 0.4]])
    np.testing.assert_array_equal(problem.exact_gradient(x, 0.0), [[[0.1, 0.2]]])
    np.testing.assert_array_equal(x, [[0.2, 0.4]])


def test_fluxes_that_write_to_their_traces():
    def writing(equation, u_minus, u_plus, x, t, direction):
        u_minus *= 2.0
        return fluxes.flux_rusanov(equation, u_minus, u_plus, x, t, direction)

    problem = stfem.Problem(equations.Burgers(1), stfem.Torus(1.0), 0.0, 0.1)
    with pytest.raises(ValueError, match="flux: expected a function that leaves its traces alone"):
        stfem.solve(problem, cells=4, degree=1, flux=writing)
    with pytest.raises(ValueError, match=rf"flux: {EXPECTED} \(3,\)"):
        stfem.solve(problem, cells=4, degree=1, flux=lambda *given: np.zeros(3))


def swapped(u):
    return np.stack([u[1], u[0]])


def energy(u):
    return 0.5 * (u[0] ** 2 + u[1] ** 2)


BOX = equations.StateSet([-1.0, -1.0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("flux", "entropy", "message"),
    [
        (lambda u: u[0], energy, "flux, direction 0: expected shape"),
        (swapped, lambda u: u, "entropy: expected shape"),
        (lambda u: np.abs(u), energy, "flux, direction 0: expected a function of complex numbers"),
        (lambda u: u.sort() or u, energy, "leaves its states alone"),
        (lambda u: None, energy, "flux, direction 0: expected numbers"),
    ],
)
def test_functions_of_systems_are_probed(flux, entropy, message):
    with pytest.raises((ValueError, TypeError), match=message):
        equations.ConservationSystem((flux,), entropy, BOX)


def test_linear_systems_given_by_functions_are_systems():
    """The rounding of differences was taken for a growth that the constants of the entropy forbid."""
    system = equations.ConservationSystem((swapped,), energy, BOX)
    system.check()
    assert system.entropy.bounds.flux == (0.0,)


def test_constraints_are_sampled_where_they_bind():
    """A gas by functions: its own sampled constants passed the check only without constraints."""
    corner = equations.StateSet([0.5, -2.0], [2.0, 2.0], [[1.0, -1.0], [1.0, 1.0]])
    states = corner.sample(np.random.default_rng(0), 400)
    assert corner.contains(states).all()
    assert np.isclose(states[0], np.abs(states[1])).sum() > 20

    def flux(u):
        return np.stack([u[1], u[1] ** 2 / u[0] + 0.5 * u[0] ** 2])

    def eta(u):
        return 0.5 * u[1] ** 2 / u[0] + 0.5 * u[0] ** 2

    equations.ConservationSystem((flux,), eta, corner).check()


def test_a_mean_beside_given_values():
    equation = equations.AdvectionDiffusion(0.0, 0.1)
    with pytest.raises(ValueError, match=r"mean: expected none where .* determine the solution, got 1"):
        stfem.StationaryProblem(equation, line, 1.0, mean=1.0)
    closed = stfem.Box(0.0, 1.0, stfem.Neumann(0.0))
    assert stfem.StationaryProblem(equation, closed, 0.0, mean=1.0).mean == 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: stfem.Robin("a", 0.0),
        lambda: stfem.Robin(1.0, None),
        lambda: stfem.Dirichlet("a"),
        lambda: stfem.Neumann(np.nan),
        lambda: stfem.TotalFlux([[1.0]]),
    ],
)
def test_conditions_are_checked_when_they_are_made(make):
    with pytest.raises((ValueError, TypeError), match=r"(g|alpha): expected"):
        make()


def test_doubled_meshes():
    mesh = skfem.MeshTri().refined(1)
    twice = skfem.MeshTri(np.hstack([mesh.p, mesh.p]), np.hstack([mesh.t, mesh.t + mesh.p.shape[1]]))
    with pytest.raises(ValueError, match="mesh: expected every cell once, got 8 that lie on others"):
        stfem.Domain(twice, stfem.Dirichlet(0.0))


def test_coordinates_beyond_all_volumes():
    with pytest.raises(ValueError, match=r"finite coordinates up to 1e\+60"):
        stfem.Domain(skfem.MeshLine(np.array([0.0, 1.0, 1e308])), stfem.Dirichlet(0.0))


@pytest.mark.parametrize("cells", [10**18, np.uint64(2**64 - 1)])
def test_cells_of_boxes_beyond_memory(cells):
    problem = stfem.Problem(equations.AdvectionDiffusion(1.0, 0.1), line, 0.0, 0.1)
    for make in (
        lambda: stfem.solve(problem, cells=cells, degree=1),
        lambda: line.mesh(cells),
        lambda: stfem.solve_stationary(
            stfem.StationaryProblem(problem.equation, line, 1.0), cells=cells, degree=1
        ),
    ):
        with pytest.raises(ValueError, match=r"cells: expected at most .* memory of this machine"):
            make()


def test_growth_on_meshes_is_one_number():
    problem = stfem.Problem(equations.AdvectionDiffusion(1.0, 0.1), line, 0.0, 0.01)
    result = stfem.certify(problem, cells=4, degree=1)
    with pytest.raises(ValueError, match=r"expected one of a problem on a Torus.*parts\['growth'\]"):
        plotting.plot_growth(result)


def test_numbers_of_more_than_double_precision_become_plain():
    assert stfem.estimators.plain(np.longdouble(2)) == 2.0


def test_numbers_of_other_kinds_are_the_same_numbers():
    problem = stfem.Problem(equations.Burgers(1), stfem.Torus(1.0), 0.0, np.float32(0.5))
    assert problem.final_time == 0.5
    assert fluxes.InteriorPenalty(np.float32(8)).penalty == 8.0
    assert stfem.solve(problem, cells=np.array([4]), degree=np.int64(1)).semidiscretization.grid.cells == (4,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("indicators_sq", np.zeros((2, 3))),
        ("indicators_sq", np.zeros(2, dtype=complex)),
        ("indicators_sq", "ab"),
        ("history", {"time": np.ones((2, 2)), "bound": np.ones((2, 2))}),
        ("history", {"time": np.array(1.0)}),
        ("history", {"time": np.ones(2), "bound": np.ones(3)}),
        ("history", {"bound": np.array([1.0, np.nan])}),
        ("history", {"bound": np.ones(2, dtype=complex)}),
        ("history", {"bound": "ab"}),
    ],
)
def test_arrays_of_estimates_in_files(tmp_path, name, value):
    """Of certificates as of checkpoints of runs that are done."""
    path = tmp_path / "run"
    result = stfem.certify(resting, cells=2, degree=1, dt=0.05, checkpoint=path)
    saved = dataclasses.replace(result.estimate, **{name: value}).save(tmp_path / "estimate.npz")
    with pytest.raises(ValueError, match=rf"estimate\.npz, {name}.*: expected"):
        stfem.Estimate.load(saved)
    content = container.read(path, "checkpoint")
    content["finished"]["estimate"][name] = value
    with path.open("wb") as stream:
        container.dump(stream, "checkpoint", content)
    with pytest.raises(ValueError, match="run: expected the state of this run, got another"):
        stfem.certify(resting, cells=2, degree=1, dt=0.05, checkpoint=path)


@pytest.mark.parametrize("equation", [equations.AdvectionDiffusion(1.0, 0.1), equations.Burgers(1, 0.1)])
def test_boundary_data_are_asked_for_within_the_run(equation):
    """Their rates of change are differences, which would look beyond the final time at its end."""
    times = []

    def g(x, t):
        times.append(float(t))
        return 0.1 * t + 0.0 * x[0]

    problem = stfem.Problem(equation, stfem.Box(0.0, 1.0, stfem.Dirichlet(g)), 0.0, 0.1)
    assert stfem.certify(problem, cells=4, degree=1).bound < 1.0
    assert (min(times), max(times)) == (0.0, 0.1)


@pytest.mark.parametrize("speed", [1e99, 1e308])
def test_waves_beyond_all_time_steps(speed):
    """No time step was given, so that none is complained of."""
    problem = stfem.Problem(equations.AdvectionDiffusion(speed, 0.1), stfem.Torus(1.0), sine(2 * np.pi), 1.0)
    with pytest.raises(ValueError, match=r"problem: expected waves .*, got wave speeds of"):
        stfem.solve(problem, cells=8, degree=1)


def test_whole_numbers_in_files_that_arrays_cannot_hold(tmp_path):
    """Input 1359 of estimate.npz: a bound of 10**30 that is no float."""
    problem = stfem.problems.linear_advection_diffusion(dim=1, eps=1e-2)
    path = stfem.certify(problem, cells=8, degree=1).estimate.save(tmp_path / "estimate.npz")
    saved = container.read(path, "estimate")
    container.write(path, "estimate", saved | {"bound": 10**30})
    with pytest.raises(ValueError, match="bound: expected a float, got"):
        stfem.Estimate.load(path)
