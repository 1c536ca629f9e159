"""Table of callables: solving, time stepping, fluxes, reconstructions, estimators, marking and refining."""

from fractions import Fraction
from functools import cache
from itertools import islice

import numpy as np
from fuzz_entry import Entry
from fuzz_strategies import choice, floats, made, mesh, two_pi, unit
from hypothesis import strategies as st

import stfem
from stfem import adaptivity, equations, estimators, fluxes, reconstruction, semidiscretization, timestepping
from stfem.data import sine

_NAMES = ("torus", "burgers", "system", "box", "mesh")


@cache
def problem(name):
    """Small problems, one of every kind."""
    if name == "burgers":
        return stfem.Problem(equations.Burgers(1, 1e-3), stfem.Torus(1.0), sine(two_pi), 0.01)
    if name == "system":
        return stfem.Problem(equations.DiffusivePSystem(1e-3, 1), stfem.Torus(1.0), (1.0, sine(two_pi)), 0.01)
    equation = equations.AdvectionDiffusion(1.0, 1e-3)
    if name == "torus":
        wave = sine(two_pi)
        return stfem.Problem(equation, stfem.Torus(1.0), wave, 0.01)
    if name == "box":
        return stfem.Problem(equation, stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0)), sine(np.pi), 0.01)
    return stfem.Problem(equation, stfem.Domain(mesh("line", 2), stfem.Dirichlet(0.0)), sine(np.pi), 0.01)


@cache
def solution(name="torus", history=False):
    cells = None if name == "mesh" else 4
    return stfem.solve(problem(name), cells=cells, degree=1, history=history)


@cache
def stationary():
    return stfem.StationaryProblem(
        equations.AdvectionDiffusion(1.0, 0.1, 1.0), stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0)), 1.0
    )


@cache
def estimate(name="torus"):
    return stfem.estimate(solution(name))


problems = choice("torus", "burgers", "system", "box").map(problem)
solutions = choice(*_NAMES).map(solution)
grids = {"cells": choice(3, 4, np.int64(4), (4,), [3], np.array([4]), 4.0), "degree": choice(0, 1, 2, 1.0)}
steppers = made(
    lambda: timestepping.ExplicitRungeKutta(timestepping.RK4),
    lambda: timestepping.ImplicitExplicitRungeKutta(timestepping.ARK324L2SA),
)
SCHEME = {
    "dt": choice(0.005, 0.01, np.float32(0.005), 1),
    "stepper": steppers | st.none(),
    "flux": choice(fluxes.flux_rusanov, lambda *given: fluxes.flux_rusanov(*given)),
    "penalty": choice(None, fluxes.InteriorPenalty()),
    "initial_correction": st.booleans(),
    "progress": st.just(False),
}


def conserves_mass(given, found):
    """Periodic and without a source: the mean stays (up to round-off), and values are finite."""
    assert np.isfinite(found.values).all()
    if isinstance(given["problem"].domain, stfem.Torus):
        means = [values[:, 0].mean() for values in (found.initial, found.values)]
        assert abs(means[1] - means[0]) < 1e-12


def finite_solution(given, found):
    assert np.isfinite(found.values).all()


def bounds_error(given, found):
    assert found.bound >= 0.0
    assert found.bound >= found.bound_final >= 0.0
    assert found.enclosure[0] <= found.enclosure[1]
    if found.error is not None:
        assert found.bound >= found.error * (1.0 - 1e-9)


def marked(given, found):
    count = np.size(given["indicators_sq"])
    assert found.dtype.kind == "i"
    assert len(np.unique(found)) == len(found)
    assert np.all((found >= 0) & (found < count))


