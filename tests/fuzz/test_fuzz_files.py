"""Files that somebody has tampered with: a clear error, nothing run, nothing allocated on trust."""

import importlib.util
import io
import os
import random
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fuzz_bytes import bomb, loaded, spoiled, valid_files

from stfem.io import load_estimate, load_solution

HERE = Path(__file__).parent
QUICK, LONG = 200, 20_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def files(folder):
    return valid_files(folder)


def run(folder, files, count):
    rng = random.Random(7)
    names = sorted(files)
    for number in range(count):
        name = names[number % len(names)]
        content, load = files[name]
        result = loaded(folder, name, spoiled(name, content, rng.randrange), load)
        assert result.fine, f"{name}, input {number}: {result.kind}, {result.detail}"


def test_valid_files_load(folder, files):
    for name, (content, load) in files.items():
        assert loaded(folder, name, content, load).kind == "accepted"


def test_a_few_files(folder, files):
    run(folder, files, QUICK)


@pytest.mark.slow
def test_many_files(folder, files):
    run(folder, files, LONG)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_files_guided_by_coverage(tmp_path):
    command = [sys.executable, str(HERE / "fuzz_atheris.py"), str(tmp_path), "-runs=20000", "-seed=1"]
    path = os.pathsep.join([str(HERE), *sys.path])
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr[-3000:]


class Payload:
    """Writes a file when it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.mark.parametrize("load", [load_solution, load_estimate])
@pytest.mark.parametrize("name", ["stfem", "array0"])
def test_pickles_are_not_opened(tmp_path, load, name):
    target, path = tmp_path / "executed", tmp_path / "crafted.npz"
    arrays = {"stfem": np.array('{"version": 1, "kind": "solution", "content": {"mapping": {}}}')}
    arrays[name] = np.array([Payload(target)], dtype=object)
    np.savez(path, allow_pickle=True, **arrays)
    with pytest.raises(ValueError, match="expected a whole file, got a damaged one"):
        load(path)
    assert not target.exists()
    np.load(path, allow_pickle=True)[name]  # the payload is a live one
    assert target.exists()


@pytest.mark.parametrize(
    "content",
    [bomb((2**60,)), bomb((2**40, 2**40)), bomb((10**9,)), bomb((2**21,), compressed=True)],
    ids=["exabytes", "beyond all numbers", "gigabytes", "compressed"],
)
def test_bombs_are_refused_before_anything_is_allocated(tmp_path, content):
    path = tmp_path / "bomb.npz"
    path.write_bytes(content)
    started = time.perf_counter()
    with pytest.raises(ValueError, match="expected"):
        load_solution(path)
    assert time.perf_counter() - started < 1.0


def test_deep_texts_are_refused(tmp_path):
    path = tmp_path / "deep.npz"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        member = io.BytesIO()
        np.save(member, np.array("[" * 100_000))
        archive.writestr("stfem.npy", member.getvalue())
    path.write_bytes(stream.getvalue())
    with pytest.raises(ValueError, match="expected a whole file"):
        load_estimate(path)
