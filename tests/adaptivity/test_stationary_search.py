"""Problems without time: certificates, and meshes that are refined until a tolerance is met."""

import math
import pickle
from functools import partial

import numpy as np
import pytest
import skfem

import stfem
from stfem import Box, Dirichlet, Domain, MeshEstimator, Neumann, StationaryProblem, ToleranceError
from stfem.adaptivity import mark_dorfler, mark_maximum, sharp_estimator
from stfem.adaptivity.meshing import first_domain
from stfem.data import Polynomial
from stfem.equations import AdvectionDiffusion, Burgers
from stfem.problems import (
    circular_layer,
    hemker_channel,
    interior_layer,
    linear_advection_diffusion,
    rotating_corner,
    stationary_corner,
    stationary_layer,
)
from stfem.reconstruction import TwoStage, TwoStageMixed, VertexPatches


def triangles(cells=4):
    return skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, cells + 1)] * 2).with_defaults()


def heated(dim, eps=1e-2, **arguments):
    """Constant data: its bounds are guaranteed."""
    box = Box((0.0,) * dim, (1.0,) * dim, Dirichlet(0.0), **arguments)
    return StationaryProblem(AdvectionDiffusion((1.0, 0.5, 0.2)[:dim], eps, 1.0), box, source=1.0)


def sound(certificate):
    """No bound below an error."""
    lower, upper = certificate.enclosure
    assert certificate.effectivity >= 1.0
    assert certificate.effectivity_energy >= 1.0
    assert lower <= certificate.error_dg <= upper


class Watch:
    """A callback that looks at every certificate."""

    def __init__(self, stop_at=None):
        self.attempts, self.stop_at = [], stop_at

    def __call__(self, attempt):
        if attempt.certificate.error is not None:
            sound(attempt.certificate)
        self.attempts.append(attempt)
        return len(self.attempts) == self.stop_at

    def column(self, name):
        return np.array([getattr(attempt.certificate, name) for attempt in self.attempts])

    @property
    def dofs(self):
        return np.array([attempt.dofs for attempt in self.attempts])


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def test_certificate_on_one_mesh_is_the_estimate_of_the_solution():
    problem = interior_layer(1e-2, mesh=triangles())
    estimator = MeshEstimator((VertexPatches(), TwoStageMixed()))
    found = stfem.certify(problem, degree=1, estimator=estimator)
    alone = stfem.estimate(stfem.solve_stationary(problem, degree=1), estimator)
    assert isinstance(found, stfem.StationaryCertificate)
    assert found.bound == alone.bound
    assert found.estimate.facts["signature"] == found.solution.signature
    assert np.array_equal(found.indicators_sq, alone.indicators_sq)
    assert found.facts["seconds_solve"] > 0.0 < found.facts["seconds_estimate"]
    assert stfem.certify(heated(2), cells=3, degree=1).bound == pytest.approx(
        stfem.estimate(stfem.solve_stationary(heated(2), cells=3, degree=1)).bound
    )


@pytest.mark.parametrize(
    ("problem", "degree", "tol"),
    [
        (interior_layer(1e-2, upstream=0.25, mesh=triangles()), 1, 2e-3),
        (interior_layer(1e-4, upstream=0.25, mesh=triangles()), 2, 1e-2),
        (interior_layer(1e-3, reaction=0.0, mesh=triangles()), 1, 8e-2),
        (stationary_layer(2e-2, mesh=triangles()), 2, 1e-3),
        (stationary_corner(5e-2, mesh=triangles()), 1, 5e-3),
        (circular_layer(1e-3, mesh=triangles()), 2, 1e-2),
        (rotating_corner(1e-2, refinements=1), 1, 1e-3),
        (rotating_corner(0.0, refinements=1), 1, 1e-3),
    ],
    ids=["interior", "thin", "transport", "outflow", "corner", "circle", "re-entrant", "hyperbolic"],
)
def test_bounds_hold_on_every_mesh_until_the_tolerance(problem, degree, tol):
    watch = Watch()
    result = stfem.certify(problem, tol=tol, degree=degree, unproved=True, callback=watch)
    sound(result)
    assert tol / 20.0 <= result.bound <= tol
    search = result.search
    assert [a.bound for a in search.attempts] == [a.certificate.bound for a in watch.attempts]
    assert all(a.bound > tol for a in search.attempts[:-1])
    assert search.attempts[-1].dofs == result.solution.values.size
    assert np.all(np.diff(watch.dofs) > 0)
    assert all(attempt.certificate is None for attempt in search.attempts)
    assert str(search).splitlines()[-1] == f"the bound is at most {tol:g}"


