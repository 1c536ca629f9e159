"""A tolerance on a Domain, in windows with meshes of their own: every certificate holds."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import skfem

import stfem
from stfem import Dirichlet, Domain, Outflow, Problem, ToleranceError, UnsupportedDomainError
from stfem.adaptivity import (
    MarchedSolution,
    TimeMarching,
    ToleranceCertificate,
    WholeInterval,
    mark_dorfler,
    mark_dorfler_coarsening,
    mark_maximum,
    refine,
)
from stfem.adaptivity.budget import Spent
from stfem.adaptivity.forecast import coarsenings, following, velocity
from stfem.adaptivity.mesh_search import StoppedError
from stfem.adaptivity.pace import Pace
from stfem.data import Polynomial
from stfem.equations import AdvectionDiffusion, Burgers
from stfem.problems import moving_front, outflow_layer, rotating_pulse
from stfem.reconstruction.unstructured import TwoStage
from stfem.spaces.broken import BrokenSpace


def line(cells=8):
    return skfem.MeshLine(np.linspace(0.0, 1.0, cells + 1))


def square(cells=3):
    return skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, cells + 1)] * 2)


def front(dim, eps, width=0.08, final_time=0.2):
    return moving_front(dim, eps, width, final_time, line() if dim == 1 else square())


def pulse(eps, final_time=0.15):
    """The rotating pulse on the square (0, 1)²: it starts in the middle of it and leaves nowhere."""
    return rotating_pulse(eps, 0.25, final_time, mesh=square())


def checked(result, tol, norm="bound"):
    assert isinstance(result, ToleranceCertificate)
    assert getattr(result, norm) <= tol
    assert 0.0 < result.error <= result.bound
    assert result.error_final <= result.bound_final
    assert result.error_energy <= result.bound_energy
    assert result.error_l1 <= result.bound_l1
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]
    total = result.history["alpha"].sum() ** 2 + result.history["beta"].sum()
    assert result.indicators_sq.sum() == pytest.approx(total, rel=1e-9)
    assert result.indicators_sq.shape == (result.solution.problem.domain.mesh().size,)
    assert result.history["time"][-1] == result.solution.time
    return result


@pytest.mark.parametrize("eps", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("make", [partial(front, 1), partial(front, 2), pulse])
def test_every_certificate_holds(make, degree, eps):
    problem = make(eps)
    tol = {1: 2e-2, 2: 5e-2}[problem.equation.dim]
    windows = []
    result = stfem.certify(problem, tol=tol, degree=degree, unproved=True, callback=windows.append)
    checked(result, tol)
    assert result.solution.time == problem.final_time
    assert result.search.attempts == tuple(windows)
    accepted = [window for window in windows if window.accepted]
    assert accepted[0].start == 0.0
    assert accepted[-1].stop == problem.final_time
    assert all(a.stop == b.start for a, b in pairwise(accepted))
    assert all(a.bound <= b.bound for a, b in pairwise(accepted))
    assert result.facts["changes"] == len(accepted) - 1
    assert result.facts["steps"] == sum(window.steps for window in accepted) == result.solution.steps
    assert result.solution.times[-1] == problem.final_time
    assert set(np.round(result.history["time"], 9)) <= set(np.round(result.solution.times, 9))
    # every window that was accepted is a certificate of its own
    errors = result.history["bound"]
    assert np.all(np.diff(errors[result.history["time"] > 0.0]) >= -1e-14)


@pytest.mark.parametrize(("norm", "name"), [("energy", "bound_energy"), ("l1", "bound_l1")])
def test_norms(norm, name):
    result = stfem.certify(front(1, 1e-3), tol=2e-2, norm=norm, degree=1, unproved=True)
    checked(result, 2e-2, name)


def test_sharper_reconstructions_need_fewer_unknowns():
    problem = front(1, 1e-4, 0.05, 0.1)
    runs = [
        checked(stfem.certify(problem, tol=1e-2, unproved=True, estimator=estimator), 1e-2)
        for estimator in (None, stfem.MeshEstimator((TwoStage(),)))
    ]
    assert runs[0].solution.semidiscretization.degree == 2
    assert runs[1].facts["dofs_mean"] < runs[0].facts["dofs_mean"]


def test_guaranteed_where_the_data_are():
    mesh = line().with_boundaries({"left": lambda x: x[0] == 0.0, "right": lambda x: x[0] == 1.0})
    domain = Domain(mesh, {"left": Dirichlet(0.0), "right": Outflow()})
    bump = Polynomial([0.0, 0.0, 16.0, -32.0, 16.0], dim=1)
    problem = Problem(AdvectionDiffusion(1.0, 1e-3), domain, bump, 0.3)
    result = stfem.certify(problem, tol=1e-2)
    assert result.guaranteed
    assert result.error is None
    # u_0 as a function: nothing is proved
    with pytest.raises(ToleranceError, match=r"no mesh makes the bound guaranteed .*initial value") as caught:
        stfem.certify(replace(problem, initial=lambda x: 16.0 * (x[0] * (1.0 - x[0])) ** 2), tol=1e-2)
    assert not caught.value.certificate.guaranteed


def test_nonlinear():
    x = [0.0, 0.0, 4.0, -8.0, 4.0]
    problem = Problem(Burgers(1, 1e-2), Domain(line(), Dirichlet(0.0)), Polynomial(x, dim=1), 0.2)
    result = stfem.certify(problem, tol=2e-2, degree=1, unproved=True)
    assert result.bound <= 2e-2
    # the finest run of all stands for u
    fine = stfem.solve(replace(problem, domain=Domain(line(400), Dirichlet(0.0))), degree=2)
    points = np.linspace(0.001, 0.999, 2001)[None]
    difference = result.solution.reconstruct()(points) - fine(points)
    assert np.sqrt(np.mean(difference**2)) <= result.bound_final


@pytest.fixture(scope="module")
def thin():
    """A thin front on a long way, with both strategies."""
    problem = front(1, 1e-4, 0.03, 0.4)
    return [
        checked(stfem.certify(problem, tol=4e-2, degree=1, unproved=True, strategy=strategy), 4e-2)
        for strategy in (TimeMarching(), WholeInterval())
    ]


def test_errors_that_grow():
    """With c < 0 early windows have to be better than later ones."""
    rate, pi = 3.0, np.pi

    def exact(x, t=0.0):
        return np.exp((rate - 1e-2 * pi**2) * t) * np.sin(pi * x[0])

    def source(x, t):
        return np.exp((rate - 1e-2 * pi**2) * t) * pi * np.cos(pi * x[0])

    equation = AdvectionDiffusion(1.0, 1e-2, reaction=-rate)
    domain = Domain(line(), Dirichlet(0.0))
    problem = Problem(equation, domain, exact, 0.5, source, exact)
    windows = []
    options = {"tol": 1e-3, "unproved": True, "callback": windows.append}
    result = stfem.certify(problem, strategy=TimeMarching(first_slab=0.01), **options)
    assert result.error <= result.bound <= 1e-3
    assert result.parts["growth"] > 4.0
    accepted = [window for window in windows if window.accepted]
    assert accepted[0].bound / accepted[0].stop < result.bound / 0.5


def test_the_mesh_follows_the_front(thin):
    solution = thin[0].solution
    for t in (0.05, 0.2, 0.35):
        mesh = solution.mesh_at(t).mesh()
        near = np.abs(mesh.centroids[0] - 0.25 - t) < 0.03
        assert mesh.cell_measures[near].max() <= mesh.cell_measures.max() / 4.0
    first, last = (solution.mesh_at(t).mesh() for t in (0.0, 0.4))
    # coarse again where the front was, fine where it was not yet
    for finer, coarser, place in ((first, last, 0.25), (last, first, 0.65)):
        counts = [np.count_nonzero(np.abs(m.centroids[0] - place) < 0.1) for m in (finer, coarser)]
        assert counts[0] > 1.5 * counts[1]
    with pytest.raises(ValueError, match=r"t: expected a time from 0 to 0\.4, got 0\.6"):
        solution.mesh_at(0.6)


def test_cheaper_than_one_mesh_for_all_times(thin):
    marched, whole = thin
    assert marched.facts["dofs_mean"] < 0.85 * whole.solution.values.size
    assert whole.solution.steps == whole.search.attempts[-1].steps
    assert list(whole.solution.nodes())[-1].time == 0.4  # it can be repeated


def test_a_layer_that_stays():
    """Where it is not resolved the bound is huge; the mesh finds it by itself."""
    mesh = square(4).with_boundaries(
        {
            "left": lambda x: x[0] == 0.0,
            "right": lambda x: x[0] == 1.0,
            "bottom": lambda x: x[1] == 0.0,
            "top": lambda x: x[1] == 1.0,
        }
    )
    problem = outflow_layer(2e-2, 0.05, mesh)
    result = checked(stfem.certify(problem, tol=2e-2, degree=2, unproved=True), 2e-2)
    cells = result.solution.problem.domain.mesh()
    right, left = (
        cells.cell_measures[near] for near in (cells.centroids[0] > 0.95, cells.centroids[0] < 0.5)
    )
    assert right.max() < 0.3 * left.min()


def test_solution():
    problem = front(2, 1e-3)
    result = stfem.certify(problem, tol=5e-2, degree=1, unproved=True)
    solution = result.solution
    assert isinstance(solution, MarchedSolution)
    assert solution.meshes[0][0] == 0.0
    assert solution.problem.domain is solution.meshes[-1][1]
    points = solution.problem.domain.sample(np.random.default_rng(0), 2000)
    difference = solution(points) - problem.exact(points, problem.final_time)[0]
    assert np.sqrt(np.mean(difference**2)) < 2.0 * result.error_dg + 0.01
    assert solution.values.shape == (1, 3, result.facts["cells"])


def test_runs_on_changing_meshes_are_not_repeated(thin):
    result = thin[0]
    assert result.facts["changes"] > 0
    with pytest.raises(ValueError, match="solution: expected one on a single mesh, got one whose mesh"):
        result.solution.nodes()


def test_files_and_pictures(tmp_path):
    problem = front(2, 1e-2, 0.3, 0.05)
    result = stfem.certify(problem, tol=1e-1, degree=1, unproved=True)
    path = result.solution.save(tmp_path / "solution.npz")
    loaded = stfem.Solution.load(path, result.solution.problem)
    np.testing.assert_array_equal(loaded.values, result.solution.values)
    written = stfem.io.write_vtk(tmp_path / "solution.vtu", result.solution, result)
    assert written is None or written.exists()
    again = stfem.Estimate.load(result.save(tmp_path / "estimate.npz"))
    assert again.bound == result.bound
    result.solution.plot(tmp_path / "solution.png")
    result.plot(tmp_path / "estimate.png")
    assert (tmp_path / "solution.png").exists()


def test_mass_is_kept_by_changes():
    """On a torus of triangles, without sources."""

    def exact(x, t=0.0):
        waves = np.sin(np.pi * (x[0] - 0.5 - t)) ** 2 + np.sin(np.pi * (x[1] - 0.5)) ** 2
        return np.exp(-waves / 0.05)

    domain = Domain(square(4), None, (0, 1))
    problem = Problem(AdvectionDiffusion((1.0, 0.0), 0.0), domain, exact, 0.4, exact=exact)
    result = stfem.certify(problem, tol=3e-2, unproved=True)
    assert result.error <= result.bound <= 3e-2
    assert result.facts["changes"] > 0
    sizes = []
    for part in (result.solution.mesh_at(0.0), result.solution.problem.domain):
        space = BrokenSpace(part.mesh(), 2)
        sizes.append(space.project(problem.initial)[0, 0] @ part.mesh().cell_measures)
    found = result.solution.values[0, 0] @ part.mesh().cell_measures
    assert found == pytest.approx(sizes[0], rel=1e-13)
    assert abs(sizes[1] - sizes[0]) > 1e-12 * sizes[0]  # of another projection it would be another


def test_the_search_says_what_it_did(capsys):
    result = stfem.certify(front(1, 1e-3), tol=1e-2, degree=1, unproved=True, progress=True)
    text = str(result.search)
    assert text.splitlines()[-1] == "the bound is at most 0.01"
    assert text.splitlines()[0].split() == [
        "cells",
        "degree",
        "unknowns",
        "dt",
        "bound",
        "to",
        "t",
        "seconds",
    ]
    repeated = sum(not window.accepted for window in result.search.attempts)
    assert text.count("repeated") == repeated
    shown = capsys.readouterr().err
    assert "tol 0.01" in shown
    assert "unknowns" in shown


def test_callback_ends_it():
    with pytest.raises(ToleranceError, match="the callback asked for it") as caught:
        stfem.certify(
            front(1, 1e-3, 0.03), tol=1e-2, degree=1, unproved=True, callback=lambda window: window.accepted
        )
    certificate = caught.value.certificate
    assert 0.0 < certificate.solution.time < 0.2
    assert certificate.history["time"][-1] == certificate.solution.time
    assert certificate.error <= certificate.bound <= 1e-2
    assert f"up to t = {certificate.solution.time:.4g}" in str(caught.value)


def test_limits():
    problem = front(2, 1e-4)
    with pytest.raises(ToleranceError, match="unknowns, beyond max_dofs=300") as caught:
        stfem.certify(problem, tol=1e-3, degree=1, unproved=True, max_dofs=300)
    assert caught.value.certificate is None
    with pytest.raises(ToleranceError, match=r"max_seconds=0.5 are over, at t = "):
        stfem.certify(problem, tol=1e-3, degree=1, unproved=True, max_seconds=0.5)


@pytest.mark.parametrize("strategy", [TimeMarching(), WholeInterval()])
def test_final_time_is_exact(strategy):
    problem = front(1, 1e-2, final_time=0.1 + 0.2)
    result = stfem.certify(problem, tol=5e-2, degree=1, unproved=True, strategy=strategy)
    assert result.history["time"][-1] == 0.1 + 0.2
    assert result.solution.time == 0.1 + 0.2


def test_slabs_get_shorter_where_time_stepping_dominates():
    problem = front(1, 1e-2, 0.1)
    windows = []
    strategy = TimeMarching(slabs=4, first_slab=0.05)
    options = {"tol": 2e-4, "degree": 2, "unproved": True, "callback": windows.append}
    checked(stfem.certify(problem, strategy=strategy, **options), 2e-4)
    repeated = [(a, b) for a, b in pairwise(windows) if not a.accepted]
    shorter = [(b.stop - b.start) / b.slabs < (a.stop - a.start) / a.slabs for a, b in repeated]
    slow = [a.temporal > 0.25 for a, _ in repeated]
    assert any(slow)
    assert shorter == slow
    assert all(b.cells > a.cells for a, b in repeated if a.temporal <= 0.25)


def test_pace():
    pace = Pace(1.0, 8, 0.3)
    times = pace.times(0.0)
    assert len(times) == 9
    assert times[-1] == 0.25
    assert pace.times(0.9)[-1] == 1.0
    pace.halve(0.0, "slow")
    pace.halve(0.0, "slow")
    assert len(pace.times(0.0)) == 33
    pace.halve(0.0, "slow")
    assert pace.times(0.0)[-1] == 0.125
    pace.adapt(0.125, 0.0, 0.0, 1.0)  # fewer slabs, then longer windows
    assert len(pace.times(0.0)) == 22
    for _ in range(9):
        pace.adapt(0.125, 0.0, 0.0, 1.0)
    assert len(pace.times(0.0)) == 5
    assert pace.times(0.0)[-1] > 0.125
    pace.adapt(0.125, 0.0, 0.0, 0.1)  # what moves away asks for shorter ones
    assert pace.times(0.0)[-1] < 0.125
    pace.adapt(1.0, 0.2, 0.5, 0.3)
    assert pace.times(0.0)[-1] == 1.0
    with pytest.raises(StoppedError, match="slow, with windows down to"):  # noqa: PT012
        for _ in range(50):
            pace.halve(0.0, "slow")


def test_nothing_to_do():
    """A solution that every mesh holds: no share of zero divides anything."""
    still = Problem(AdvectionDiffusion((1.0,), 1e-2), Domain(line(), Dirichlet(0.0)), 0.0, 0.3)
    for strategy in (TimeMarching(), WholeInterval()):
        result = stfem.certify(still, tol=1e-6, strategy=strategy)
        assert result.bound == 0.0
        assert result.history["time"][-1] == 0.3


def test_rules_are_callables():
    seen = []

    def watched(squares):
        seen.append(len(squares))
        return mark_maximum(squares, theta=0.2)

    strategy = TimeMarching(marking=watched, coarsening=partial(mark_dorfler_coarsening, theta=0.01))
    checked(stfem.certify(front(1, 1e-3), tol=1e-2, degree=1, unproved=True, strategy=strategy), 1e-2)
    assert seen


@pytest.mark.parametrize("kind", [TimeMarching, WholeInterval])
def test_arguments_of_strategies(kind):
    with pytest.raises(ValueError, match="initial_share: expected a number in"):
        kind(initial_share=1.0)
    with pytest.raises(TypeError, match="marking: expected a rule such as mark_dorfler, got 3"):
        kind(marking=3)
    with pytest.raises(ValueError, match="rounds: expected"):
        kind(rounds=0)
    with pytest.raises(TypeError, match=r"rounds: expected a whole number, got 2\.5"):
        kind(rounds=2.5)
    with pytest.raises(ValueError, match="slabs: expected"):
        TimeMarching(slabs=0)


def test_arguments():
    problem = front(1, 1e-3)
    with pytest.raises(TypeError, match="strategy: expected one such as TimeMarching"):
        stfem.certify(problem, tol=1e-2, strategy=TimeMarching)
    with pytest.raises(TypeError, match="certify: expected strategy only without degree"):
        stfem.certify(problem, degree=1, strategy=TimeMarching())
    with pytest.raises(TypeError, match="certify: expected dt only without tol"):
        stfem.certify(problem, degree=1, tol=1e-2, dt=0.1)
    with pytest.raises(UnsupportedDomainError, match="strategy: expected a problem on a Domain"):
        stfem.certify(moving_front(1), tol=1e-2, strategy=TimeMarching())
    quadrilaterals = skfem.MeshQuad.init_tensor(*[np.linspace(0.0, 1.0, 4)] * 2)
    with pytest.raises(UnsupportedDomainError, match="tol: expected a Domain of lines, triangles or tetra"):
        stfem.certify(moving_front(2, mesh=quadrilaterals), tol=1e-2)
    with pytest.raises(ValueError, match="lifted: expected no layers on a mesh that changes"):
        stfem.certify(problem, tol=1e-2, estimator=stfem.MeshEstimator(lifted=("right",)))


def test_budget():
    linear = Spent(before=1.0, after=2.0, linear=1.0, windows=4.0)
    assert linear.expected() == 5.0
    assert linear.factor(5.0) == pytest.approx(1.0)
    root = Spent(before=1.0, after=2.0, linear=0.0, windows=5.0)
    assert root.expected() == 4.0
    assert root.factor(np.sqrt(1.0 + 15.0 / 4.0)) == pytest.approx(0.5)
    assert Spent(1.0, 1.0, 0.5, 3.0).factor(2.0) == np.inf
    growing = Spent(1.0, 2.0, 1.0, 4.0, 2.0)
    assert growing.expected() == 10.0
    assert growing.within(10.0)
    assert not growing.within(9.9)
    assert not Spent(1.0, 2.0, 1.0, 0.5).within(1.9)  # whatever is to come, it is too large already
    assert growing.factor(2.0) == 0.0
    assert Spent(1.0, 2.0, 0.5, 3.0).factor(0.5) == 0.0


def test_forecast():
    """Sizes move with the flow; nothing is coarsened where fine ones arrive."""
    coarse = Domain(line(16), Dirichlet(0.0))
    centres = coarse.mesh().centroids[0]
    domain = refine(coarse, np.flatnonzero(np.abs(np.abs(centres - 0.5) - 0.25) < 0.05)).domain
    mesh = domain.mesh()
    places = mesh.centroids[0]
    fine = mesh.cell_measures < 1.0 / 20.0
    assert fine.sum() == 8

    def after(levels, way):
        result = following(domain, levels, [np.full((1, mesh.size), way)], 3).domain.mesh()
        return result.centroids[0][result.cell_measures < 1.0 / 20.0]

    # the fine cells to the left are to stay so, to the right not
    left = np.where(fine & (places < 0.5), 0, 9)
    found = after(left, 0.5)
    assert len(found) == 8
    found = after(left, 0.25)
    assert np.all(np.abs(np.abs(found - 0.375) - 0.125) < 0.07)
    assert len(found) == 8
    assert len(after(np.full(mesh.size, 1), 0.5)) == 0
    speeds = velocity(Burgers(1, 0.1), mesh, np.full((1, mesh.size), 0.3), 0.0)
    np.testing.assert_allclose(speeds, 0.3)
    flat = np.ones(16)
    rule = partial(mark_dorfler_coarsening, theta=0.2)  # three cells, sixteen times as large for q = d = 1
    assert coarsenings(flat, 70.0, rule, 1, 1, 3).sum() == 3
    assert coarsenings(flat, 50.0, rule, 1, 1, 3).sum() == 2
    assert not np.any(coarsenings(flat, 30.0, rule, 1, 1, 3))
    assert coarsenings(flat, np.inf, rule, 1, 1, 2).max() == 2
    assert mark_dorfler(flat, 0.5).size == 8


def bump():
    """A hat of degree four on a line with as many guarantees as there can be."""
    boundary = dict.fromkeys(("left", "right"), Dirichlet(0.0))
    initial = Polynomial([0, 0, 16.0, -32.0, 16.0], dim=1)
    return Problem(AdvectionDiffusion(1.0, 1e-3), Domain(named_line(3), boundary), initial, 0.1)


def named_line(cells):
    ends = {"left": lambda x: x[0] < 0.5, "right": lambda x: x[0] > 0.5}
    return line(cells).with_boundaries(ends)


@pytest.mark.parametrize("strategy", [TimeMarching(), WholeInterval()])
def test_initial_errors_below_rounding(strategy):
    with pytest.raises(ToleranceError, match="initial error no longer falls") as failure:
        stfem.certify(bump(), tol=1e-15, strategy=strategy)
    assert failure.value.certificate is None
    for limit in ({"max_seconds": 0.1}, {"max_dofs": 900}):
        with pytest.raises(ToleranceError, match=next(iter(limit))) as failure:
            stfem.certify(bump(), tol=1e-15, strategy=strategy, **limit)
        assert failure.value.search.attempts == ()


@pytest.mark.parametrize(
    ("marked", "error", "match"),
    [
        ([10**6], ValueError, "expected cells from 0 to 2, got 1000000"),
        ([-1], ValueError, "expected cells from 0 to 2, got -1"),
        ([0.5], TypeError, "expected numbers of cells"),
        ([True], TypeError, "expected numbers of cells"),
        (None, TypeError, "expected numbers"),
        ([], ToleranceError, "no cell is marked"),
        ([0], ToleranceError, "size of rounding errors"),
        ([1, 1], ToleranceError, "size of rounding errors"),
    ],
)
@pytest.mark.parametrize("strategy", [TimeMarching, WholeInterval])
def test_rules_mark_cells(strategy, marked, error, match):
    with pytest.raises(error, match=match):
        stfem.certify(bump(), tol=1e-3, strategy=strategy(marking=lambda _: marked))


def test_rules_of_coarsening_mark_cells():
    with pytest.raises(ValueError, match="expected cells from 0 to 3, got -1"):
        coarsenings(np.ones(4), 100.0, lambda _: [-1], degree=2, dim=1, most=3)


@pytest.mark.parametrize("strategy", [TimeMarching(), WholeInterval()])
def test_solutions_are_loaded_with_the_problem_as_it_was_posed(tmp_path, strategy):
    problem = front(1, 1e-3)
    result = stfem.certify(problem, tol=2e-2, degree=1, unproved=True, strategy=strategy)
    assert result.solution.problem.domain.mesh().size != problem.domain.mesh().size
    path = result.solution.save(tmp_path / "solution.npz")
    loaded = stfem.Solution.load(path, problem)
    np.testing.assert_array_equal(loaded.values, result.solution.values)
    with pytest.raises(ValueError, match="problem"):
        stfem.Solution.load(path, replace(problem, equation=AdvectionDiffusion(1.0, 0.5)))


def test_a_given_mesh_has_to_be_that_of_the_file(tmp_path):
    problem = front(1, 1e-2)
    path = stfem.solve(problem, degree=1).save(tmp_path / "solution.npz")
    domain = problem.domain
    with pytest.raises(ValueError, match=r"problem\.domain"):
        stfem.Solution.load(path, replace(problem, domain=refine(domain, [0]).domain))


def test_whole_intervals_have_one_mesh_and_a_history():
    result = stfem.certify(front(1, 1e-2), tol=5e-2, degree=1, unproved=True, strategy=WholeInterval())
    solution = result.solution
    assert solution.meshes == ((0.0, solution.problem.domain),)
    assert solution.mesh_at(0.1) is solution.problem.domain
    facts = result.facts
    assert (facts["dofs"], facts["dofs_mean"], facts["changes"]) == (solution.values.size,) * 2 + (0,)
    assert facts["steps"] == solution.steps
    assert stfem.estimate(solution).bound == pytest.approx(result.bound, rel=1e-9)


def test_runs_in_windows_on_one_mesh_are_repeated():
    strategy = TimeMarching(slabs=2, first_slab=0.01, follow=False, coarsening=lambda _: [])
    result = stfem.certify(bump(), tol=5e-2, degree=2, strategy=strategy)
    solution = result.solution
    assert result.facts["changes"] == 0
    assert result.facts["windows"] > 1
    last = list(solution.nodes())[-1]
    np.testing.assert_allclose(last.values, solution.values, rtol=0.0, atol=1e-12)
    estimate = stfem.estimate(solution)
    assert estimate.bound == pytest.approx(result.bound, rel=0.05)
    assert repr(solution).startswith("MarchedSolution(cells=")
    assert "\n" not in repr(solution)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"initial_correction": 3}, TypeError, "initial_correction: expected True, False"),
        ({"initial_correction": TwoStage()}, UnsupportedDomainError, "initial_correction: expected True"),
        ({"stepper": 3}, TypeError, "stepper: expected a stepper"),
        ({"degree": 1.5}, TypeError, "degree: expected a whole number, got 1.5"),
        ({"progress": 3}, TypeError, "progress: expected True or False, got 3"),
    ],
)
@pytest.mark.parametrize("strategy", [TimeMarching(), WholeInterval()])
def test_arguments_of_a_run_beside_a_tolerance(arguments, error, match, strategy):
    with pytest.raises(error, match=match):
        stfem.certify(bump(), tol=1e-2, strategy=strategy, **arguments)


def test_limits_without_a_tolerance():
    with pytest.raises(TypeError, match="expected max_seconds only with tol: either"):
        stfem.certify(bump(), tol=None, max_seconds=3)


def test_one_window_is_one():
    with pytest.raises(ToleranceError, match="after 1 window, 0 of them repeated"):
        stfem.certify(bump(), tol=5e-2, callback=lambda attempt: attempt.accepted)
