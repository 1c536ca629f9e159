"""Slabs of several steps on meshes: fewer of them, and bounds that are hardly larger."""

import numpy as np
import pytest
from sample_meshes import moved

import stfem
from stfem.estimators.spacing import GROWTH
from stfem.problems import transient_wave
from stfem.reconstruction import Hermite
from stfem.reconstruction.unstructured import TwoStage, VertexPatches, mesh_slabs


@pytest.mark.parametrize("eps", [1e-4, 1e-2])
def test_automatic_spacing_costs_little(eps):
    problem = transient_wave(2, eps, 0.5, moved("triangles", 6).with_defaults())
    solution = stfem.solve(problem, degree=1, history=True, dt=0.01)
    for rules in ((VertexPatches(),), (VertexPatches(), TwoStage())):
        every, chosen = (
            stfem.estimate(solution, stfem.MeshEstimator(rules, spacing=spacing)) for spacing in (1, None)
        )
        assert every.facts["slabs"] == 50
        assert chosen.facts["slabs"] <= 30
        assert chosen.error <= chosen.bound <= 1.05 * every.bound
        lengths = np.rint(np.diff(chosen.history["time"], prepend=0.0) / 0.01)
        assert lengths.max() >= 3.0
        assert np.all(lengths[1:] <= np.maximum(lengths[:-1] + 1.0, GROWTH * lengths[:-1]))


def test_a_small_share_asks_for_short_slabs():
    problem = transient_wave(2, 1e-4, 0.5, moved("triangles", 4).with_defaults())
    solution = stfem.solve(problem, degree=1, history=True, dt=0.02)
    slabs = [
        stfem.estimate(solution, stfem.MeshEstimator(temporal_share=share)).facts["slabs"]
        for share in (1e-6, 0.3)
    ]
    assert slabs[0] == 25
    assert slabs[1] < 20


@pytest.mark.parametrize("arguments", [{"spacing": 0}, {"temporal_share": 0.0}, {"temporal_share": 1.0}])
def test_wrong_numbers(arguments):
    with pytest.raises(ValueError, match=f"{next(iter(arguments))}: expected"):
        stfem.MeshEstimator(**arguments)


def test_rates_are_asked_for_where_there_are_none():
    problem = transient_wave(2, 1e-4, 0.5, moved("triangles", 2).with_defaults())
    solution = stfem.solve(problem, degree=1, history=True, dt=0.1)
    bound = VertexPatches().bind(solution.semidiscretization)
    with pytest.raises(ValueError, match="interpolant: expected one of values"):
        next(mesh_slabs(map(bound.at_node, solution.nodes()), Hermite(3)))