squares = {
    "indicators_sq": made(lambda: np.array([1.0, 0.0, 4.0]), lambda: [1, 2, 3], lambda: np.ones((2, 2)))
}
theta = {"theta": st.floats(0.1, 0.9)}
tolerance = {"tolerance": st.floats(0.0, 5.0)}
MARKING = {
    name: Entry(
        getattr(adaptivity, name),
        {**squares, **(tolerance if "equi" in name or "tolerance" in name else {})},
        {} if "tolerance" in name else theta,
        always=marked,
    )
    for name in adaptivity.__all__
    if name.startswith("mark_")
}
_DOMAIN = stfem.Domain(mesh("triangle", 1), stfem.Dirichlet(0.0))
_CHANGE = adaptivity.refine(_DOMAIN, [0])
states = {
    "u_minus": made(lambda: np.array([[1.0, 2.0]])),
    "u_plus": made(lambda: np.array([[0.5, -1.0]])),
    "x": made(lambda: np.zeros((1, 2))),
    "t": floats,
    "direction": st.just(0),
}
flux_arguments = {"equation": choice(equations.AdvectionDiffusion(1.0), equations.Burgers(1)), **states}
_A = ((), (Fraction(1, 2),))


class Decay:
    """u' = −u."""

    has_diffusion = False

    def rhs_hyperbolic(self, t, u, /):
        return -u

    def rhs_parabolic(self, t, u, /):
        return 0.0 * u


def decays(given, found):
    """RK4 for u' = −u up to T."""
    nodes = list(found)
    assert nodes[-1].time == float(given["final_time"]) or len(nodes) == 50
    assert np.isfinite(nodes[-1].values).all()


def split_options():
    return {
        "interpolant": choice(None, reconstruction.Hermite(5)),
        "spacing": choice(None, 1, 2),
        "temporal_share": st.floats(0.01, 0.5),
    }


