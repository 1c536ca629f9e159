"""What a problem is, in numbers: enough to make it again where it is made of data, or to know it again.

A description consists of None, truth values, numbers, strings, lists, arrays, and mappings whose entry ``is``
names what they describe. Functions are described by samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial as Powers

from stfem.checks import described
from stfem.data import Approximated, Constant, Data, Polynomial, Trigonometric
from stfem.data.base import Array
from stfem.equations import (
    Acoustics,
    AdvectionDiffusion,
    BarotropicGas,
    Burgers,
    DiffusivePSystem,
    Equation,
    IsentropicEuler,
    IsothermalEuler,
    ScalarConservationLaw,
    ShallowWater,
    SymmetricSystem,
)
from stfem.meshes.arrays import MESH_KINDS, mesh_arrays, mesh_from_arrays
from stfem.problems.bounded import Box, Domain
from stfem.problems.conditions import Dirichlet, Neumann, Outflow, Robin, TotalFlux
from stfem.problems.domain import Torus, unit_points
from stfem.problems.exact import ExactData
from stfem.problems.problem import Problem

__all__ = ["Recipe", "Sampler", "describe", "difference", "describe_problem", "functions_in", "rebuild"]

#: Relative difference of numbers that another machine may cause.
TOLERANCE = 1e-12
_STATES = 16

#: Values of a function of (x, t), any leading axes, at the points and times of a sample.
Sampler = Callable[[Callable[..., Array]], Array]


@dataclass(frozen=True)
class Recipe:
    """How objects of one class are made again.

    Attributes
    ----------
    make
        The class, or a function that makes objects of a ``kind``. Objects of derived classes are others,
        unless these name the class they are to be made again as, in an attribute ``described_as``.
    arguments
        For each argument of its constructor a function that finds it in an object.
    complete
        Whether these arguments are all there is to an object.
    kind
        The class, where ``make`` is a function.
    """

    make: Callable[..., Any]
    arguments: Mapping[str, Callable[[Any], object]]
    complete: Callable[[Any], bool] = lambda value: True
    kind: type | None = None

    def fits(self, value: object) -> bool:
        """Whether it makes such an object."""
        kind = getattr(type(value), "described_as", type(value))
        return kind is (self.kind or self.make) and self.complete(value)

    @classmethod
    def of(cls, make: type, *attributes: str, complete: Callable[[Any], bool] | None = None) -> Recipe:
        """Arguments that are attributes: "name", or "argument=attribute" where the two differ."""
        pairs = [name.split("=") for name in attributes]
        arguments = {pair[0]: attrgetter(pair[-1]) for pair in pairs}
        return cls(make, arguments) if complete is None else cls(make, arguments, complete)


def _given_gradient(problem: Problem) -> object:
    """∇u where it was given, not derived from u."""
    return None if isinstance(problem.exact_gradient, ExactData) else problem.exact_gradient


_OF_GAS = ("diffusion", "dim", "lower", "upper", "speed")


def _given_diffusion(equation: Equation) -> object:
    """D, or that of every subdomain."""
    return equation.subdomain_diffusion or equation.diffusion


def _part(name: str, mesh: object) -> object:
    return mesh_arrays(mesh)[name]


def _mapping(names: Sequence[str], entries: Sequence[object]) -> dict[str, object]:
    return dict(zip(names, entries, strict=True))


#: What a file can hold of a problem.
RECIPES: dict[str, Recipe] = {
    "constant": Recipe.of(Constant, "value", "dim"),
    "polynomial": Recipe.of(Polynomial, "coefficients"),
    "trigonometric": Recipe.of(Trigonometric, "wavevectors", "frequencies", "amplitudes"),
    "approximated": Recipe.of(Approximated, "approximation", "error_sup", "function"),
    "exact data": Recipe.of(ExactData, "entries", "decay"),
    "powers": Recipe.of(Powers, "coef"),
    "advection–diffusion": Recipe(
        AdvectionDiffusion,
        {
            **{name: attrgetter(name) for name in ("velocity", "reaction", "divergence")},
            "diffusion": _given_diffusion,
        },
    ),
    "scalar conservation law": Recipe.of(
        ScalarConservationLaw,
        "flux=fluxes",
        "dim",
        "diffusion",
        complete=lambda law: all(isinstance(flux, Powers) for flux in law.fluxes),
    ),
    "Burgers": Recipe.of(Burgers, "dim", "diffusion"),
    "diffusive p-system": Recipe.of(
        DiffusivePSystem, "diffusion", "dim", "lower", "upper", "fully_diffusive"
    ),
    "barotropic gas": Recipe.of(BarotropicGas, "coefficient", "exponent", *_OF_GAS),
    "shallow water": Recipe.of(ShallowWater, "gravity", *_OF_GAS),
    "isothermal Euler": Recipe.of(IsothermalEuler, "sound_speed", *_OF_GAS),
    "isentropic Euler": Recipe.of(IsentropicEuler, "exponent", "coefficient", *_OF_GAS),
    "symmetric system": Recipe.of(SymmetricSystem, "matrices", "diffusion", "symmetrizer"),
    "acoustics": Recipe.of(Acoustics, "speed", "diffusion", "dim"),
    "torus": Recipe.of(Torus, "lengths"),
    "box": Recipe.of(Box, "lower", "upper", "boundary", "periodic"),
    "domain": Recipe(
        Domain,
        {
            "mesh": lambda domain: domain.mesh().source,
            **{name: attrgetter(name) for name in ("boundary", "periodic")},
        },
    ),
    **{
        f"mesh, {shape}": Recipe(
            mesh_from_arrays,
            {
                name: partial(_part, name)
                for name in ("shape", "vertices", "cells", "boundaries", "subdomains")
            },
            kind=kind,
        )
        for shape, kind in MESH_KINDS.items()
    },
    "mapping": Recipe(_mapping, {"names": list, "entries": lambda given: list(given.values())}, kind=dict),
    **{kind.__name__: Recipe.of(kind, "g") for kind in (Dirichlet, Neumann, TotalFlux)},
    "Robin": Recipe.of(Robin, "alpha", "g"),
    "Outflow": Recipe.of(Outflow),
    "problem": Recipe(
        Problem,
        {
            **{
                name: attrgetter(name)
                for name in ("equation", "domain", "initial", "final_time", "source", "exact")
            },
            "exact_gradient": _given_gradient,
        },
    ),
}


def describe_problem(problem: Problem) -> dict[str, Any]:
    """Description of a problem: exact for numbers, `Data` and shipped equations, samples of all else.

    Functions are sampled at points spread over the domain, at the start, in between and at the final time;
    equations of a user's own at random states.
    """
    x = problem.domain.spread()
    times = (0.0, 0.41 * problem.final_time, problem.final_time)

    def sampled(function: Callable[..., Array]) -> Array:
        return np.stack([function(x, t) for t in times])

    result: dict[str, Any] = describe(problem, RECIPES, sampled)
    return result


def _unsampled(function: Callable[..., Array]) -> Array:
    raise TypeError(f"expected something that can be described, got {function!r}")


def describe(value: Any, recipes: Mapping[str, Recipe], sampled: Sampler = _unsampled) -> Any:
    """Description of an object.

    Parameters
    ----------
    value
        A number, string, array or sequence of these, an object that has a recipe, data, an equation, or a
        function of (x, t).
    recipes
        By name.
    sampled
        Takes samples of data and functions without a recipe.

    Raises
    ------
    TypeError
        For anything else.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value
    if isinstance(value, (tuple, list, np.ndarray)):
        return [describe(entry, recipes, sampled) for entry in value]
    for name, recipe in recipes.items():
        if recipe.fits(value):
            entries = {key: find(value) for key, find in recipe.arguments.items()}
            return {"is": name, **{key: describe(e, recipes, sampled) for key, e in entries.items()}}
    if isinstance(value, Data):
        return {"is": "function", "varies": value.time_dependent, "values": sampled(value)}
    if isinstance(value, Equation):
        return _sampled_equation(value, recipes, sampled)
    if callable(value):
        return {"is": "function", "values": sampled(value)}
    raise TypeError(f"expected something that can be described, got {type(value).__name__}")


