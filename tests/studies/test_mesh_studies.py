"""Studies on meshes: refined by a parameter of the problem, stored, resumed, drawn."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import skfem

import stfem
from stfem import Dirichlet, Domain, MeshEstimator, Outflow, Problem
from stfem.equations import AdvectionDiffusion
from stfem.problems import transient_wave
from stfem.reconstruction import Averaging, VertexPatches
from stfem.studies import Study, convergence, sweep
from stfem.studies.fingerprint import fingerprint


def triangles(n):
    mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2)
    inner = ((mesh.p > 1e-9) & (mesh.p < 1.0 - 1e-9)).all(axis=0)
    moves = np.random.default_rng(0).uniform(-0.2 / n, 0.2 / n, mesh.p.shape)
    return skfem.MeshTri(mesh.p + moves * inner, mesh.t).with_defaults()


def on_triangles(n, eps=1e-3):
    return transient_wave(2, eps, 0.02, mesh=triangles(n))


def test_a_factory_makes_meshes():
    study = convergence(on_triangles, n=[2, 4, 8], degree=[1, 2])
    assert (study.axis, study.refined, study.varied) == ("n", "n", ("n", "degree"))
    assert [(row["degree"], row["n"]) for row in study.rows] == [
        (1, 2),
        (1, 4),
        (1, 8),
        (2, 2),
        (2, 4),
        (2, 8),
    ]
    for row in study.rows:
        mesh = triangles(row["n"])
        result = stfem.certify(on_triangles(row["n"]), degree=row["degree"])
        longest = max(
            np.linalg.norm(np.diff(mesh.p[:, mesh.t[[i, j]]], axis=1), axis=0).max()
            for i, j in ((0, 1), (1, 2), (0, 2))
        )
        assert row["h"] == pytest.approx(longest, rel=1e-14)
        assert row["unknowns"] == mesh.t.shape[1] * (3, 6)[row["degree"] - 1]
        assert row["bound"] == pytest.approx(result.bound, rel=1e-12)
        assert row["error"] <= row["bound"]
    for before, row in zip(study.rows[1:2], study.rows[2:3], strict=True):
        order = np.log(before["bound"] / row["bound"]) / np.log(before["h"] / row["h"])
        assert row["eoc_bound"] == pytest.approx(order)
        assert 1.2 < row["eoc_error"] < 3.0
    assert study.rows[0]["eoc_bound"] is study.rows[3]["eoc_bound"] is None
    assert study.to_text().splitlines()[0].split() == [
        "degree",
        "n",
        "error",
        "eoc_error",
        "bound",
        "eoc_bound",
        "effectivity",
    ]


def test_a_sequence_of_meshes(tmp_path):
    """Under the name that the catalogue has for them; h orders the picture."""
    study = sweep(
        transient_wave,
        dim=2,
        eps=[1e-3, 1e-1],
        final_time=0.02,
        mesh=[triangles(2), triangles(4)],
        degree=1,
        axis="mesh",
    )
    assert study.refined == "mesh"
    assert [row["mesh"] for row in study.rows] == ["MeshTri1(8 cells)", "MeshTri1(32 cells)"] * 2
    assert [row["eoc_bound"] is None for row in study.rows] == [True, False, True, False]
    study.to_json(tmp_path / "study.json")
    assert Study.from_json(tmp_path / "study.json").refined == "mesh"
    figure = study.plot(tmp_path / "study.png")
    assert len(figure.axes[0].patches) >= 1  # a triangle: it is a picture of convergence


def test_other_parameters_of_a_problem_on_a_mesh():
    """One mesh, two reconstructions: no orders, and the estimator takes the rule."""
    rules = {"patches": VertexPatches(), "averages": Averaging()}
    study = sweep(on_triangles, n=3, degree=1, reconstruction=rules)
    for row, rule in zip(study.rows, rules.values(), strict=True):
        alone = stfem.certify(on_triangles(3), degree=1, estimator=MeshEstimator((rule,)))
        assert row["bound"] == pytest.approx(alone.bound, rel=1e-12)
    assert study.rows[0]["bound"] != study.rows[1]["bound"]
    with pytest.raises(TypeError, match="expected estimators without one of their own"):
        sweep(on_triangles, n=3, degree=1, reconstruction=rules, estimator=MeshEstimator((Averaging(),)))


def test_a_problem_on_its_mesh_and_a_box():
    study = sweep(on_triangles(3), degree=[1, 2])
    assert len({row["h"] for row in study.rows}) == 1
    boxes = convergence(transient_wave, dim=1, final_time=0.02, cells=[4, 8], degree=1)
    assert [row["h"] for row in boxes.rows] == [0.25, 0.125]
    assert boxes.refined == "cells"


def test_what_refines_has_to_be_known():
    with pytest.raises(TypeError, match=r"convergence: expected cells=\[…\], or axis="):
        convergence(on_triangles, n=[2, 4], eps=[0.1, 0.01], degree=1)
    with pytest.raises(TypeError, match="expected cells=, got none for Box"):
        convergence(transient_wave, dim=1, eps=[0.1, 0.2], degree=1)
    study = convergence(on_triangles, axis="n", n=[2, 4], eps=[0.1, 0.01], degree=1)
    assert [(row["eps"], row["n"]) for row in study.rows] == [(0.1, 2), (0.1, 4), (0.01, 2), (0.01, 4)]
    assert [row["eoc_error"] is None for row in study.rows] == [True, False, True, False]


def test_finished_cases_are_taken_from_the_store(tmp_path):
    first = convergence(on_triangles, n=[2, 3], degree=1, store=tmp_path / "cases")
    again = convergence(on_triangles, n=[2, 3, 4], degree=1, store=tmp_path / "cases")
    assert (first.reused, again.reused) == (0, 2)
    assert again.rows[:2] == first.rows


def left_at(value):
    return lambda x, t: np.where(x[0] < 1e-9, value, 0.0)


def channel(mesh=None, left=0.0, right=None, **more):
    mesh = triangles(3) if mesh is None else mesh
    sides = {"left": Dirichlet(left), "right": right or Outflow(), "bottom": Outflow(), "top": Outflow()}
    return Problem(AdvectionDiffusion((1.0, 0.0), 1e-3), Domain(mesh, sides, **more), 0.0, 0.1)


def test_the_same_domain_has_the_same_fingerprint():
    """Also after meshes have been used, and in another process."""
    used = channel()
    stfem.solve(used, degree=1)
    used.domain.mesh().source.element_finder()
    assert fingerprint(used, {}) == fingerprint(channel(), {})
    program = "from test_mesh_studies import channel, fingerprint; print(fingerprint(channel(), {}))"
    here = Path(__file__).parent
    path = {"PYTHONPATH": f"{here}:{here.parent}:{here.parents[1]}", "PATH": "/usr/bin:/bin"}
    found = subprocess.run(
        [sys.executable, "-c", program], env=path, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == fingerprint(channel(), {})


@pytest.mark.parametrize(
    "other",
    [
        {"mesh": triangles(4)},
        {"mesh": skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, 4)] * 2).with_defaults()},
        {"left": 1e-6},
        {"left": left_at(1.0)},
        {"right": Dirichlet(0.0)},
    ],
)
def test_another_domain_has_another_one(other):
    assert fingerprint(channel(), {}) != fingerprint(channel(**other), {})
    assert fingerprint(channel(left=left_at(0.5)), {}) != fingerprint(channel(left=left_at(1.0)), {})


def test_names_belong_to_a_mesh():
    """The same facets under exchanged names."""
    mesh = triangles(3)
    turned = dict(mesh.boundaries) | {"left": mesh.boundaries["top"], "top": mesh.boundaries["left"]}
    other = skfem.MeshTri(mesh.p, mesh.t).with_boundaries(turned)
    assert fingerprint(channel(mesh), {}) != fingerprint(channel(other), {})


def test_in_processes():
    study = convergence(on_triangles, n=[2, 3], degree=1, workers=2)
    alone = convergence(on_triangles, n=[2, 3], degree=1)
    assert [row["bound"] for row in study.rows] == [row["bound"] for row in alone.rows]