@pytest.mark.parametrize("degree", [1, 2])
def test_orders_in_unknowns_and_fewer_of_them_than_without_adaptivity(degree):
    """A resolved layer: orders of smooth functions, (q + 1)/2 for u_h, at least that for the bound."""
    watch, uniform = Watch(), Watch()
    problem = stationary_corner(2e-2, 1.0, mesh=triangles())
    limits = {"tol": 1e-9, "degree": degree, "unproved": True}
    with pytest.raises(ToleranceError):
        stfem.certify(problem, max_dofs=7000, callback=watch, **limits)
    with pytest.raises(ToleranceError):
        stfem.certify(
            problem, max_dofs=7000, callback=uniform, marking=partial(mark_dorfler, theta=1.0), **limits
        )
    resolved = watch.dofs > 1500
    assert abs(slope(watch.dofs[resolved], watch.column("error_dg")[resolved]) + (degree + 1) / 2) < 0.3
    assert slope(watch.dofs[resolved], watch.column("bound")[resolved]) < -(degree + 1) / 2 + 0.2
    assert slope(watch.dofs[resolved], watch.column("bound_energy")[resolved]) < -degree / 2 + 0.2
    enough = watch.dofs[watch.column("bound") <= uniform.column("bound").min()].min()
    assert enough < 0.35 * uniform.dofs.max()


def test_bounds_keep_their_digits_in_tiny_cells():
    """Tiny cells at a singularity: what divergences weigh there must not drown fluxes (T5.2)."""
    watch = Watch()
    with pytest.raises(ToleranceError):
        stfem.certify(
            interior_layer(1e-2, mesh=triangles()),
            tol=1e-9,
            degree=2,
            unproved=True,
            max_dofs=6000,
            callback=watch,
        )
    smallest = [a.certificate.solution.semidiscretization.mesh.cell_diameters.min() for a in watch.attempts]
    assert smallest[-1] < 1e-7
    bounds = watch.column("bound_energy")
    assert bounds[-1] < 1.1 * bounds.min()


def test_cells_are_refined_where_the_layer_is():
    result = stfem.certify(circular_layer(1e-4, mesh=triangles()), tol=0.2, degree=1, unproved=True)
    mesh = result.solution.semidiscretization.mesh
    fine = mesh.cell_measures < np.quantile(mesh.cell_measures, 0.25)
    distance = np.abs(np.hypot(*(mesh.centroids - 0.5)) - 0.25)
    assert np.mean(distance[fine] < 0.06) > 0.95


def test_guaranteed_with_constant_data_in_all_dimensions():
    for dim, tol in ((1, 1e-3), (2, 2e-2), (3, 0.25)):
        result = stfem.certify(heated(dim), tol=tol, degree=1, cells=2)
        assert result.guaranteed
        assert result.bound <= tol
        sides = result.solution.semidiscretization.mesh.facets.names
        assert len(sides) == 2 * dim


def test_boxes_that_are_periodic_in_a_direction():
    box = Box((0.0, 0.0), (1.0, 1.0), {"bottom": Dirichlet(0.0), "top": Dirichlet(1.0)}, periodic=(0,))
    problem = StationaryProblem(AdvectionDiffusion((1.0, 0.3), 1e-1, 1.0), box, source=1.0)
    assert stfem.certify(problem, tol=2e-2, degree=1).bound <= 2e-2


def test_channel_around_a_cylinder_is_guaranteed():
    watch = Watch()
    result = stfem.certify(hemker_channel(5e-2, cells=1), tol=0.2, degree=2, callback=watch)
    assert result.guaranteed
    # true errors are not known; û of the finest mesh is within its bound of u
    finest = result.solution.reconstruct(TwoStageMixed())
    mesh = result.solution.semidiscretization.mesh
    points, weights = mesh.reference.quadrature(8)
    weights = weights[:, None] * mesh.cell_map(points).determinant
    for attempt in watch.attempts[-5:-1]:
        coarse = attempt.certificate.solution.reconstruct(TwoStageMixed())
        gap = math.sqrt(float((weights * (coarse(mesh.points(points)) - finest.at(points)[0]) ** 2).sum()))
        assert gap <= attempt.bound + result.bound


def test_energy_norm():
    problem = interior_layer(1e-2, upstream=0.25, mesh=triangles())
    result = stfem.certify(problem, tol=4e-3, degree=1, norm="energy", unproved=True)
    assert result.error_energy <= result.bound_energy <= 4e-3
    assert result.search.attempts[-1].bound == result.bound_energy
    with pytest.raises(ValueError, match="norm: expected one of l2, energy without time, got 'l1'"):
        stfem.certify(problem, tol=1e-2, degree=1, norm="l1")


