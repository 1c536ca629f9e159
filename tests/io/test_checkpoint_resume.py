"""A run that is stopped at the end of any slab goes on to the same numbers, bit for bit (R4)."""

from dataclasses import dataclass

import numpy as np
import pytest
from checkpoints import assert_same, resumed

import stfem
from stfem import MeshEstimator, SplitEstimator
from stfem.data import Trigonometric
from stfem.estimators import AllDualEstimator, AllL2Estimator, PaperEstimator
from stfem.problems import (
    burgers_front,
    diffusive_p_system,
    linear_advection_diffusion,
    outflow_layer,
    robin_outflow,
    shallow_water,
    transient_wave,
    variable_coefficients,
    viscous_burgers,
)
from stfem.reconstruction import SiacFilteredGradient, TwoStage, TwoStageMixed, VertexPatches
from stfem.reconstruction.unstructured import MeshNode
from stfem.timestepping import (
    ARK548L2SA,
    RADAU5,
    ImplicitExplicitRungeKutta,
    ImplicitRungeKutta,
    StepControl,
)


def forced_burgers():
    """A source, and a growth that diffusion lowers."""
    initial = Trigonometric([[1]], [0.0], [0.3])
    source = Trigonometric([[1]], [2.0], [0.2])
    equation = stfem.equations.Burgers(1, 0.05)
    return stfem.Problem(equation, stfem.Torus((1.0,)), initial, 0.3, source=source)


def pulsed():
    """A source that jumps in time: steps are rejected there."""
    equation = stfem.equations.AdvectionDiffusion((1.0,), 1e-2)

    def source(x, t):
        return np.where(t < 0.1, 1.0, 2.0) * np.sin(2 * np.pi * x[0])

    return stfem.Problem(
        equation, stfem.Torus((1.0,)), Trigonometric([[1]], [0.0], [0.3]), 0.2, source=source
    )


def by_functions():
    equation = stfem.equations.AdvectionDiffusion((1.0,), 1e-3)

    def initial(x):
        return np.sin(2 * np.pi * x[0])

    return stfem.Problem(equation, stfem.Torus((1.0,)), initial, 0.2)


@dataclass(frozen=True)
class Spoiled:
    """Vertex patches with nodes moved at random, more for a while: then it goes on from others."""

    start: float
    stop: float
    always: float = 0.0

    def bind(self, semidiscretization, lifted=()):
        bound = VertexPatches().local(semidiscretization, lifted)
        plain = bound.at_node

        def at_node(node):
            result = plain(node)
            scale = 0.2 if self.start <= node.time <= self.stop else self.always
            nodal = np.random.default_rng(0).normal(scale=scale, size=(1, bound.nodal.target.size))
            nodal[:, bound.nodal.fixed] = 0.0
            state = result.state.copy()
            state[0] += bound.nodal.target.to_broken(nodal)
            return MeshNode(node, state, result.diffusive, result.convective)

        bound.at_node = at_node
        return bound


