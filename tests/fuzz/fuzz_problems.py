"""Table of callables: domains, conditions, problems, equations."""

import inspect
import math

import numpy as np
import skfem
from fuzz_entry import Entry
from fuzz_strategies import (
    advection,
    bounded,
    choice,
    conditions,
    domains,
    floats,
    functions,
    made,
    mesh,
    scalar_data,
    times,
    two_pi,
    unit,
)
from hypothesis import strategies as st

import stfem
from stfem import equations, problems
from stfem.data import sine

eps = st.sampled_from([0, 0.0, 1e-300, 1e-14, 1e-3, 0.1, 1, np.float32(0.25), np.int64(1)])
matrices = made(lambda: 0.1, lambda: np.eye(2), lambda: [[2, 1], [1, 2]], lambda: np.zeros((2, 2), int))


def valid_domain(given, found):
    assert math.isfinite(found.measure)
    assert found.measure > 0.0
    assert found.dim in (1, 2, 3)


def valid_problem(given, found):
    """Data of an accepted problem are finite and do not change from call to call."""
    x = found.domain.sample(np.random.default_rng(1), 5)
    for datum in (*getattr(found, "initial", ()), *found.source):
        try:
            values = datum(x, 0.0)
        except ValueError as error:  # of functions, told when they are called
            if "expected finite values" in str(error):
                continue
            raise
        assert values.shape == (5,)
        assert values.dtype == np.float64
        assert np.isfinite(values).all()
        assert np.array_equal(values, datum(x, 0.0))


def valid_equation(given, found):
    assert found.dim in (1, 2, 3)
    assert found.components >= 1
    for matrix in [found.diffusion] if found.subdomain_diffusion is None else []:
        assert np.linalg.eigvalsh(matrix)[0] >= -1e-12 * np.abs(matrix).max()


def swapped(u):
    return np.stack([u[1], u[0]])


def energy(u):
    return 0.5 * (u[0] ** 2 + u[1] ** 2)


def identity(u):
    return np.broadcast_to(np.eye(2).reshape(2, 2, *(1,) * (u.ndim - 1)), (2, 2, *u.shape[1:]))


_BOUNDS = equations.EntropyBounds(0.9, 1.1, 0.8, 1e-6, 1e-6, (1e-6,))
_BOX = equations.StateSet([-1.0, -1.0], [1.0, 1.0])
_OPTIONS = {
    "dim": st.just(2),
    "eps": st.sampled_from([1e-3, 0.01, 0.1]),
    "final_time": times,
    "width": st.floats(0.05, 0.3),
    "mesh": st.none(),
    "refinements": st.integers(0, 2),
    "power": choice(2, 3, 4),
    "alpha": unit,
    "cells": st.integers(1, 2),
    "reaction": unit,
    "angle": st.floats(0.1, 1.3),
    "upstream": unit,
    "radius": st.floats(0.1, 0.4),
}


def catalogued():
    """All problems of the catalogues, with the arguments that they have."""
    table = {}
    for pool in (problems.CATALOGUE, problems.BOUNDED, problems.STATIONARY):
        for name, factory in pool.items():
            optional = {key: _OPTIONS[key] for key in inspect.signature(factory).parameters}
            if name == "burgers_cole_hopf":
                optional["eps"] = choice(0.02, 0.1)
            if name == "hemker_cylinder":
                optional["eps"] = choice(0.1, 1)
            if name == "shallow_water":
                optional["dim"] = choice(1, 2)
            table[f"problems.{name}"] = Entry(factory, {}, optional)
    return table


corners = choice(0.0, 1.0, 0.5, 2.0, math.nan, math.inf, 1e308, 1e-308)


def domain_of(vertices, cells):
    """Any arrays that scikit-fem takes for a mesh; what it refuses itself is none."""
    try:
        given = skfem.MeshTri(np.array(vertices).T, np.array(cells).T)
        given.facets, given.t2f  # noqa: B018  (made when they are asked for)
    except Exception:  # noqa: BLE001  (not ours)
        return None
    return stfem.Domain(given, stfem.Dirichlet(0.0))


