"""Solutions on boxes and meshes come back from files: mesh, names, conditions and numbers."""

import zipfile
from dataclasses import fields

import numpy as np
import pytest
import skfem
from mesh_cases import KINDS, box_mesh

import stfem
from stfem import Box, Dirichlet, Domain, Estimate, Neumann, Outflow, Problem, Robin, Solution, TotalFlux
from stfem.data import Polynomial, sine
from stfem.equations import AdvectionDiffusion, Burgers
from stfem.fluxes import InteriorPenalty, flux_upwind
from stfem.io import container
from stfem.problems import robin_outflow, transient_wave, variable_coefficients
from stfem.timestepping import (
    ARK324L2SA,
    RADAU5,
    DiagonallyImplicitRungeKutta,
    ImplicitRungeKutta,
)

PI = np.pi
ENDS = {"left": Dirichlet(1.0), "right": Outflow()}
LIDS = {"front": Dirichlet(0.0), "back": Robin(1.0, 0.5)}
CHANNEL = {"left": Dirichlet(0.5), "right": Outflow(), "bottom": Neumann(0.0), "top": TotalFlux(0.0)}


def named(kind, n, **subdomains):
    mesh = box_mesh(kind, n, 0.15, turned=True)
    return mesh.with_subdomains(subdomains) if subdomains else mesh


def bump(dim):
    return Polynomial(np.ones((*(2,) * dim, 1)))


WITHOUT_FUNCTIONS = {
    "box 1D": (
        Problem(
            AdvectionDiffusion(1.0, 1e-3),
            Box(-1.0, 2.0, {"left": Dirichlet(1.0), "right": Outflow()}),
            bump(1),
            0.1,
        ),
        {"cells": 7, "degree": 3},
    ),
    "box 2D, every condition": (
        Problem(AdvectionDiffusion((1.0, 0.0), 1e-2), Box((0.0, 0.0), (2.0, 1.0), CHANNEL), bump(2), 0.02),
        {"cells": (4, 3), "degree": 1, "penalty": InteriorPenalty(30.0)},
    ),
    "box 3D, periodic": (
        Problem(
            AdvectionDiffusion((1.0, 0.5, 0.2), 1e-2),
            Box(
                (0.0,) * 3,
                (1.0, 2.0, 1.0),
                {"front": Dirichlet(0.0), "back": Robin(1.0, 0.5)},
                periodic=(0, 1),
            ),
            0.5,
            0.01,
        ),
        {"cells": 2, "degree": 1},
    ),
    **{
        f"{kind}, data that move": (
            transient_wave(KINDS[kind][1], 1e-3, 0.01, mesh=named(kind, 2)),
            {"degree": 2},
        )
        for kind in KINDS
    },
    "periodic names": (
        Problem(
            AdvectionDiffusion((1.0, 0.5)),
            Domain(named("triangle", 3), Dirichlet(sine((0.0, PI), -PI)), periodic=[("bottom", "top")]),
            sine((0.0, PI)),
            0.02,
        ),
        {"degree": 1, "flux": flux_upwind},
    ),
    "diffusion that jumps, fully implicit": (
        Problem(
            AdvectionDiffusion((1.0, 0.0), {"core": 1.0, "wall": [[1e-3, 0.0], [0.0, 1e-2]]}, reaction=0.5),
            Domain(
                named("triangle", 4, core=lambda x: x[0] < 0.5, wall=lambda x: x[0] > 0.5).with_subdomains(
                    {"core": np.arange(16), "wall": np.arange(16, 32)}
                ),
                Dirichlet(0.0),
            ),
            1.0,
            0.1,
        ),
        {"degree": 2, "dt": 0.05, "stepper": ImplicitRungeKutta(RADAU5)},
    ),
    "Burgers, diagonally implicit": (
        Problem(Burgers(2, 1e-2), Domain(named("quadrilateral", 2), Dirichlet(1.0)), 1.0, 0.02),
        {"degree": 1, "dt": 0.01, "stepper": DiagonallyImplicitRungeKutta(ARK324L2SA.implicit)},
    ),
    "variable coefficients": (variable_coefficients(eps=1e-3, final_time=0.01), {"cells": 3, "degree": 1}),
    "Robin": (robin_outflow(eps=1e-3, final_time=0.01), {"cells": 3, "degree": 1}),
}


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and (a == b or (a != a and b != b))


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("name", WITHOUT_FUNCTIONS)
def test_a_file_holds_mesh_and_conditions(tmp_path, name, history):
    problem, options = WITHOUT_FUNCTIONS[name]
    solution = stfem.solve(problem, **options, history=history)
    path = solution.save(tmp_path / "run.npz")
    with zipfile.ZipFile(path) as archive:
        assert all(not archive.read(entry).startswith(b"\x80") for entry in archive.namelist())
    for loaded in (Solution.load(path), Solution.load(path, problem)):
        assert repr(loaded) == repr(solution)
        for m, n in zip(solution.nodes(), loaded.nodes(), strict=True):
            assert m.time == n.time
            assert same(np.array(m.values), np.array(n.values))
            assert same(np.array(m.rate), np.array(n.rate))
        ours, theirs = (s.semidiscretization.mesh for s in (solution, loaded))
        assert same(ours.vertices, theirs.vertices)
        assert same(ours.cells, theirs.cells)
        assert {n: set(f.tolist()) for n, f in ours.facets.names.items()} == {
            n: set(f.tolist()) for n, f in theirs.facets.names.items()
        }
        assert {n: set(c.tolist()) for n, c in ours.subdomains.items()} == {
            n: set(c.tolist()) for n, c in theirs.subdomains.items()
        }
        x = ours.points(ours.reference.quadrature(2)[0])
        assert same(solution(x), loaded(x))


