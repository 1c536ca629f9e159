"""A run that is killed (SIGKILL) at any moment goes on to the same numbers, bit for bit (R4)."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from functools import cache, partial
from pathlib import Path

import pytest
from checkpoints import assert_same

import stfem

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0  # seconds until a run that hangs is a failure
#: One that spends most of its time on slabs, one that solves implicitly, and one that keeps its history.
RUNS = {
    "torus": """partial(
        stfem.certify, stfem.problems.viscous_burgers(dim=1, eps=1e-2, final_time=0.4), cells=16, degree=2
    )""",
    "mesh": """partial(
        stfem.certify,
        stfem.problems.transient_wave(2, 1.0, 0.4),
        cells=6,
        degree=2,
        dt=0.01,
        stepper=stfem.timestepping.ImplicitRungeKutta(stfem.timestepping.RADAU5),
    )""",
    "history": """partial(
        stfem.solve,
        stfem.problems.linear_advection_diffusion(dim=2, eps=1e-3, final_time=0.5),
        cells=16,
        degree=2,
        history=True,
    )""",
}
SCRIPT = """
import sys
from functools import partial

import stfem

call = {call}
print("begun", flush=True)
call(checkpoint=sys.argv[1], every=0.0)
print("done", flush=True)
"""


def call_of(name):
    return eval(RUNS[name], {"partial": partial, "stfem": stfem})


@cache
def whole(name):
    return call_of(name)()


def started(name, path):
    command = [sys.executable, "-c", SCRIPT.format(call=RUNS[name]), str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    return process


@cache
def seconds(name, folder):
    """How long the run takes that nobody kills."""
    with started(name, folder / f"measured-{name}") as process:
        begin = time.monotonic()
        assert process.wait(PATIENCE) == 0
        return time.monotonic() - begin


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a signal of POSIX")
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 30))]
)
def test_killed_at_a_random_moment(tmp_path, tmp_path_factory, seed):
    name, path = list(RUNS)[seed % 3], tmp_path / "run"
    moment = random.Random(seed).uniform(0.0, seconds(name, tmp_path_factory.getbasetemp()))
    with started(name, path) as process:
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    left = {entry.name for entry in tmp_path.iterdir()} - {"run", "run.previous"}
    assert len(left) <= 1
    assert all(re.fullmatch(rf"\.run\.\w+-{process.pid}-\w+\.unfinished", name) for name in left)
    found, expected = call_of(name)(checkpoint=path), whole(name)
    if name == "history":
        assert len(found.stored) == len(expected.stored)
        for node, other in zip(found.stored, expected.stored, strict=True):
            assert node.time == other.time
            assert node.values.tobytes() == other.values.tobytes()
            assert node.rate.tobytes() == other.rate.tobytes()
    else:
        assert_same(found, expected)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]  # nothing is left lying about