RADAU = ImplicitRungeKutta(RADAU5)
CASES = {
    "linear 1D": (linear_advection_diffusion(dim=1, eps=1e-3, final_time=0.2), {"cells": 12, "degree": 2}),
    "linear 2D": (linear_advection_diffusion(dim=2, eps=1e-3, final_time=0.1), {"cells": 8, "degree": 1}),
    "linear 2D, ε = 0": (
        linear_advection_diffusion(dim=2, eps=0.0, final_time=0.1),
        {"cells": 6, "degree": 2},
    ),
    "long": (
        linear_advection_diffusion(dim=1, eps=1e-2, final_time=1.0),
        {"cells": 6, "degree": 1, "cfl": 0.1},
    ),
    "Burgers 1D": (viscous_burgers(dim=1, eps=1e-2, final_time=0.2), {"cells": 12, "degree": 2}),
    "Burgers 1D, ε = 0": (viscous_burgers(dim=1, eps=0.0, final_time=0.1), {"cells": 12, "degree": 1}),
    "Burgers 2D": (viscous_burgers(dim=2, eps=1e-2, final_time=0.05), {"cells": 6, "degree": 2}),
    "forced Burgers": (forced_burgers(), {"cells": 16, "degree": 2}),
    "functions": (by_functions(), {"cells": 10, "degree": 2}),
    "p-system": (diffusive_p_system(dim=1, eps=1e-2), {"cells": 10, "degree": 2}),
    "shallow water": (shallow_water(dim=1, eps=1e-2, final_time=0.05), {"cells": 10, "degree": 2}),
    "IMEX": (
        linear_advection_diffusion(dim=2, eps=0.1, final_time=0.1),
        {"cells": 6, "degree": 2, "stepper": ImplicitExplicitRungeKutta(ARK548L2SA), "dt": 0.01},
    ),
    "controlled": (
        viscous_burgers(dim=1, eps=1e-2, final_time=0.2),
        {"cells": 12, "degree": 2, "step_control": StepControl(1e-6)},
    ),
    "controlled, fixed spacing": (
        viscous_burgers(dim=1, eps=1e-2, final_time=0.1),
        {
            "cells": 8,
            "degree": 1,
            "step_control": StepControl(1e-5),
            "estimator": SplitEstimator(spacing=1),
        },
    ),
    "controlled, jump": (
        pulsed(),
        {"cells": 8, "degree": 1, "step_control": StepControl(1e-3)},
    ),
    "controlled, Radau": (
        transient_wave(2, 0.1, 0.2),
        {
            "cells": 4,
            "degree": 1,
            "stepper": ImplicitRungeKutta(RADAU5),
            "step_control": StepControl(1e-4),
        },
    ),
    "fixed spacing": (
        linear_advection_diffusion(dim=1, eps=1e-3, final_time=0.2),
        {"cells": 12, "degree": 2, "estimator": SplitEstimator(spacing=2)},
    ),
    "filtered gradient": (
        linear_advection_diffusion(dim=1, eps=1e-2, final_time=0.1),
        {"cells": 10, "degree": 2, "estimator": SplitEstimator(SiacFilteredGradient())},
    ),
    "all L²": (
        linear_advection_diffusion(dim=1, eps=1e-2, final_time=0.1),
        {"cells": 10, "degree": 2, "estimator": AllL2Estimator()},
    ),
    "all dual": (
        linear_advection_diffusion(dim=1, eps=1e-2, final_time=0.1),
        {"cells": 10, "degree": 2, "estimator": AllDualEstimator()},
    ),
    "paper": (
        linear_advection_diffusion(dim=1, eps=1e-2, final_time=0.1),
        {"cells": 8, "degree": 1, "estimator": PaperEstimator()},
    ),
    "wave": (transient_wave(2, 1e-3, 0.2), {"cells": 4, "degree": 1}),
    "interval": (transient_wave(1, 1e-2, 0.2), {"cells": 8, "degree": 2}),
    "Radau": (transient_wave(2, 1.0, 0.2), {"cells": 4, "degree": 1, "dt": 0.02, "stepper": RADAU}),
    "Radau, coefficients": (
        variable_coefficients(final_time=0.1),
        {"cells": 4, "degree": 1, "dt": 0.02, "stepper": RADAU, "estimator": MeshEstimator(growth=10.0)},
    ),
    "GMRES": (
        transient_wave(2, 1.0, 0.2),
        {"cells": 4, "degree": 1, "dt": 0.02, "stepper": ImplicitRungeKutta(RADAU5, stfem.Gmres())},
    ),
    "two stages": (
        transient_wave(2, 1e-4, 0.2),
        {"cells": 4, "degree": 1, "estimator": MeshEstimator((TwoStage(),))},
    ),
    "several reconstructions": (
        transient_wave(2, 1e-2, 0.2),
        {
            "cells": 3,
            "degree": 1,
            "estimator": MeshEstimator(
                (VertexPatches(), TwoStage(), TwoStageMixed(), TwoStage(iterations=3))
            ),
        },
    ),
    "switching": (
        transient_wave(2, 1e-3, 0.4),
        {
            "cells": 4,
            "degree": 1,
            "dt": 0.04,
            "estimator": MeshEstimator((Spoiled(0.0, 0.1), Spoiled(0.3, 0.4, 0.005))),
        },
    ),
    "front": (
        burgers_front(1, 0.05, 0.2),
        {"cells": 10, "degree": 1, "estimator": MeshEstimator((VertexPatches(), TwoStage()))},
    ),
    "front 2D, Radau": (burgers_front(2, 0.1, 0.1), {"cells": 4, "degree": 1, "dt": 0.02, "stepper": RADAU}),
    "layer": (
        outflow_layer(1e-3, 0.4),
        {"cells": 4, "degree": 1, "estimator": MeshEstimator((TwoStage(),), lifted=("right",))},
    ),
    "Robin": (robin_outflow(final_time=0.2), {"cells": 4, "degree": 1}),
}


@pytest.mark.parametrize("slabs", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 5))])
@pytest.mark.parametrize("name", CASES)
def test_stopped_anywhere(tmp_path, monkeypatch, name, slabs):
    problem, options = CASES[name]

    def call(**more):
        return stfem.certify(problem, **options, **more)

    whole, path = call(), tmp_path / "run"
    found, count = resumed(monkeypatch, call, path, slabs)
    assert count == -(-whole.facts["slabs"] // slabs) - 1
    assert whole.facts["slabs"] > 2
    assert_same(found, whole)
    assert_same(call(checkpoint=path), whole)  # at once


def test_switching_is_seen():
    """The case above would not tell of passes that go on from others if there were none."""
    problem, options = CASES["switching"]
    assert stfem.certify(problem, **options).facts["switches"] > 0