def test_reconstructions_and_markings_of_the_caller():
    problem = interior_layer(1e-2, upstream=0.25, mesh=triangles())
    several = MeshEstimator((VertexPatches(), TwoStage(), TwoStageMixed()))
    common = {"tol": 5e-3, "degree": 1, "unproved": True}
    result = stfem.certify(problem, estimator=several, marking=mark_maximum, **common)
    alone = stfem.estimate(result.solution, MeshEstimator((TwoStageMixed(),)))
    assert result.bound <= alone.bound
    assert sharp_estimator(problem).reconstructions == (TwoStageMixed(),)
    assert sharp_estimator(interior_layer(0.0)).reconstructions == (TwoStage(),)


def failed(problem, match, **arguments):
    with pytest.raises(ToleranceError, match=match) as caught:
        stfem.certify(problem, **{"tol": 1e-6, "degree": 1} | arguments)
    return caught.value


def test_too_many_unknowns():
    error = failed(heated(2), r"the next mesh has \d+ unknowns, beyond max_dofs=200$", max_dofs=200)
    search, best = error.search, error.certificate
    assert best.bound == min(attempt.bound for attempt in search.attempts)
    assert best.search is not None
    assert max(attempt.dofs for attempt in search.attempts) <= 200
    assert f"got {best.bound:.3g} with {best.solution.semidiscretization.mesh.size} cells" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.certificate.bound == best.bound
    assert failed(heated(2), "got none: the next mesh has 96", max_dofs=50).certificate is None


def test_time_is_over():
    error = failed(heated(2), "of max_seconds=0.3 .* s are left", max_seconds=0.3)
    assert 0 < len(error.search.attempts) < 40
    assert error.search.seconds < 1.0


def test_callback_ends_a_search():
    watch = Watch(stop_at=3)
    error = failed(heated(2), "after 3 meshes in .*: the callback asked for it", callback=watch)
    assert len(watch.attempts) == len(error.search.attempts) == 3
    assert error.certificate.bound == watch.column("bound").min()


def test_bounds_that_are_not_guaranteed_have_to_be_accepted():
    error = failed(
        interior_layer(1e-2, mesh=triangles()), "no mesh makes the bound guaranteed .*unproved=True"
    )
    assert len(error.search.attempts) == 1
    assert not error.certificate.guaranteed


def test_tolerances_below_round_off():
    line = Box((0.0,), (1.0,), Dirichlet(0.0))
    parabola = StationaryProblem(AdvectionDiffusion(0.0, 1.0), line, source=2.0)
    assert "rounding errors alone are" in str(failed(parabola, "rounding", tol=1e-16, degree=2))
    # the second stage solves its systems with more digits lost than the residual itself has to lose
    error = failed(heated(1, 0.1), "has reached the size of rounding errors", tol=1e-13, degree=4)
    assert error.certificate.bound < 1e-9
    assert error.search.attempts[-1].dofs < 10_000


def test_bounds_that_belong_to_no_cell():
    error = failed(heated(2), "no cell is marked", marking=lambda squares: np.zeros(0, dtype=int))
    assert len(error.search.attempts) == 1


def test_solvers_that_fail(monkeypatch):
    from stfem.adaptivity import stationary

    solve, calls = stationary.solve_stationary, []

    def failing(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise MemoryError
        return solve(*arguments, **options)

    monkeypatch.setattr(stationary, "solve_stationary", failing)
    error = failed(heated(2), "the memory of this machine is full")
    assert len(error.search.attempts) == 3
    assert error.search.attempts[-1].failure
    assert error.certificate.bound == min(a.bound for a in error.search.attempts)
    assert "the memory of this machine is full" in str(error.search)
    monkeypatch.setattr(stationary, "solve_stationary", solve)
    early = stfem.Gmres(iterations=1, fill=1.0, drop=0.9)
    assert failed(heated(2), "GMRES|gmres|Gmres|iteration", solver=early).certificate is None


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"tol": math.nan}, ValueError, "tol: expected a tolerance"),
        ({"tol": 0.0}, ValueError, "tol: expected a tolerance"),
        ({"tol": -1.0}, ValueError, "tol: expected a tolerance"),
        ({"tol": math.inf}, ValueError, "tol: expected a tolerance"),
        ({"tol": "small"}, TypeError, "tol: expected a number"),
        ({"degree": None, "tol": None}, TypeError, "expected a degree for a problem without time"),
        ({"degree": 9}, ValueError, "degree"),
        ({"dt": 0.1, "cfl": 0.5}, TypeError, "expected dt, cfl with a problem in time only"),
        ({"max_dofs": math.nan}, ValueError, "max_dofs: expected a limit"),
        ({"max_seconds": 0.0}, ValueError, "max_seconds: expected a limit"),
        ({"callback": 3}, TypeError, "callback: expected a function, got a int"),
        ({"marking": "all"}, TypeError, "marking: expected a function, got a str"),
        ({"tol": None, "max_dofs": 10, "norm": "l2"}, TypeError, "expected norm, max_dofs with tol only"),
        ({"estimator": stfem.SplitEstimator()}, TypeError, "expected a MeshEstimator"),
        ({"cells": 0}, ValueError, "cells"),
    ],
)
def test_arguments_that_do_not_fit(arguments, error, match):
    with pytest.raises(error, match=match):
        stfem.certify(heated(2), **{"tol": 1e-2, "degree": 1} | arguments)