@pytest.mark.parametrize("cells", [None, 4])
def test_a_loaded_solution_is_estimated_alike(tmp_path, cells):
    mesh = None if cells else named("triangle", 3)
    result = stfem.certify(transient_wave(2, 1e-3, 0.05, mesh=mesh), cells=cells, degree=1)
    result.solution.save(tmp_path / "run.npz")
    result.save(tmp_path / "estimate.npz")
    again = stfem.estimate(Solution.load(tmp_path / "run.npz"))
    loaded = Estimate.load(tmp_path / "estimate.npz")
    for entry in fields(Estimate):
        if entry.name != "facts":
            assert same(getattr(again, entry.name), getattr(result, entry.name))
            assert same(getattr(loaded, entry.name), getattr(result, entry.name))
    own = result.solution.semidiscretization.mesh.source
    for estimate in (again, loaded, result.estimate):
        assert same(estimate.facts["mesh"]["vertices"], own.p)
        assert same(estimate.facts["mesh"]["cells"], own.t)
        assert set(estimate.facts["mesh"]["boundaries"]) == {"left", "right", "bottom", "top"}


def steady(x, t):
    """Another function than that below on the boundary only."""
    return np.where(x[0] < 1e-9, 1.0, 0.0)


def with_functions(**changes):
    def front(x, t):
        return np.where(x[0] < 1e-9, np.exp(-t), 0.0)

    mesh = changes.pop("mesh", box_mesh("triangle", 3))
    boundary = {"left": Dirichlet(front), "right": Outflow(), "bottom": Neumann(0.0), "top": Neumann(0.0)}
    boundary |= changes.pop("boundary", {})
    parts = {
        "equation": AdvectionDiffusion((1.0, 0.0), 1e-3),
        "domain": Domain(mesh, boundary),
        "initial": 0.0,
    }
    return Problem(**{**parts, "final_time": 0.01, **changes})