TABLE = {
    "timestepping.StepControl": Entry(
        timestepping.StepControl,
        {"tol": choice(1e-3, 1, np.float32(0.1))},
        {"safety": choice(0.8), "growth": choice(2.0, 3), "shrink": choice(0.2), "smallest": choice(1e-8)},
        may_refuse=True,
    ),
    "adaptivity.sharp_estimator": Entry(adaptivity.sharp_estimator, {"problem": made(stationary)}),
    "adaptivity.certify_on_meshes": Entry(
        adaptivity.certify_on_meshes,
        {"problem": made(stationary), "tol": choice(0.1, 1), "degree": choice(1), "cells": choice(2, (4,))},
        {"norm": choice("l2", "energy"), "max_dofs": choice(500), "max_seconds": choice(5.0)},
        may_refuse=True,
    ),
    "solve": Entry(
        stfem.solve,
        {"problem": problems, **grids},
        {**SCHEME, "history": st.booleans()},
        oracle=conserves_mass,
        always=finite_solution,
        may_refuse=True,
    ),
    "solve.cfl": Entry(
        lambda cfl, dt=None: stfem.solve(problem("torus"), cells=4, degree=1, cfl=cfl, dt=dt),
        {"cfl": st.floats(0.2, 1.0)},
        {"dt": st.none()},
        always=finite_solution,
    ),
    "solve.mesh": Entry(
        lambda degree, cells=None, initial_correction=True: stfem.solve(
            problem("mesh"), cells=cells, degree=degree, initial_correction=initial_correction
        ),
        {"degree": choice(0, 1, 2, np.int64(1))},
        {"cells": st.none(), "initial_correction": choice(True, False)},
        always=finite_solution,
    ),
    "certify": Entry(
        lambda **given: stfem.certify(**given),
        {
            "problem": choice("torus", "burgers").map(problem),
            "cells": choice(3, (4,)),
            "degree": choice(1, 2),
        },
        {**SCHEME, "estimator": choice(None, stfem.SplitEstimator())},
        always=bounds_error,
        may_refuse=True,
    ),
    "certify.tol": Entry(
        lambda **given: stfem.certify(problem("torus"), **given),
        {"tol": choice(0.1, 1, np.float32(0.05))},
        {
            "norm": choice(None, "l2", "energy", "l1"),
            "max_dofs": choice(None, 10**4, 10**5),
            "max_seconds": choice(None, 20, 10.0),
            "callback": choice(None, lambda attempt: None),
            "unproved": choice(None, True, False),
        },
        always=bounds_error,
    ),
    "certify.domain": Entry(
        lambda **given: stfem.certify(problem("mesh"), **given),
        {"tol": choice(0.2, 1, np.float32(0.5))},
        {
            "degree": choice(None, 1, 2),
            "norm": choice(None, "l2", "energy", "l1"),
            "max_dofs": choice(None, 10**4),
            "max_seconds": choice(None, 20, 10.0),
            "callback": choice(None, lambda attempt: None),
            "unproved": choice(None, True),
            "strategy": choice(None, adaptivity.TimeMarching(), adaptivity.WholeInterval()),
        },
        always=bounds_error,
        may_refuse=True,
    ),
    "adaptivity.TimeMarching": Entry(
        adaptivity.TimeMarching,
        {},
        {
            "initial_share": choice(0.1, 0.5),
            "marking": choice(adaptivity.mark_dorfler, adaptivity.mark_maximum),
            "coarsening": choice(adaptivity.mark_dorfler_coarsening),
            "rounds": choice(1, np.int64(3)),
            "first_slab": choice(None, 1e-3),
        },
    ),
    "adaptivity.WholeInterval": Entry(
        adaptivity.WholeInterval,
        {},
        {
            "initial_share": choice(0.1, 0.5),
            "marking": choice(adaptivity.mark_dorfler, adaptivity.mark_maximum),
            "rounds": choice(1, np.int64(3)),
        },
    ),
    "estimate": Entry(
        stfem.estimate,
        {"solution": choice("torus", "burgers", "system").map(solution)},
        {"estimator": choice(None, stfem.SplitEstimator(spectral=False))},
        always=bounds_error,
    ),
    "solve_stationary": Entry(
        lambda **given: stfem.solve_stationary(**given),
        {"problem": made(stationary), "cells": choice(2, (3,)), "degree": choice(1, 2)},
        {
            "flux": choice(fluxes.flux_rusanov, fluxes.flux_upwind),
            "penalty": choice(None, fluxes.InteriorPenalty(20)),
            "solver": choice(None, stfem.Gmres()),
            "start": st.none(),
        },
        always=finite_solution,
    ),
    "stability_factor": Entry(
        stfem.stability_factor,
        {"solution": choice("torus", "burgers").map(solution)},
        {"starts": choice(1, 2), "intervals": choice(8, np.int64(16))},
    ),
    "Solution.__call__": Entry(
        lambda given, x: given(x),
        {"given": solutions, "x": made(lambda: np.array([[0.2, 0.5]]), lambda: [[0, 1]], lambda: [0.25])},
        receivers=("given",),
    ),
    "Solution.reconstruct": Entry(
        lambda given, rule=None: given.reconstruct(rule),
        {"given": choice("torus", "mesh").map(solution)},
        {"rule": st.none()},
        receivers=("given",),
    ),
    "StationarySolution.estimate": Entry(
        lambda estimator=None: stfem.solve_stationary(stationary(), cells=2, degree=1).estimate(estimator),
        {},
        {"estimator": choice(None, stfem.MeshEstimator())},
    ),
    "EquationProjection": Entry(
        lambda rate=None: stfem.solve(
            problem("box"), cells=2, degree=1, initial_correction=stfem.EquationProjection(rate)
        ),
        {},
        {"rate": choice(0.0, 1, lambda x: x[0])},
    ),
    "Gmres": Entry(
        stfem.Gmres,
        {},
        {
            "tolerance": choice(1e-8, 1e-3),
            "iterations": choice(10, np.int64(5)),
            "restart": choice(5, 20),
            "fill": choice(2.0, 10),
            "drop": choice(0.0, 1e-3),
            "warn": st.booleans(),
        },
    ),
    "Hermite": Entry(stfem.Hermite, {"degree": choice(3, 5, 15, np.int64(7))}),
    "reconstruction.Lagrange": Entry(reconstruction.Lagrange, {"degree": choice(1, 4)}),
    "Siac": Entry(stfem.Siac, {}, {"order": choice(None, 2, 4, np.int64(5))}),
    "reconstruction.SiacFilteredGradient": Entry(
        reconstruction.SiacFilteredGradient, {}, {"order": choice(None, 4)}
    ),
    "reconstruction.TwoStage": Entry(
        reconstruction.TwoStage,
        {},
        {
            "first": choice(reconstruction.VertexPatches()),
            "memory": choice(None, 1.0),
            "iterations": choice(None, 5),
        },
    ),
    "reconstruction.TwoStageMixed": Entry(
        reconstruction.TwoStageMixed,
        {},
        {"first": choice(reconstruction.VertexPatches()), "memory": choice(None, 1.0)},
    ),
    "reconstruction.Averaging": Entry(reconstruction.Averaging),
    "reconstruction.VertexPatches": Entry(reconstruction.VertexPatches),
    "reconstruction.kernel_coefficients": Entry(
        reconstruction.kernel_coefficients, {"degree": choice(0, 1, 2), "order": choice(2, 3)}
    ),
    "reconstruction.filter_stencil": Entry(
        reconstruction.filter_stencil,
        {"degree": choice(0, 1), "order": choice(2, 3), "input_degree": choice(0, 1)},
    ),
    "SplitEstimator": Entry(
        stfem.SplitEstimator,
        {},
        {
            "reconstruction": choice(stfem.Siac()),
            "members": choice((1.0,), [0, 0.5], np.array([0.5])),
            "spectral": st.booleans(),
            **split_options(),
        },
    ),
    "MeshEstimator": Entry(
        stfem.MeshEstimator,
        {},
        {
            "reconstructions": choice((reconstruction.VertexPatches(),)),
            "spacing": choice(None, 2),
            "temporal_share": st.floats(0.01, 0.5),
            "growth": choice(None, 1.0),
            "lifted": choice((), ("right",)),
            "initial_error": choice(None, 1.0, 0),
        },
    ),
    "estimators.AllL2Estimator": Entry(
        estimators.AllL2Estimator, {}, {"reconstruction": choice(stfem.Siac()), **split_options()}
    ),
    "estimators.AllDualEstimator": Entry(
        estimators.AllDualEstimator, {}, {"reconstruction": choice(stfem.Siac()), **split_options()}
    ),
    "estimators.PaperEstimator": Entry(
        estimators.PaperEstimator, {}, {"points": choice(None, 3), "times": choice(2, 3)}
    ),
    "estimators.plain": Entry(
        estimators.plain, {"value": floats | made(lambda: np.ones(2), lambda: {"a": 1})}
    ),
    "fluxes.InteriorPenalty": Entry(
        fluxes.InteriorPenalty, {}, {"penalty": choice(None, 10, 2.5, np.float32(8))}
    ),
    "fluxes.InteriorPenalty.coefficient": Entry(
        lambda **given: fluxes.InteriorPenalty().coefficient(**given),
        {"degree": choice(1, 2), "spacing": unit, "dim": choice(1, 2), "diagonal": st.booleans()},
    ),
    "fluxes.flux_upwind": Entry(
        fluxes.flux_upwind,
        {**flux_arguments, "equation": choice(equations.AdvectionDiffusion(1.0))},
        receivers=tuple(flux_arguments),
    ),
    "fluxes.flux_rusanov": Entry(fluxes.flux_rusanov, flux_arguments, receivers=tuple(flux_arguments)),
    "fluxes.flux_engquist_osher": Entry(
        fluxes.flux_engquist_osher, flux_arguments, receivers=tuple(flux_arguments)
    ),
    "semidiscretization.semidiscretize": Entry(
        semidiscretization.semidiscretize,
        {"problem": choice("torus", "box").map(problem), "cells": choice(2, (4,)), "degree": choice(0, 1)},
        {
            "flux": choice(fluxes.flux_rusanov),
            "penalty": choice(None, fluxes.InteriorPenalty()),
        },
    ),
    "semidiscretization.Semidiscretization": Entry(
        semidiscretization.Semidiscretization,
        {"problem": choice("torus", "system").map(problem), "cells": choice(2, (4,)), "degree": choice(0, 1)},
        {"flux": choice(fluxes.flux_rusanov), "penalty": choice(None, fluxes.InteriorPenalty())},
    ),
    "semidiscretization.UnstructuredSemidiscretization": Entry(
        semidiscretization.UnstructuredSemidiscretization,
        {"problem": choice("box").map(problem), "cells": choice(2, (4,)), "degree": choice(0, 1)},
        {"flux": choice(fluxes.flux_rusanov), "penalty": choice(None, fluxes.InteriorPenalty())},
    ),
    "timestepping.ButcherTableau": Entry(
        timestepping.ButcherTableau,
        {"name": st.just("midpoint"), "a": st.just(_A), "b": st.just((0, 1)), "order": choice(1, 2)},
        {
            "c": st.just((0, Fraction(1, 2))),
            "embedded": st.just((1, 0)),
            "embedded_order": st.just(1),
        },
        may_refuse=True,
    ),
    "timestepping.ButcherTableau.from_text": Entry(
        timestepping.ButcherTableau.from_text,
        {"name": st.just("midpoint"), "a": st.just("0; 1/2"), "b": st.just("0 1"), "order": choice(1, 2)},
        {"embedded": st.just("1 0"), "embedded_order": st.just(1)},
        may_refuse=True,
    ),
    "timestepping.ButcherTableau.stable_step": Entry(
        timestepping.RK4.stable_step, {"eigenvalues": made(lambda: [-1.0], lambda: np.array([1j, -1]))}
    ),
    "timestepping.ButcherTableau.stability_function": Entry(
        timestepping.RK4.stability_function, {"z": made(lambda: -1.0, lambda: np.array([1j, -1]))}
    ),
    "timestepping.AdditiveTableau": Entry(
        timestepping.AdditiveTableau,
        {
            "name": st.just("pair"),
            "explicit": st.just(timestepping.ARK324L2SA.explicit),
            "implicit": st.just(timestepping.ARK324L2SA.implicit),
            "order": choice(1, 2, 3),
        },
    ),
    "timestepping.ImplicitTableau": Entry(
        timestepping.ImplicitTableau,
        {"name": st.just("Euler"), "a": made(lambda: [[1.0]], lambda: np.ones((1, 1))), "order": st.just(1)},
    ),
    "timestepping.radau_iia": Entry(timestepping.radau_iia, {"stages": choice(1, 2, 3)}),
    "timestepping.ExplicitRungeKutta": Entry(
        timestepping.ExplicitRungeKutta, {"tableau": choice(timestepping.RK4, timestepping.SSPRK33)}
    ),
    "timestepping.ImplicitExplicitRungeKutta": Entry(
        timestepping.ImplicitExplicitRungeKutta, {"tableau": choice(timestepping.ARK324L2SA)}
    ),
    "timestepping.DiagonallyImplicitRungeKutta": Entry(
        timestepping.DiagonallyImplicitRungeKutta,
        {"tableau": choice(timestepping.ARK324L2SA.implicit)},
        {"solver": choice(None, stfem.Gmres())},
    ),
    "timestepping.ImplicitRungeKutta": Entry(
        timestepping.ImplicitRungeKutta,
        {"tableau": choice(timestepping.RADAU3)},
        {"solver": choice(None, stfem.Gmres())},
    ),
    "timestepping.default_stepper": Entry(
        timestepping.default_stepper, {"degree": choice(0, 1, 5), "diffusion_limits": st.booleans()}
    ),
    "timestepping.number_of_steps": Entry(
        timestepping.number_of_steps,
        {"final_time": choice(1, 0.3, np.float32(1)), "dt": choice(0.1, 2, np.inf)},
    ),
    "timestepping.integrate": Entry(
        lambda **given: list(
            islice(  # a long run is no mistake
                timestepping.integrate(Decay(), timestepping.ExplicitRungeKutta(timestepping.RK4), **given),
                50,
            )
        ),
        {
            "initial": made(lambda: np.ones((1, 2)), lambda: [1, 2]),
            "final_time": choice(1, 0.3),
            "dt": choice(0.1),
        },
        {"progress": choice(None, lambda n, steps: None)},
        always=decays,
    ),
    "adaptivity.refine": Entry(
        adaptivity.refine,
        {"domain": st.just(_DOMAIN), "marked": made(lambda: [0], lambda: np.array([1, 2]), list)},
    ),
    "adaptivity.coarsen": Entry(
        adaptivity.coarsen,
        {
            "domain": st.just(_CHANGE.domain),
            "marked": made(lambda: [0], lambda: np.array([1, 2]), list),
        },
    ),
    "adaptivity.transfer": Entry(
        adaptivity.transfer,
        {
            "change": st.just(_CHANGE),
            "u": made(lambda: np.ones((1, 3, _DOMAIN.mesh().size))),
            "degree": st.just(1),
        },
    ),
    **{f"adaptivity.{name}": entry for name, entry in MARKING.items()},
}
