"""The folder that keeps finished cases: another study's, damaged files, folders that are none."""

import json
import os
import warnings
from pathlib import Path

import pytest

from stfem.problems import linear_advection_diffusion, viscous_burgers
from stfem.studies import convergence, store, sweep

PROBLEM = linear_advection_diffusion(1, 1e-3, 0.05)
GIVEN = {"dim": 1, "final_time": 0.05, "degree": 1}


def case_files(folder):
    return sorted(path for path in Path(folder).iterdir() if path.name != "store.json")


def stamps(folder):
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in case_files(folder)}


def run(folder, cells=(4, 8), **given):
    return convergence(PROBLEM, cells=list(cells), degree=1, store=folder, **given)


def test_finished_cases_are_not_run_again(tmp_path):
    first = run(tmp_path / "deep" / "folder")
    before = stamps(tmp_path / "deep" / "folder")
    again = run(tmp_path / "deep" / "folder")
    assert (first.reused, again.reused) == (0, 2)
    assert again.rows == first.rows  # times included
    assert stamps(tmp_path / "deep" / "folder") == before


def test_a_study_may_grow(tmp_path):
    first = run(tmp_path)
    larger = run(tmp_path, (4, 6, 8, 16))
    assert larger.reused == 2
    assert [row["cells"] for row in larger.rows] == [4, 6, 8, 16]
    assert larger.rows[2]["seconds"] == first.rows[1]["seconds"]
    assert larger.rows[2]["eoc_bound"] != first.rows[1]["eoc_bound"]  # against 6, no longer 4


def test_defaults_given_or_not(tmp_path):
    run(tmp_path)
    assert run(tmp_path, dt=None, initial_correction=True).reused == 2
    assert run(tmp_path, initial_correction=False).reused == 0
    assert len(case_files(tmp_path)) == 4


def test_values_are_told_apart_and_not_their_names(tmp_path):
    sweep(linear_advection_diffusion, eps={"large": 1e-2, "small": 1e-4}, cells=4, store=tmp_path, **GIVEN)
    swapped = sweep(
        linear_advection_diffusion, eps={"large": 1e-4, "small": 1e-3}, cells=4, store=tmp_path, **GIVEN
    )
    assert swapped.reused == 1
    fresh = sweep(linear_advection_diffusion, eps=[1e-4, 1e-3], cells=4, **GIVEN)
    assert [row["bound"] for row in swapped.rows] == [row["bound"] for row in fresh.rows]
    assert [row["eps"] for row in swapped.rows] == ["large", "small"]


def test_another_code_of_the_library(tmp_path, monkeypatch):
    run(tmp_path)
    monkeypatch.setattr("stfem.studies.fingerprint.code_digest", lambda: "of tomorrow")
    assert run(tmp_path).reused == 0


def test_folder_of_another_problem(tmp_path):
    run(tmp_path)
    before = stamps(tmp_path)
    with pytest.raises(ValueError, match=r"expected a folder of studies of viscous_burgers, got .*Advection"):
        sweep(viscous_burgers, eps=[1e-2, 1e-3], cells=4, store=tmp_path, **GIVEN)
    assert stamps(tmp_path) == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "\x00" * len(text),
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text.replace('"bound"', '"bond"'),
        lambda text: text.replace('"format_version": 1', '"format_version": 2'),
        lambda text: text.replace('"results": {', '"results": 3, "others": {'),
    ],
)
def test_damaged_file_of_a_case(tmp_path, damage):
    first = run(tmp_path)
    path = case_files(tmp_path)[0]
    whole = path.read_text(encoding="utf-8")
    path.write_text(damage(whole), encoding="utf-8")
    left = path.read_bytes()
    with pytest.raises(ValueError, match=rf"{path.name}: expected .*, got .*; remove the file"):
        run(tmp_path)
    assert path.read_bytes() == left  # nothing is overwritten
    path.unlink()
    again = run(tmp_path)
    assert again.reused == 1
    assert [row["bound"] for row in again.rows] == [row["bound"] for row in first.rows]


def test_bytes_that_are_no_text(tmp_path):
    run(tmp_path)
    case_files(tmp_path)[0].write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ValueError, match="expected a finished case of a study"):
        run(tmp_path)


def test_case_under_the_name_of_another(tmp_path):
    run(tmp_path)
    one, other = case_files(tmp_path)
    one.write_bytes(other.read_bytes())
    with pytest.raises(ValueError, match=r"expected stfem\.case 1 of this name"):
        run(tmp_path)


def test_damaged_name_of_the_owner(tmp_path):
    run(tmp_path)
    (tmp_path / "store.json").write_text("{", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"store.json: expected the name of a problem, got .*remove the file"
    ):
        run(tmp_path)
    (tmp_path / "store.json").unlink()
    assert run(tmp_path).reused == 2


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".half.tmp").write_text("{")  # as a killed run leaves it
    run(tmp_path)
    run(tmp_path).to_json(tmp_path / "study.json")
    assert run(tmp_path).reused == 2
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_files_say_what_they_hold(tmp_path):
    study = run(tmp_path)
    record = json.loads(case_files(tmp_path)[0].read_text(encoding="utf-8"))
    assert record["parameters"] in [{"cells": n, "degree": 1} for n in (4, 8)]
    assert record["provenance"] == dict(study.provenance)
    assert record["problem"] == study.problem


def test_paths_that_are_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"store: expected a folder, got .*file"):
        run(tmp_path / "file")
    with pytest.raises(ValueError, match="store: expected a folder, got"):
        run(tmp_path / "file" / "below")


def test_folder_that_may_not_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as root, who may everything
    with pytest.raises(ValueError, match="store: expected a folder that may be written to"):
        run(tmp_path)


def test_full_disk_loses_no_results(tmp_path, monkeypatch):
    run(tmp_path, (4, 6))

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.warns(RuntimeWarning, match="store: a case is not kept: .*No space left"):
        study = run(tmp_path)
    assert [row["cells"] for row in study.rows] == [4, 8]
    assert not list(tmp_path.glob(".*.tmp"))
    monkeypatch.undo()
    with warnings.catch_warnings(action="error"):
        assert run(tmp_path).reused == 1