def test_functions_on_the_boundary_are_given_again(tmp_path):
    path = stfem.solve(with_functions(), degree=1).save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=r"load\(path, problem=…\), .* here problem\.domain\.boundary.*\.g$"):
        Solution.load(path)
    assert Solution.load(path, with_functions()).steps > 0


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        # the function differs on the boundary only
        (
            {"boundary": {"left": Dirichlet(lambda x, t: np.where(x[0] < 1e-9, 1.0, 0.0))}},
            r"boundary.*g\.values",
        ),
        ({"boundary": {"bottom": Neumann(0.5)}}, r"boundary.*g: expected 0, got 0\.5"),
        ({"boundary": {"bottom": TotalFlux(0.0)}}, r"boundary.*: expected Neumann, got TotalFlux"),
        ({"mesh": box_mesh("triangle", 2)}, r"domain\.mesh\.vertices"),
        ({"mesh": box_mesh("triangle", 3, 0.1)}, r"domain\.mesh\.vertices"),
        (
            {"mesh": box_mesh("quadrilateral", 3)},
            "mesh: expected mesh, triangle, got mesh, quad",
        ),
    ],
)
def test_another_problem_is_refused(tmp_path, changes, sentence):
    path = stfem.solve(with_functions(), degree=1).save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=rf"computed with something else: .*{sentence}"):
        Solution.load(path, with_functions(**changes))


def test_damaged_meshes_are_refused(tmp_path):
    path = stfem.solve(transient_wave(2, 1e-3, 0.01, mesh=named("triangle", 2)), degree=1).save(
        tmp_path / "run.npz"
    )
    saved = container.read(path, "solution")
    mesh = saved["problem"]["domain"]["mesh"]
    broken = [
        {**mesh, "vertices": mesh["vertices"] * np.nan},
        {**mesh, "cells": mesh["cells"] * 0},
        {**mesh, "cells": mesh["cells"] + 100},
        {**mesh, "shape": "ball"},
    ]
    for wrong in broken:
        saved["problem"]["domain"]["mesh"] = wrong
        container.write(path, "solution", saved)
        with pytest.raises(ValueError, match="expected a description of the problem, got another"):
            Solution.load(path)
    saved["problem"]["domain"]["mesh"] = mesh
    container.write(path, "solution", {**saved, "values": saved["values"][:, :2]})
    with pytest.raises(ValueError, match=r"expected coefficients of shape \(1, 3, 8\), got \(1, 2, 8\)"):
        Solution.load(path)


def test_own_penalties_and_fluxes_are_known_again(tmp_path):
    class Stiff:
        def __init__(self, factor):
            self.factor = factor

        def coefficient(self, degree, spacing, dim, diagonal):
            return self.factor / spacing

    problem = transient_wave(2, 1e-2, 1e-3, mesh=named("triangle", 2))
    path = stfem.solve(problem, degree=1, penalty=Stiff(20.0)).save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=r"expected load\(path, penalty=…\)"):
        Solution.load(path)
    assert Solution.load(path, penalty=Stiff(20.0)).steps >= 1
    with pytest.raises(ValueError, match="computed with something else: penalty"):
        Solution.load(path, penalty=Stiff(21.0))


def test_a_mesh_that_scikit_fem_loads_later_is_the_same(tmp_path):
    """Names of boundaries survive where skfem numbers the facets in another order."""
    from stfem.meshes.arrays import mesh_arrays, mesh_from_arrays

    for kind in KINDS:
        mesh = named(kind, 2)
        arrays = mesh_arrays(mesh)
        shuffled = {n: f[:, ::-1] for n, f in arrays["boundaries"].items()}
        again = mesh_from_arrays(**{**arrays, "boundaries": shuffled})
        for name, facets in mesh.boundaries.items():
            assert set(np.asarray(again.boundaries[name]).tolist()) == set(np.asarray(facets).tolist())
    with pytest.raises(ValueError, match="boundary 'left': expected facets of the mesh, got 1 others"):
        mesh_from_arrays(**{**mesh_arrays(skfem.MeshLine()), "boundaries": {"left": np.array([[5]])}})
