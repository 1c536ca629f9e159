"""Checkpoints: what is refused and how, damaged files, full disks, interrupts, results that are kept (R4)."""

import json
import os
import subprocess
import sys
import textwrap
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from checkpoints import Stops, Stumbling, assert_same, compare, interrupt, unsolved

import stfem
from stfem.io import CheckpointWarning, checkpoint, container
from stfem.problems import linear_advection_diffusion, transient_wave
from stfem.timestepping import SSPRK33, ExplicitRungeKutta, StepControl

ROOT = Path(__file__).parents[2]
PROBLEM = linear_advection_diffusion(dim=1, eps=1e-3, final_time=0.3)
OPTIONS = {"cells": 10, "degree": 1}
certify = partial(stfem.certify, PROBLEM, **OPTIONS)


@pytest.fixture(scope="module")
def whole():
    return certify()


def stopped(monkeypatch, path, slabs=3, call=certify, every=0.0):
    """Leave the checkpoints of a run that was interrupted."""
    with monkeypatch.context() as patch:
        Stops(patch, slabs)
        with pytest.raises(KeyboardInterrupt) as caught:
            call(checkpoint=path, every=every)
    return caught.value


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A checkpoint with the one before."""
    path = tmp_path / "run.checkpoint"
    stopped(monkeypatch, path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [path.name, f"{path.name}.previous"]
    return path


def test_interrupt_says_how_to_go_on(tmp_path, monkeypatch, whole):
    """Ctrl-C: the last slab is not lost though no checkpoint was due."""
    path = tmp_path / "run"
    error = stopped(monkeypatch, path, every=3600.0)
    assert any("goes on from the checkpoint" in note and str(path) in note for note in error.__notes__)
    assert checkpoint.CheckpointFile(path, {}).load()["past"]["run"]["time"] == whole.history["time"][2]
    assert_same(certify(checkpoint=path), whole)


def test_ctrl_c(tmp_path):
    """The run ends in good order, with its certificate; slabs that it ends with are not those that go on."""
    path, options = tmp_path / "run", {"dt": 0.01, "every": 3600.0}
    whole = certify(dt=0.01, stepper=Stumbling())
    with pytest.raises(stfem.InterruptedRunError) as caught:
        certify(checkpoint=path, stepper=Stumbling(0.155, interrupt), **options)
    partial = caught.value.certificate
    assert "goes on from the checkpoint" in caught.value.__notes__[0]
    assert 0.15 < partial.solution.time == partial.history["time"][-1] < 0.2
    kept = checkpoint.CheckpointFile(path, {}).load()["past"]["run"]["time"]
    assert kept in whole.history["time"]
    assert kept < partial.solution.time
    assert_same(certify(checkpoint=path, stepper=Stumbling(), **options), whole)


def test_a_failure_leaves_the_checkpoint(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(stfem.SolveError) as caught:
        certify(checkpoint=path, dt=0.01, every=0.0, stepper=Stumbling(0.155, unsolved))
    assert caught.value.certificate.bound > 0.0
    found = certify(checkpoint=path, dt=0.01, stepper=Stumbling())
    assert_same(found, certify(dt=0.01, stepper=Stumbling()))


def test_interrupt_before_the_first_slab(tmp_path, monkeypatch):
    error = stopped(monkeypatch, tmp_path / "run", slabs=0)
    assert not hasattr(error, "__notes__")
    assert list(tmp_path.iterdir()) == []


def test_result_is_kept_and_returned_at_once(path, monkeypatch, whole):
    assert_same(certify(checkpoint=path), whole)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]  # the one before is gone
    for kind in ("stfem.estimators.split.SplitRun.advance", "stfem.timestepping.Integration.__next__"):
        monkeypatch.setattr(kind, None)
    found = certify(checkpoint=path)
    assert_same(found, whole)
    assert found.facts["seconds_solve"] > 0.0
    assert found.solution.has_signature(found.facts["signature"])


def test_seconds_of_all_sessions_add_up(path):
    before = checkpoint.CheckpointFile(path, {}).load()["past"]["seconds"]
    found = certify(checkpoint=path).facts
    assert found["seconds_solve"] + found["seconds_estimate"] + found["seconds_true_error"] > before > 0.0


def test_without_time_nothing_is_written(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoint.CheckpointFile, "save", lambda self, content: written.append(content))
    certify(checkpoint=tmp_path / "run", every=3600.0)
    assert [content["past"] for content in written] == [None]
    certify(checkpoint=tmp_path / "run", every=0.0)
    assert len(written) > 4


OTHERS = {
    "problem.final_time": (linear_advection_diffusion(dim=1, eps=1e-3, final_time=0.31), {}),
    "problem.equation.diffusion": (linear_advection_diffusion(dim=1, eps=2e-3, final_time=0.3), {}),
    "cells": (PROBLEM, {"cells": 9}),
    "degree": (PROBLEM, {"degree": 2}),
    "stepper": (PROBLEM, {"stepper": ExplicitRungeKutta(SSPRK33)}),
    "flux": (PROBLEM, {"flux": lambda equation, minus, plus, *point: 0.5 * (minus + plus)}),
    "dt": (PROBLEM, {"cfl": 0.7}),
    "initial values": (PROBLEM, {"initial_correction": False}),
    "estimator": (PROBLEM, {"estimator": stfem.SplitEstimator(temporal_share=0.02)}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_run_is_refused(path, name):
    problem, options = OTHERS[name]
    content = path.read_bytes()
    with pytest.raises(ValueError, match=f"is the checkpoint of another run: {name}.*expected .*, got"):
        stfem.certify(problem, **{**OPTIONS, **options}, checkpoint=path)
    assert path.read_bytes() == content


def test_solve_and_certify_are_two_things(path):
    with pytest.raises(ValueError, match="another run: call: expected certify, got solve"):
        stfem.solve(PROBLEM, **OPTIONS, checkpoint=path)


def test_another_version_is_refused(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "installed_version", lambda: "9.9")
        with pytest.raises(ValueError, match=r"another run: stfem: expected .*, got 9\.9"):
            certify(checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "CHECKPOINT_VERSION", 2)
        with pytest.raises(ValueError, match="expected a checkpoint of version 2, got one of 1"):
            certify(checkpoint=path)
    monkeypatch.setattr(container, "FORMAT_VERSION", 0)
    with pytest.raises(ValueError, match="expected at most version 0 of the file format, got 1"):
        certify(checkpoint=path)


def test_a_saved_solution_is_refused(tmp_path):
    path = stfem.solve(PROBLEM, **OPTIONS).save(tmp_path / "solution.npz")
    content = path.read_bytes()
    with pytest.raises(ValueError, match="expected a saved checkpoint, got a saved solution"):
        certify(checkpoint=path)
    assert path.read_bytes() == content


DAMAGES = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "half": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-1],
    "zeros": lambda content: bytes(len(content)),
    "text": lambda content: b"time,bound\n0.0,1e-3\n",
    "pickle": lambda content: b"\x80\x04K\x01.",
    "flipped": lambda content: content.replace("certify".encode("utf-32-le"), "certifz".encode("utf-32-le")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged(path, damage, whole):
    """The one before is used, and is not replaced by the damaged one; without it that is an error."""
    damaged = DAMAGES[damage](path.read_bytes())
    path.write_bytes(damaged)
    previous = path.with_name(f"{path.name}.previous")
    kept = previous.read_bytes()
    with (
        monkeypatched_save() as saved,
        pytest.warns(CheckpointWarning, match="goes on from the checkpoint before"),
    ):
        found = certify(checkpoint=path, every=0.0)
    assert saved[0] == (kept, True)  # after the first save: the previous one as it was, the path whole
    assert_same(found, whole)
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="to begin anew, remove it or give another checkpoint"):
        certify(checkpoint=path)
    assert path.read_bytes() == damaged


class monkeypatched_save:
    """Within, what the files are after every save."""

    def __enter__(self):
        self.plain, seen = checkpoint.CheckpointFile.save, []

        def save(file, content):
            self.plain(file, content)
            if file.previous.exists():
                seen.append((file.previous.read_bytes(), zipfile.is_zipfile(file.path)))

        checkpoint.CheckpointFile.save = save
        return seen

    def __exit__(self, *given):
        checkpoint.CheckpointFile.save = self.plain


def test_both_damaged(path):
    path.write_bytes(b"")
    path.with_name(f"{path.name}.previous").write_bytes(b"PK")
    with pytest.raises(
        ValueError, match=r"previous: expected a file that stfem has saved, got something else"
    ):
        certify(checkpoint=path)


def test_killed_between_the_names(path, whole):
    """The one before had just been moved: it is used without a word."""
    path.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(certify(checkpoint=path), whole)


def test_every_byte_is_checked(path):
    """A file that is cut off anywhere, or has one wrong byte: refused, or the same content."""
    content = path.read_bytes()
    file = checkpoint.CheckpointFile(path, {})
    expected = file.load()
    path.with_name(f"{path.name}.previous").unlink()
    places = {*range(0, len(content), 211), *range(64), *range(len(content) - 2000, len(content), 13)}
    refused = 0
    for place in sorted(places):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        for damaged in (content[:place], bytes(flipped)):
            path.write_bytes(damaged)
            try:
                found = file.load()
            except ValueError:
                refused += 1
            else:
                compare(found, expected, "content")
    assert refused > 1.5 * len(places)


def test_a_state_that_does_not_fit(path):
    content = path.read_bytes()
    for spoil in (
        lambda past: past["run"].pop("rows"),
        lambda past: past["run"].update(windows=()),
        lambda past: past["run"]["nodes"][0].update(entries=np.zeros(3)),
        lambda past: past["stream"].update(nodes={}),
        lambda past: past["run"].update(selector=None),
        lambda past: past["run"]["windows"][0].update(kept=(("__class__",),)),
    ):
        path.write_bytes(content)
        other = container.read(path, "checkpoint")
        spoil(other["past"])
        with path.open("wb") as stream:
            container.dump(stream, "checkpoint", other)
        with pytest.raises(ValueError, match="expected the state of this run, got another"):
            certify(checkpoint=path)
    path.write_bytes(content)
    certify(checkpoint=path)


def test_nothing_is_executed(path, tmp_path):
    """Arrays of objects, which would be pickles, are refused."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    entries["array0.npy"] = (tmp_path / "objects.npy").read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    path.with_name(f"{path.name}.previous").unlink()
    with pytest.raises(ValueError, match="damaged"):
        certify(checkpoint=path)