def gas(**more):
    return {
        "diffusion": choice(0, 1e-3),
        "dim": st.integers(1, 3),
        "lower": st.floats(0.2, 0.6),
        "upper": st.floats(1.5, 2.0),
        "speed": st.floats(0.1, 1.0),
        **more,
    }


TABLE = {
    "Torus": Entry(
        stfem.Torus,
        {"lengths": choice(1.0, 2, (1.0, 0.5), [1, 2, 3], np.ones(2), np.float32(1), np.array([1], int))},
        always=valid_domain,
    ),
    "Box": Entry(
        stfem.Box,
        {
            "lower": choice(0.0, 0, (0.0,), np.zeros(1), np.float32(-1)),
            "upper": choice(1.0, 2, (1.0,), np.ones(1)),
            "boundary": conditions | st.fixed_dictionaries({"left": conditions, "right": conditions}),
        },
        always=valid_domain,
    ),
    "Box.periodic": Entry(
        lambda lower=(0.0, 0.0), upper=(1.0, 1.0), boundary=None, periodic=(0, 1): stfem.Box(
            lower, upper, boundary, periodic
        ),
        {},
        {"periodic": choice((0, 1), [1, 0], np.array([0, 1])), "boundary": choice(None, {})},
        always=valid_domain,
    ),
    "Domain": Entry(
        stfem.Domain,
        {"mesh": made(lambda: mesh("triangle"), lambda: mesh("line"), lambda: mesh("quad"))}
        | {"boundary": conditions},
        always=valid_domain,
    ),
    "Domain.periodic": Entry(
        lambda mesh, boundary=None, periodic=(0, 1): stfem.Domain(mesh, boundary, periodic),
        {"mesh": made(lambda: skfem.MeshQuad.init_tensor(np.linspace(0, 1, 4), np.linspace(0, 1, 4)))},
        {"periodic": choice((0, 1), [1, 0], (np.int64(0), 1)), "boundary": choice(None, {})},
        always=valid_domain,
    ),
    "Domain.arrays": Entry(
        lambda vertices, cells: domain_of(vertices, cells),
        {
            "vertices": st.lists(st.tuples(corners, corners), min_size=4, max_size=4),
            "cells": st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=3),
        },
        receivers=("vertices", "cells"),
        may_refuse=True,
    ),
    "Dirichlet": Entry(stfem.Dirichlet, {}, {"g": scalar_data | functions}),
    "Neumann": Entry(stfem.Neumann, {}, {"g": scalar_data | functions}),
    "TotalFlux": Entry(stfem.TotalFlux, {}, {"g": scalar_data | functions}),
    "Robin": Entry(stfem.Robin, {"alpha": scalar_data}, {"g": scalar_data | functions}),
    "Outflow": Entry(stfem.Outflow),
    "problems.Condition": Entry(problems.Condition),
    "problems.Condition.in_problem": Entry(
        lambda condition, alpha=1.0, g=0.0: stfem.Problem(
            equations.AdvectionDiffusion(1.0, 0.1),
            stfem.Box(0.0, 1.0, {"left": condition(g), "right": stfem.Robin(alpha, g)}),
            0.0,
            0.1,
        ),
        {"condition": choice(stfem.Dirichlet, stfem.Neumann, stfem.TotalFlux)},
        {"g": scalar_data | functions, "alpha": scalar_data | functions},
        always=valid_problem,
        receivers=("condition",),
    ),
    "Problem": Entry(
        stfem.Problem,
        {
            "equation": advection,
            "domain": domains,
            "initial": scalar_data | functions,
            "final_time": times,
        },
        {"source": scalar_data | functions, "exact": st.none(), "exact_gradient": st.none()},
        always=valid_problem,
    ),
    "Problem.exact": Entry(
        lambda exact, exact_gradient=None: stfem.Problem(
            equations.AdvectionDiffusion(1.0, 0.0),
            stfem.Torus(1.0),
            sine(two_pi),
            0.1,
            None,
            exact,
            exact_gradient,
        ),
        {"exact": made(lambda: sine(two_pi, -two_pi), lambda: (sine(two_pi, -two_pi),))},
        {"exact_gradient": st.just(lambda x, t: two_pi * np.cos(two_pi * (np.asarray(x) - t)))},
    ),
    "Problem.system": Entry(
        lambda initial, source=None: stfem.Problem(
            equations.DiffusivePSystem(1e-3, dim=1), stfem.Torus(1.0), initial, 0.1, source
        ),
        {
            "initial": made(
                *(lambda: (1.0, 0.0), lambda: [1, sine(two_pi)], lambda: np.ones(2)),
                lambda: lambda x: np.stack([1.0 + 0.0 * x[0], x[0]]),
            )
        },
        {"source": made(lambda: (0.0, 1), lambda: lambda x, t: (0.0, x[0]))},
        always=valid_problem,
    ),
    "StationaryProblem": Entry(
        stfem.StationaryProblem,
        {"equation": made(lambda: equations.AdvectionDiffusion(1.0, 0.1)), "domain": bounded},
        {"source": choice(0.0, 1, sine(two_pi)), "exact": st.none(), "exact_gradient": st.none()},
        always=valid_problem,
    ),
    "StationaryProblem.mean": Entry(
        lambda mean, source=0.0: stfem.StationaryProblem(
            equations.AdvectionDiffusion(0.0, 0.1),
            stfem.Box(0.0, 1.0, stfem.Neumann(0.0)),
            source,
            mean=mean,
        ),
        {"mean": choice(0, 1.0, np.float32(2))},
        {"source": choice(0.0, 0)},
    ),
    "StationaryProblem.in_time": Entry(
        lambda final_time, initial=0.0: stfem.StationaryProblem(
            equations.AdvectionDiffusion(1.0, 0.1), stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0))
        ).in_time(final_time, initial),
        {"final_time": times},
        {"initial": scalar_data},
    ),
    "problems.ExactData": Entry(
        problems.ExactData,
        {"entries": made(lambda: [sine(two_pi)], lambda: (sine(1.0), sine(2.0)), lambda: [[sine(1.0)]])},
        {"decay": floats},
    ),
    "equations.AdvectionDiffusion": Entry(
        equations.AdvectionDiffusion,
        {"velocity": made(lambda: (1.0, 0.5), lambda: [1, 2], lambda: np.ones(2), lambda: np.ones(2, int))},
        {
            "diffusion": matrices | eps,
            "reaction": choice(0.0, 1, sine((1.0, 2.0))),
            "dim": st.just(2),
            "divergence": choice(None, 0, 0.0),
        },
        always=valid_equation,
    ),
    "equations.AdvectionDiffusion.callable": Entry(
        lambda velocity, divergence=0.0, dim=1: equations.AdvectionDiffusion(
            velocity, 0.1, dim=dim, divergence=divergence
        ).check(),
        {"velocity": made(lambda: lambda x, t: 1.0, lambda: lambda x: [1.0], lambda: [lambda x: 2])},
        {"divergence": choice(0, 0.0), "dim": st.just(1)},
    ),
    "equations.Burgers": Entry(
        equations.Burgers, {}, {"dim": st.integers(1, 3), "diffusion": eps}, always=valid_equation
    ),
    "equations.ScalarConservationLaw": Entry(
        equations.ScalarConservationLaw,
        {"flux": made(lambda: [0, 0, 0.5], lambda: np.polynomial.Polynomial([0.0, 1.0]), lambda: np.ones(4))},
        {"dim": choice(1, 2), "diffusion": choice(0, 1e-3)},
        always=valid_equation,
    ),
    "equations.ScalarConservationLaw.callable": Entry(
        lambda flux, derivative, second_derivative, sonic_points=None: equations.ScalarConservationLaw(
            flux, derivative, second_derivative, 1, 0.1, sonic_points
        ).check(),
        {
            "flux": st.just(np.sin),
            "derivative": st.just(np.cos),
            "second_derivative": st.just(lambda u: -np.sin(u)),
        },
        {"sonic_points": choice(None, [1.5], [[1.5]], np.array([1.5]))},
    ),
    "equations.ConservationSystem": Entry(
        lambda **given: equations.ConservationSystem(**given).check(),
        {"flux": st.just((swapped,)), "entropy": st.just(energy), "states": st.just(_BOX)},
        {"diffusion": choice(0, 1e-3), "bounds": choice(None, _BOUNDS), "flux_degree": choice(None, 1)},
    ),
    "equations.ConvexEntropy": Entry(
        equations.ConvexEntropy,
        {
            "value": st.just(energy),
            "gradient": st.just(lambda u: u),
            "hessian": st.just(identity),
            "states": st.just(_BOX),
            "bounds": st.just(_BOUNDS),
        },
        {"assumption": choice(None, "sampled")},
    ),
    "equations.EntropyBounds": Entry(
        equations.EntropyBounds,
        {
            "lower": st.floats(0.1, 1.0),
            "upper": st.floats(1.0, 2.0),
            "ratio": st.floats(0.1, 1.0),
            "third": unit,
            "fourth": unit,
            "flux": choice((0.0,), (1, 2.0)),
        },
    ),
    "equations.StateSet": Entry(
        equations.StateSet,
        {
            "lower": made(lambda: [0.0, -1], lambda: np.zeros(2), lambda: (0, -np.inf)),
            "upper": made(lambda: [1.0, 1], lambda: np.ones(2, int), lambda: (1, np.inf)),
        },
        {
            "constraints": made(lambda: [[1.0, 1.0]], lambda: np.ones((1, 2))),
            "sentence": choice("", "inside"),
        },
    ),
    "equations.SymmetricSystem": Entry(
        equations.SymmetricSystem,
        {"matrices": made(lambda: [np.eye(2)], lambda: [[[0, 1], [1, 0]]], lambda: np.ones((1, 2, 2)))},
        {"diffusion": choice(0, 1e-3), "symmetrizer": choice(None, np.eye(2), [[2, 0], [0, 2]])},
        always=valid_equation,
    ),
    "equations.Acoustics": Entry(
        equations.Acoustics,
        {},
        {"speed": st.floats(0.0, 10.0), "diffusion": choice(0, 1e-3), "dim": st.integers(1, 3)},
        always=valid_equation,
    ),
    "equations.DiffusivePSystem": Entry(
        equations.DiffusivePSystem,
        {},
        {
            "diffusion": choice(0, 1e-3),
            "dim": st.integers(1, 3),
            "lower": st.floats(0.2, 0.6),
            "upper": st.floats(1.5, 2.0),
            "fully_diffusive": st.booleans(),
        },
        always=valid_equation,
    ),
    "equations.ShallowWater": Entry(equations.ShallowWater, {}, gas(dim=choice(1, 2), gravity=unit)),
    "equations.IsothermalEuler": Entry(equations.IsothermalEuler, {}, gas(sound_speed=unit)),
    "equations.IsentropicEuler": Entry(
        equations.IsentropicEuler, {}, gas(exponent=st.floats(1.0, 3.0), coefficient=unit | st.none())
    ),
    "equations.BarotropicGas": Entry(
        equations.BarotropicGas, {"coefficient": unit, "exponent": st.floats(1.0, 3.0)}, gas()
    ),
    "equations.is_diagonal": Entry(equations.is_diagonal, {"matrix": made(lambda: np.eye(2))}),
    "equations.Growth": Entry(
        equations.Growth,
        {"forms": st.just((equations.GrowthForm(np.zeros((1, 1)), (), np.zeros(1)),))},
        {"positive": st.booleans(), "assumption": choice(None, "a")},
    ),
    **catalogued(),
}
