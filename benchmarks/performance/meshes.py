"""Triangles: right-hand sides, matrices and bounds, against NGSolve, scikit-fem and the solution itself.

    python benchmarks/performance/meshes.py [--quick]

Convection and Burgers of degree 1 to 3 in million unknowns per second; then, for degree 2, the matrix of an
implicit step (interior penalty and upwind convection), assembled, factorised and solved with. NGSolve takes
part where the package ngsolve is importable. Last the transient wave of `benchmarks/unstructured.py` in the
steps that the scheme chooses: the cost of its bound over that of the solution. Writes
results/performance_meshes.json and .md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import timing  # sets the environment: before numpy

import numpy as np  # isort: skip
import skfem  # isort: skip
import peer_skfem  # isort: skip
import records  # isort: skip

import stfem
from stfem import Dirichlet, Domain, Problem
from stfem.equations import AdvectionDiffusion, Burgers, Equation
from stfem.problems import transient_wave
from stfem.reconstruction.unstructured import MeshRule, TwoStage, TwoStageMixed, VertexPatches
from stfem.semidiscretization import UnstructuredSemidiscretization

try:
    import peer_ngsolve
except ImportError:
    peer_ngsolve = None

CELLS, QUICK = 138, 4
EQUATIONS: dict[str, Callable[[], Equation]] = {
    "linear": lambda: AdvectionDiffusion((1.0, 0.5)),
    "Burgers": lambda: Burgers(2),
}
#: Factor over NGSolve for right-hand sides of degree 2; parts of the times of others to assemble.
TARGETS = {"right-hand side": 10.0, "NGSolve": 1 / 5, "scikit-fem": 1 / 8}
#: Cost of a bound over that of the implicit solution: local default, sharp options.
COSTS = {"patches": 1.0, "two-stage": 3.0, "ten iterations": 3.0, "mixed": 3.0}
RULES: dict[str, MeshRule] = {
    "patches": VertexPatches(),
    "two-stage": TwoStage(),
    "ten iterations": TwoStage(iterations=10),
    "mixed": TwoStageMixed(),
}
#: Degree, cells per direction and final time of the runs with bounds.
RUNS = ((1, 32, 0.5), (2, 16, 0.5), (1, 64, 0.5))
_DEGREE, _SHIFT = 2, 1e-2


def mesh_of(cells: int) -> skfem.MeshTri:
    """Triangles, two per square, their inner vertices moved at random."""
    axis = np.linspace(0.0, 1.0, cells + 1)
    mesh = skfem.MeshTri.init_tensor(axis, axis)
    inner = np.all((mesh.p > 0.0) & (mesh.p < 1.0), axis=0)
    points = mesh.p.copy()
    points[:, inner] += np.random.default_rng(0).uniform(-0.2, 0.2, (2, int(inner.sum()))) / cells
    return skfem.MeshTri(points, mesh.t)


def scheme(equation: Equation, mesh: skfem.MeshTri, degree: int) -> UnstructuredSemidiscretization:
    """The semidiscretization with Dirichlet values on all of the boundary."""
    problem = Problem(equation, Domain(mesh, Dirichlet(0.0)), 1.0, 1.0)
    return UnstructuredSemidiscretization(problem, None, degree)


def right_hand_sides(cells: int, seconds: float) -> Iterator[dict[str, Any]]:
    """One row per equation and degree."""
    mesh = mesh_of(cells)
    for name, equation in EQUATIONS.items():
        for degree in (1, 2, 3):
            semi = scheme(equation(), mesh, degree)
            u = 0.05 * np.random.default_rng(0).standard_normal(semi.shape)
            u[:, 0] += 1.0
            rates = timing.measure(lambda semi=semi, u=u: semi.rhs_hyperbolic(0.0, u), u, seconds)
            peer = peer_ngsolve and peer_ngsolve.rate(name, degree, cells, seconds, quads=False)
            yield {
                "work": f"right-hand side, {name}",
                "degree": degree,
                "unknowns": semi.dofs,
                "Mdof/s": round(rates.rate, 1),
                "fraction of copy": f"1/{rates.copies:.1f}",
                "NGSolve Mdof/s": peer and round(peer, 2),
                "times NGSolve": peer and round(rates.rate / peer, 1),
            }


def matrices(cells: int) -> Iterator[dict[str, Any]]:
    """Seconds to assemble, to factorise, and to solve once; the better of two runs, the first warms up."""
    mesh = mesh_of(cells)
    equation = AdvectionDiffusion((1.0, 0.5), diffusion=1e-3)
    semi = scheme(equation, mesh, _DEGREE)
    zero, rhs = np.zeros(semi.shape), np.random.default_rng(0).standard_normal(semi.shape)

    def assemble() -> None:
        UnstructuredSemidiscretization(semi.problem, None, _DEGREE).linearise(0.0, zero)

    linearised = semi.linearise(0.0, zero)
    peers = {"scikit-fem": peer_skfem.assembly(mesh, _DEGREE)}
    if peer_ngsolve is not None:
        peers["NGSolve"] = peer_ngsolve.assembly(_DEGREE, cells)
    own = _best(assemble)
    others = {name: _best(work) for name, work in peers.items()}
    first = timing.timed(lambda: linearised.solve(rhs, _SHIFT))
    again = _best(lambda: linearised.solve(rhs, _SHIFT))
    for work, seconds, compared in (
        ("assembly", own, others),
        ("factorisation and solve", first, {}),
        ("solve", again, {}),
    ):
        yield {
            "work": work,
            "degree": _DEGREE,
            "unknowns": semi.dofs,
            "seconds": float(f"{seconds:.3g}"),
            **{f"{name} seconds": float(f"{time:.3g}") for name, time in compared.items()},
            **{f"part of {name}": f"1/{time / seconds:.1f}" for name, time in compared.items()},
        }


def bounds(runs: Sequence[tuple[int, int, float]]) -> Iterator[dict[str, Any]]:
    """One row per run: seconds of the solution, and the cost of bounds over it.

    The better of two runs each. No exact solution is given: errors are not part of a bound.
    """
    for degree, cells, final_time in runs:
        for eps in (1e-4, 1e-2):
            wave = transient_wave(2, eps, final_time, mesh_of(cells).with_defaults())
            problem = replace(wave, exact=None, exact_gradient=None)
            solutions: list[stfem.Solution] = []
            seconds = _best(
                lambda p=problem, q=degree, s=solutions: s.append(stfem.solve(p, degree=q, history=True)), 2
            )
            row: dict[str, Any] = {
                "degree": degree,
                "n": cells,
                "eps": eps,
                "unknowns": solutions[0].semidiscretization.dofs,
                "steps": solutions[0].steps,
                "solution seconds": float(f"{seconds:.3g}"),
            }
            for name, rule in RULES.items():
                estimator, found = stfem.MeshEstimator((rule,)), []
                cost = _best(lambda s=solutions[0], e=estimator, f=found: f.append(stfem.estimate(s, e)), 2)
                row[f"{name} / solution"] = round(cost / seconds, 2)
                row[f"slabs, {name}"] = found[0].facts["slabs"]
            yield row


def _best(work: Callable[[], None], repeats: int = 3) -> float:
    return min(timing.timed(work) for _ in range(repeats))


def main() -> None:
    """Measure, print the tables, write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small meshes, a few seconds")
    quick = parser.parse_args().quick
    cells = QUICK if quick else CELLS
    rates, times = list(right_hand_sides(cells, 0.0 if quick else 1.0)), list(matrices(cells))
    estimates = list(bounds(((1, 4, 0.05),) if quick else RUNS))
    keys = dict.fromkeys(key for row in times for key in row)
    table = records.markdown(rates) + "\n\n"
    table += records.markdown([{key: row.get(key) for key in keys} for row in times]) + "\n\n"
    shown = [{key: row[key] for key in row if not key.startswith("slabs")} for row in estimates]
    table += records.markdown(shown)
    print(table)
    for row in rates:
        if row["degree"] == _DEGREE:
            target = TARGETS["right-hand side"]
            print(f"{row['work']}: {row['times NGSolve']} times NGSolve (target {target:g})")
    for name in ("NGSolve", "scikit-fem"):
        got = times[0].get(f"part of {name}")
        print(f"assembly: {got} of {name} (target 1/{1 / TARGETS[name]:g})")
    for name, most in COSTS.items():
        worst = max(row[f"{name} / solution"] for row in estimates)
        print(f"bound, {name}: at most {worst} of the solution (target {most:g})")
    records.write(
        timing.name("performance_meshes", quick),
        {"quick": quick, "threads": 1, "kernels": timing.kernels()},
        [*rates, *times, *estimates],
        table,
    )


if __name__ == "__main__":
    main()