@pytest.mark.parametrize("every", ["60", None, True, [1.0]])
def test_every_is_a_number(tmp_path, every):
    with pytest.raises(TypeError, match="every: expected a number of seconds"):
        stfem.solving.certify(PROBLEM, **OPTIONS, checkpoint=tmp_path / "run", every=every)


def test_bad_arguments(tmp_path):
    for every in (-1.0, np.nan):
        with pytest.raises(ValueError, match="every: expected a number of seconds, not below 0"):
            certify(checkpoint=tmp_path / "run", every=every)
    with pytest.raises(IsADirectoryError, match="expected the name of a file, got the folder"):
        certify(checkpoint=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError, match="expected a place to write to"):
        certify(checkpoint=tmp_path / "no" / "run")
    with pytest.raises(NotADirectoryError, match="expected a place to write to"):
        certify(checkpoint=tmp_path / "file" / "run")
    with pytest.raises(TypeError, match="checkpoint: expected a path, got 3"):
        certify(checkpoint=3)
    with pytest.raises(TypeError, match=r"checkpoint: expected an estimator with .* begin, got a OnlyRuns"):
        stfem.certify(PROBLEM, **OPTIONS, checkpoint=tmp_path / "run", estimator=OnlyRuns())
    with pytest.raises(TypeError, match="expected checkpoint with a problem in time only"):
        stfem.certify(stfem.problems.interior_layer(), degree=1, checkpoint=tmp_path / "run")
    with pytest.raises(TypeError, match="expected checkpoint only without tol"):
        stfem.certify(PROBLEM, tol=0.1, checkpoint=tmp_path / "run")