def test_problems_that_do_not_fit():
    squares = skfem.MeshQuad.init_tensor(*[np.linspace(0.0, 1.0, 3)] * 2)
    with pytest.raises(ValueError, match="expected a mesh of line, triangle, tetrahedron cells"):
        first_domain(Domain(squares, Neumann(0.0)))
    with pytest.raises(TypeError, match="cells: expected none for a Domain"):
        first_domain(Domain(triangles(), Neumann(0.0)), 4)
    ends = Box(0.0, 1.0, {"left": Dirichlet(1.0), "right": Dirichlet(-0.9)})
    with pytest.raises(TypeError, match="equation: expected a linear one"):
        stfem.certify(StationaryProblem(Burgers(1, 0.5), ends), tol=1e-2, degree=1)
    wave = linear_advection_diffusion(1, 1e-3)
    for name, value in (("marking", mark_maximum), ("solver", stfem.Gmres())):
        with pytest.raises(TypeError, match=f"{name}: expected it with a StationaryProblem only"):
            stfem.certify(wave, tol=1e-2, **{name: value})


def test_progress_shows_bound_unknowns_and_seconds(capsys):
    stfem.certify(heated(2), tol=0.1, degree=1, progress=True)
    shown = capsys.readouterr().err
    assert "tol 0.1" in shown
    assert all(word in shown for word in ("mesh", "bound", " s, now", "unknowns"))


def test_simplices_of_a_box_keep_names_and_size():
    sides = {1: ("left", "right"), 2: ("left", "right", "bottom", "top")}
    sides[3] = (*sides[2], "front", "back")
    for dim in (1, 2, 3):
        lower, upper = (0.1,) * dim, (0.4, 1.7, 3.3)[:dim]
        box = Box(lower, upper, dict.fromkeys(sides[dim], Dirichlet(0.0)))
        found = first_domain(box, 3)
        assert found.measure == pytest.approx(box.measure)
        mesh = found.mesh()
        assert sum(len(facets) for facets in mesh.facets.names.values()) == len(mesh.facets.boundary)
        assert first_domain(found) is found


def quartic():
    """u = p of degree four, with the flux given at the right end."""
    p = np.polynomial.Polynomial([1.0, 0.5, -2.0, 1.0, 1.0])
    ends = {"left": lambda x: x[0] < 0.5, "right": lambda x: x[0] > 0.5}
    mesh = skfem.MeshLine(np.linspace(0.0, 1.0, 3)).with_boundaries(ends)
    boundary = {"left": Dirichlet(1.0), "right": Neumann(float(p.deriv()(1.0)))}
    source = Polynomial((p.deriv() - p.deriv(2)).coef, dim=1)
    return StationaryProblem(AdvectionDiffusion(1.0, 1.0), Domain(mesh, boundary), source=source)


def test_bounds_that_rise_end_a_search():
    with pytest.raises(ToleranceError, match="rounding errors") as failure:
        stfem.certify(quartic(), tol=1e-9, degree=1, marking=lambda squares: [int(np.argmax(squares))])
    search, best = failure.value.search, failure.value.certificate
    assert best.bound == min(attempt.bound for attempt in search.attempts)
    assert search.attempts[-1].bound > best.bound


@pytest.mark.parametrize(
    "error", [ValueError("x: expected finite numbers"), stfem.SolverError("no solution")]
)
def test_later_meshes_that_fail_keep_the_best_certificate(monkeypatch, error):
    from stfem.adaptivity import stationary

    whole, calls = stationary.certify_stationary, []

    def failing(*arguments, **options):
        calls.append(arguments)
        if len(calls) > 2:
            raise error
        return whole(*arguments, **options)

    monkeypatch.setattr(stationary, "certify_stationary", failing)
    with pytest.raises(ToleranceError, match=str(error)) as failure:
        stfem.certify(quartic(), tol=1e-6, degree=1)
    bounds = [attempt.bound for attempt in failure.value.search.attempts]
    assert failure.value.certificate.bound == min(bounds) < np.inf
    assert len(bounds) == 3
    assert bounds[-1] == np.inf


@pytest.mark.parametrize(("marked", "error"), [([-1], ValueError), ([10**6], ValueError), ([0.5], TypeError)])
def test_rules_mark_cells(marked, error):
    with pytest.raises(error, match="marked: expected"):
        stfem.certify(quartic(), tol=1e-6, degree=1, marking=lambda _: marked)