def _sampled_equation(equation: Equation, recipes: Mapping[str, Recipe], sampled: Sampler) -> dict[str, Any]:
    """Facts, and values at random states, of an equation of a user's own."""
    rng = np.random.default_rng(17)
    u, v = (equation.probe_states(rng, _STATES) for _ in range(2))
    x = unit_points(equation.dim)[:, :_STATES]
    directions = range(equation.dim)
    stability = equation.stability
    growth = stability.growth(u.min(axis=1), u.max(axis=1))
    facts = ("dim", "components", "diffusion", "diffused", "reaction", "linear", "isotropic", "flux_degree")
    parts = {
        "name": type(equation).__name__,
        **{name: getattr(equation, name) for name in facts},
        "flux": np.stack([equation.flux(u, x, 0.37, i) for i in directions]),
        "jacobian_product": np.stack([equation.jacobian_product(u, v, x, 0.37, i) for i in directions]),
        "wave_speed": np.stack([equation.wave_speed(u, x, 0.37, i) for i in directions]),
        "error_factor": stability.error_factor,
        "growth": [[form.gradient, form.data, form.source] for form in growth.forms],
    }
    return {"is": "own equation", **{key: describe(part, recipes, sampled) for key, part in parts.items()}}


def rebuild(description: Any, recipes: Mapping[str, Recipe] = RECIPES) -> Any:
    """The object behind a description without functions, see `functions_in`.

    Raises
    ------
    KeyError
        For something that has no recipe.
    """
    if isinstance(description, list):
        return [rebuild(entry, recipes) for entry in description]
    if not isinstance(description, Mapping):
        return description
    recipe = recipes[_kind(description, "description")]
    return recipe.make(**{name: rebuild(description[name], recipes) for name in recipe.arguments})