class OnlyRuns:
    def run(self, *given):
        return stfem.SplitEstimator().run(*given)


def test_unwritable_folder(tmp_path, monkeypatch):
    def touch(self, *given, **options):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(PermissionError, match="expected a place to write to, got Permission denied"):
        certify(checkpoint=tmp_path / "run")


@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
def test_full_disk(path, monkeypatch, where, whole):
    """A clear error; what was there before is there, and the run goes on from it."""

    def full(*given, **options):
        raise OSError(28, "No space left on device")

    before = {entry.name: entry.read_bytes() for entry in path.parent.iterdir()}
    with monkeypatch.context() as patch:
        target = {"write": "numpy.savez", "fsync": "os.fsync", "replace": "pathlib.Path.replace"}[where]
        patch.setattr(target, full)
        with pytest.raises(
            OSError, match=r"checkpoint not written \(No space left.*the one before is as it was"
        ):
            certify(checkpoint=path, every=0.0)
    assert {entry.name: entry.read_bytes() for entry in path.parent.iterdir()} == before
    assert_same(certify(checkpoint=path), whole)


def test_full_disk_at_the_end_does_not_lose_the_result(path, monkeypatch, whole):
    def full(*given, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.warns(CheckpointWarning, match="the run is done all the same"):
        assert_same(certify(checkpoint=path), whole)


@pytest.mark.skipif(os.name != "posix", reason="limits of resources are those of POSIX")
def test_limited_file_size(tmp_path, path):
    """The real thing: the system refuses to write beyond a size."""
    program = f"""
        import resource, sys
        sys.path.insert(0, {str(ROOT)!r})
        import stfem
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        problem = stfem.problems.linear_advection_diffusion(dim=1, eps=1e-3, final_time=0.3)
        try:
            stfem.certify(problem, cells=10, degree=1, checkpoint={str(path)!r}, every=0.0)
        except OSError as error:
            print(error)
    """
    content = path.read_bytes()
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "checkpoint not written (File too large), the one before is as it was" in run.stdout
    assert path.read_bytes() == content


def test_a_link_stays_one(path, tmp_path, whole):
    link = tmp_path / "link"
    link.symlink_to(path)
    assert_same(certify(checkpoint=link), whole)
    assert link.is_symlink()


def test_size_does_not_grow_with_steps(tmp_path, monkeypatch):
    """But for the rows of the history, a few numbers per slab."""
    sizes = []
    for final_time in (0.05, 0.4):
        problem = linear_advection_diffusion(dim=1, eps=1e-3, final_time=final_time)
        call = partial(stfem.certify, problem, cells=24, degree=1, estimator=stfem.SplitEstimator(spacing=1))
        slabs = call().facts["slabs"]
        stopped(monkeypatch, tmp_path / "run", slabs - 1, call)
        sizes.append((slabs, (tmp_path / "run").stat().st_size))
        (tmp_path / "run").unlink()
        (tmp_path / "run.previous").unlink()
    (few, small), (many, large) = sizes
    assert many > 6 * few
    assert large - small < 300 * (many - few)


class TestSolve:
    """Of a solution the last node is kept, or all of them."""

    @pytest.mark.parametrize("history", [False, True])
    @pytest.mark.parametrize("problem", [PROBLEM, transient_wave(1, 1e-3, 0.3)])
    def test_stopped_anywhere(self, tmp_path, monkeypatch, problem, history):
        path = tmp_path / "run"
        call = partial(stfem.solve, problem, **OPTIONS, history=history)
        whole, steps = call(), stfem.timestepping.Integration.__next__
        notes = []
        while True:
            left = [3]

            def limited(stream, left=left):
                if left[0] == 0:
                    raise KeyboardInterrupt
                left[0] -= 1
                return steps(stream)

            monkeypatch.setattr(stfem.timestepping.Integration, "__next__", limited)
            try:
                found = call(checkpoint=path)
                break
            except KeyboardInterrupt as error:
                notes.extend(error.__notes__)
        assert len(notes) > 1
        assert all("goes on from the checkpoint" in note for note in notes)
        for solution in (found, call(checkpoint=path)):
            assert solution.values.tobytes() == whole.values.tobytes()
            assert (solution.stored is None) == (not history)
            for node, other in zip(solution.stored or (), whole.stored or (), strict=True):
                assert (node.time, node.values.tobytes()) == (other.time, other.values.tobytes())
                assert node.rate.tobytes() == other.rate.tobytes()

    @pytest.mark.parametrize("history", [False, True])
    def test_controlled_steps(self, tmp_path, history):
        """The control goes on as well, and the sizes of all steps are known at the end."""
        path, options = (
            tmp_path / "run",
            {**OPTIONS, "dt": 0.05, "step_control": StepControl(1e-4), "history": history},
        )
        whole = stfem.solve(PROBLEM, **options, stepper=Stumbling())
        with pytest.raises(stfem.InterruptedRunError):
            stfem.solve(PROBLEM, **options, stepper=Stumbling(0.155, interrupt), checkpoint=path)
        for _ in range(2):
            found = stfem.solve(PROBLEM, **options, stepper=Stumbling(), checkpoint=path)
            assert found.values.tobytes() == whole.values.tobytes()
            assert found.sizes.tobytes() == whole.sizes.tobytes()
            assert [node.time for node in found.stored or ()] == [node.time for node in whole.stored or ()]
        assert stfem.estimate(found, stfem.SplitEstimator()).bound > 0.0
        with pytest.raises(
            ValueError, match=r"another run: step control\[0\].tol: expected 0.0001, got 0.0002"
        ):
            stfem.solve(
                PROBLEM, **options | {"step_control": StepControl(2e-4)}, stepper=Stumbling(), checkpoint=path
            )

    def test_estimate_of_it(self, tmp_path, monkeypatch, whole):
        solution = stfem.solve(PROBLEM, **OPTIONS, checkpoint=tmp_path / "run", every=0.0)
        assert stfem.estimate(solution).bound == stfem.estimate(stfem.solve(PROBLEM, **OPTIONS)).bound
        with pytest.raises(ValueError, match="another run: call: expected solve, got solve with history"):
            stfem.solve(PROBLEM, **OPTIONS, checkpoint=tmp_path / "run", history=True)


def test_progress_begins_where_the_run_does(path, capsys):
    certify(checkpoint=path, progress=True)
    assert "node" in capsys.readouterr().err


def test_text_says_what_the_run_is(path):
    with zipfile.ZipFile(path) as archive, archive.open("stfem.npy") as stream:
        text = json.loads(str(np.lib.format.read_array(stream)))
    run = text["content"]["mapping"]["run"]["mapping"]
    assert run["call"] == "certify"
    assert run["stepper"]["mapping"]["is"] == "explicit stepper"
