"""Checkpoints of runs that fail, of places that are lost, and of several runs at one path (R4)."""

import os
import subprocess
import sys
import threading
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from checkpoints import Stumbling, assert_same, interrupt, unsolved

import stfem
from stfem.io import CheckpointWarning, checkpoint
from stfem.problems import linear_advection_diffusion

PROBLEM = linear_advection_diffusion(dim=1, eps=1e-3, final_time=0.3)
OPTIONS = {"cells": 10, "degree": 1}
certify = partial(stfem.certify, PROBLEM, **OPTIONS)


def exhausted():
    raise RuntimeError("the pump is empty")


@pytest.mark.parametrize("deed", [unsolved, exhausted])
@pytest.mark.parametrize("call", ["certify", "solve"])
def test_a_failure_writes_the_last_state(tmp_path, deed, call):
    """Though none was due: what has been computed is not computed again."""
    path, options = tmp_path / "run", {**OPTIONS, "dt": 0.01, "every": 3600.0, "checkpoint": tmp_path / "run"}
    run = partial(getattr(stfem, call), PROBLEM, **options)
    with pytest.raises((stfem.SolveError, RuntimeError)) as caught:
        run(stepper=Stumbling(0.155, deed))
    assert f"goes on from the checkpoint {path}" in caught.value.__notes__[-1]
    assert caught.value.solution.time > 0.15
    if call == "certify":
        assert checkpoint.CheckpointFile(path, {}).load()["past"]["run"]["time"] > 0.05
        assert_same(run(stepper=Stumbling()), certify(dt=0.01, stepper=Stumbling()))
    else:
        whole = stfem.solve(PROBLEM, **OPTIONS, dt=0.01, stepper=Stumbling())
        assert run(stepper=Stumbling()).values.tobytes() == whole.values.tobytes()


@pytest.mark.parametrize("deed", [interrupt, unsolved, exhausted])
@pytest.mark.parametrize("call", ["certify", "solve"])
@pytest.mark.parametrize("errors", [False, True])
def test_an_end_without_a_place_keeps_what_was_reached(tmp_path, deed, call, errors):
    """Ctrl-C, or a failure, where the last state cannot be written: that is a note and a warning."""
    folder = tmp_path / "folder"
    folder.mkdir()

    def removed():
        folder.rmdir()
        deed()

    run = partial(getattr(stfem, call), PROBLEM, **OPTIONS, dt=0.01, every=3600.0)
    with warnings.catch_warnings(record=not errors) as told:
        warnings.simplefilter("error" if errors else "always")
        with pytest.raises((stfem.InterruptedRunError, stfem.SolveError, RuntimeError)) as caught:
            run(stepper=Stumbling(0.155, removed), checkpoint=folder / "run")
    text = "the last state of the run is lost: [Errno 2] checkpoint not written (No such file"
    assert any(note.startswith(text) for note in caught.value.__notes__)
    assert not any("goes on" in note for note in caught.value.__notes__)
    if not errors:
        assert [entry.category for entry in told] == [CheckpointWarning]
    assert caught.value.solution.time > 0.15
    if call == "certify":
        assert caught.value.certificate.bound > 0.0


@pytest.mark.parametrize("call", ["certify", "solve"])
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_write_that_fails_keeps_what_was_reached(tmp_path, call, interrupted):
    """A checkpoint that is due and cannot be written ends the run, with its results; Ctrl-C goes first."""
    folder = tmp_path / "folder"
    folder.mkdir()

    def removed():
        for entry in folder.iterdir():
            entry.unlink()
        folder.rmdir()
        stepper.time = np.inf
        if interrupted:
            interrupt()

    stepper = Stumbling(0.155, removed)
    run = partial(getattr(stfem, call), PROBLEM, **OPTIONS, dt=0.01, every=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckpointWarning)
        with pytest.raises(stfem.InterruptedRunError if interrupted else FileNotFoundError) as caught:
            run(stepper=stepper, checkpoint=folder / "run")
    error = caught.value
    if not interrupted:
        assert "checkpoint not written (No such file or directory), and there is none from before" in str(
            error
        )
    elif call == "solve":  # a slab need not have ended since the last one was written
        assert "and there is none from before" in error.__notes__[0]
    assert 0.15 < error.solution.time < 0.3
    assert (error.certificate is None) == (call == "solve")
    if error.certificate is not None:
        assert error.certificate.solution.time == error.certificate.history["time"][-1] == error.solution.time
        assert error.certificate.error <= error.certificate.bound


def test_two_runs_at_one_path(tmp_path):
    """Neither fails, whatever the order of their writes: the last writer stays."""
    path, failures, found = tmp_path / "run", [], []
    whole = certify()

    def run():
        try:
            found.append(certify(checkpoint=path, every=0.0))
        except Exception as error:  # noqa: BLE001  (threads do not pass them on)
            failures.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    for certificate in (*found, certify(checkpoint=path)):
        assert_same(certificate, whole)
    assert {entry.name for entry in tmp_path.iterdir()} <= {"run", "run.previous"}


def test_one_writes_while_the_other_does(tmp_path, monkeypatch):
    """In between of all that a write does, another run at this path writes."""
    path = tmp_path / "run"
    first, second = (checkpoint.CheckpointFile(path, {}) for _ in range(2))
    names, plain = [], Path.replace
    first.save({"past": {"number": 0}, "finished": None})

    def replace(self, target):
        names.append(self.name)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", plain)
            second.save({"past": {"number": 2}, "finished": None})
        return plain(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        first.save({"past": {"number": 1}, "finished": None})
    assert len(names) == 2
    assert first.load()["past"] == {"number": 1}
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name, f"{path.name}.previous"]


def test_only_what_the_dead_have_left_is_removed(tmp_path):
    path = tmp_path / "run"
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(60)
    machine = checkpoint._MACHINE
    dead, *others = (
        path.with_name(f".{path.name}.{owner}.unfinished")
        for owner in (
            f"{machine}-{process.pid}-0123abcd",
            f"{machine}-{os.getpid()}-0123abcd",
            f"{int(machine, 16) ^ 1:08x}-{process.pid}-0123abcd",
        )
    )
    for entry in (dead, *others):
        entry.touch()
    checkpoint.CheckpointFile(path, {})
    assert not dead.exists()
    assert all(entry.exists() for entry in others)