def _kind(description: Mapping[str, Any], name: str) -> str:
    kind = description.get("is")
    if not isinstance(kind, str):
        raise ValueError(f"{name}: expected a description that says what it is, got {described(description)}")
    return kind


def functions_in(description: Any, name: str, recipes: Mapping[str, Recipe] = RECIPES) -> Iterator[str]:
    """Names of the parts of a description that cannot be made again."""
    if isinstance(description, list):
        for i, entry in enumerate(description):
            yield from functions_in(entry, f"{name}[{i}]", recipes)
    elif isinstance(description, Mapping):
        if _kind(description, name) not in recipes:
            yield name
        else:
            for key, entry in description.items():
                yield from functions_in(entry, f"{name}.{key}", recipes)


def difference(expected: Any, got: Any, name: str) -> str | None:
    """Where two descriptions differ first, as a sentence; None where they agree up to `TOLERANCE`."""
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        if expected.get("is") == got.get("is") and expected.keys() == got.keys():
            pairs = [(expected[key], got[key], f"{name}.{key}") for key in expected if key != "is"]
            return _first_difference(pairs)
    elif isinstance(expected, list) and isinstance(got, list):
        if len(expected) == len(got):
            names = [f"{name}[{i}]" for i in range(len(got))]
            return _first_difference(list(zip(expected, got, names, strict=True)))
    elif _numeric(expected) and _numeric(got):
        return _numeric_difference(expected + 0.0, got + 0.0, name)
    elif type(expected) is type(got) and expected == got:
        return None
    return f"{name}: expected {_short(expected)}, got {_short(got)}"


def _first_difference(pairs: list[tuple[Any, Any, str]]) -> str | None:
    found = (difference(*pair) for pair in pairs)
    return next((sentence for sentence in found if sentence is not None), None)


def _numeric(value: Any) -> bool:
    return isinstance(value, (int, float, np.ndarray))


def _numeric_difference(expected: Array | float, got: Array | float, name: str) -> str | None:
    expected, got = np.asarray(expected), np.asarray(got)
    if expected.shape != got.shape:
        return f"{name}: expected an array of shape {expected.shape}, got {got.shape}"
    scale = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
    wrong = ~np.isclose(expected, got, rtol=0.0, atol=TOLERANCE * scale, equal_nan=True)
    if not wrong.any():
        return None
    return f"{name}: expected {expected[wrong][0]:.14g}, got {got[wrong][0]:.14g}"


def _short(value: Any) -> str:
    """A description in one word or number."""
    if isinstance(value, Mapping):
        return f"a {value['is']}" if value["is"] == "function" else str(value["is"])
    if isinstance(value, list):
        return f"{len(value)} entries"
    return "numbers" if isinstance(value, np.ndarray) else str(value)
