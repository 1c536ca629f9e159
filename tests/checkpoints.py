"""What the tests of checkpoints share: runs that stop after some slabs, and a comparison of all bits."""

import dataclasses
import signal

import numpy as np

import stfem
from stfem.estimators.run import SlabRun
from stfem.timestepping import RK4, ExplicitRungeKutta


def kinds(base=SlabRun):
    """All classes of runs that say how a slab is taken."""
    for kind in base.__subclasses__():
        yield from kinds(kind)
        if "advance" in vars(kind):
            yield kind


class Stops:
    """Within, runs are interrupted after some slabs, as by Ctrl-C; not when only the result is left."""

    def __init__(self, monkeypatch, slabs):
        self.left, self.slabs = slabs, slabs
        for kind in kinds():
            monkeypatch.setattr(kind, "advance", self.counted(kind.advance))

    def counted(self, advance):
        def counting(run):
            if self.left == 0 and run.time < run._ode.problem.final_time:
                raise KeyboardInterrupt
            self.left -= 1
            return advance(run)

        return counting


class Stumbling:
    """RK4 with a Ctrl-C, or something worse, in a step that begins at a time."""

    order, implicit = 4, False

    def __init__(self, time=np.inf, deed=None):
        self.inner, self.time, self.deed = ExplicitRungeKutta(RK4), time, deed

    def step(self, ode, t, u, dt, rate):
        if t >= self.time and u.ndim > 1:  # not where it is asked what it does
            self.deed()
        return self.inner.step(ode, t, u, dt, rate)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def unsolved():
    raise stfem.SolveError("linear system", 0.5)


def resumed(monkeypatch, call, path, slabs):
    """The result of a call that is interrupted after so many slabs, again and again; and how often."""
    count = 0
    while True:
        with monkeypatch.context() as patch:
            Stops(patch, slabs)
            try:
                return call(checkpoint=path), count
            except KeyboardInterrupt:
                count += 1


def assert_same(found, expected):
    """All numbers of two certificates, bit for bit, but wall times."""
    for entry in dataclasses.fields(stfem.Estimate):
        compare(getattr(found, entry.name), getattr(expected, entry.name), entry.name)
    compare(found.solution.values, expected.solution.values, "solution")


def compare(found, expected, name):
    if name.startswith("facts.seconds"):
        return
    if isinstance(expected, np.ndarray):
        assert found.shape == expected.shape, name
        assert found.tobytes() == expected.tobytes(), name
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), name
        for key in expected:
            compare(found[key], expected[key], f"{name}.{key}")
    elif isinstance(expected, (tuple, list)):
        assert len(found) == len(expected), name
        for n, entry in enumerate(expected):
            compare(found[n], entry, f"{name}[{n}]")
    else:
        assert found == expected or (found != found and expected != expected), name
