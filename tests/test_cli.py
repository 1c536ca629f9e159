import ast
import inspect
import io
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stfem import cli
from stfem.cli import main
from stfem.problems import BOUNDED, CATALOGUE, STATIONARY
from stfem.provenance import versions


def test_problems_lists_every_name(capsys):
    assert main(["problems"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*CATALOGUE, *BOUNDED, *STATIONARY]
    assert all(len(line.split()) > 3 for line in lines)


def test_reader_that_has_seen_enough():
    """The other end of the pipe is closed before anything is written, as `head` may do."""
    for arguments in (["problems"], ["certify", "linear_advection_diffusion", *SMALL]):
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "stfem", *arguments]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
        os.close(writing)
        assert done.returncode == 1
        assert done.stderr == b""


def test_certify_prints_the_bound_and_writes_files(tmp_path, capsys):
    arguments = ["--eps", "1e-4", "--dim", "1", "--cells", "8", "--degree", "1", "--final-time", "0.1"]
    files = ["--json", str(tmp_path / "e.json"), "--plot", str(tmp_path / "e.png")]
    assert main(["certify", "linear_advection_diffusion", *arguments, *files]) == 0
    assert "guaranteed" in capsys.readouterr().out
    record = json.loads((tmp_path / "e.json").read_text())
    assert record["bound"] >= record["error"] > 0.0
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments",
    [
        ["moving_front", "--dim", "1", "--cells", "8", "--degree", "1"],
        ["rotating_pulse", "--degree", "1", "--final-time", "0.02"],
        ["variable_coefficients", "--cells", "4", "--degree", "1", "--growth", "-1", "--final-time", "0.1"],
        ["interior_layer", "--cells", "4", "--degree", "1", "--eps", "0"],
        ["stationary_layer", "--cells", "4", "--degree", "1"],
        ["rotating_corner", "--degree", "1"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_certify_on_domains_with_a_boundary_and_without_time(arguments, tmp_path, capsys):
    path = tmp_path / "e.json"
    assert main(["certify", *arguments, "--json", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{arguments[0]}, ")
    record = json.loads(path.read_text())
    assert record["bound"] >= record["error"] > 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rotating_corner", "--cells", "3"], "--cells: expected none, since rotating_corner has its mesh"),
        (["interior_layer", "--final-time", "1"], "interior_layer has no final_time"),
        (["interior_layer", "--plot", "e.png"], "--plot: expected none for a problem without time"),
        (["hemker_cylinder", "--eps", "1e-3"], "eps: expected a diffusion that the series can be summed for"),
        (["variable_coefficients", "--cells", "4", "--degree", "1"], "growth: expected"),
        (["nothing"], "expected one of linear_advection_diffusion"),
        (["viscous_burgers", "--eps", "-1"], "got"),
        (["viscous_burgers", "--eps", "nan"], "eps: expected a diffusion from 0 to 1e+100, got nan"),
        (["viscous_burgers", "--eps", "inf"], "eps: expected a diffusion from 0 to 1e+100, got inf"),
        (["viscous_burgers", "--dim", "4"], "dim: expected one of 1, 2, 3, got 4"),
        (["viscous_burgers", "--final-time", "1e-300"], "final_time: expected positive and finite,"),
        (["viscous_burgers", "--cells", "0"], "expected at least 1"),
        (["viscous_burgers", "--degree", "-1"], "degree: expected 0 to 5, got -1"),
        (["viscous_burgers", "--degree", "9"], "degree: expected 0 to 5, got 9"),
        (["burgers_cole_hopf", "--dim", "1"], "got dim"),
        (["burgers_cole_hopf", "--dim", "2"], "since burgers_cole_hopf has no dim, got dim 2"),
    ],
)
def test_bad_arguments_are_explained(arguments, message, capsys):
    assert main(["certify", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.fixture
def no_run(monkeypatch):
    """Paths are looked at before anything is computed."""

    def computed(*arguments, **options):
        raise AssertionError("computed before the paths were checked")

    monkeypatch.setattr(cli, "certify", computed)
    monkeypatch.setattr(cli, "run_demo", computed)


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--json", "missing/e.json", "--json: expected a file in an existing folder, got {}"),
        ("--plot", "missing/e.png", "--plot: expected a file in an existing folder, got {}"),
        ("--json", "file/e.json", "--json: expected a file in an existing folder, got {}"),
        ("--json", "folder", "--json: expected a file, got the folder {}"),
        ("--plot", "folder.png", "--plot: expected a file, got the folder {}"),
        ("--json", "locked/e.json", "--json: expected a place that may be written to, got {}"),
        ("--json", "locked.json", "--json: expected a place that may be written to, got {}"),
        ("--plot", "e.xyz", "--plot: expected a file that ends in one of .*.pdf, .*.png, .*, got {}"),
        ("--plot", "e", "--plot: expected a file that ends in one of .*, got {}"),
    ],
)
def test_output_that_cannot_be_written_is_refused_before_the_run(
    option, name, message, tmp_path, capsys, monkeypatch, no_run
):
    for folder in ("folder", "folder.png", "locked"):
        (tmp_path / folder).mkdir()
    for file in ("file", "locked.json"):
        (tmp_path / file).touch()
    allowed = os.access  # the superuser may write everywhere
    monkeypatch.setattr(os, "access", lambda path, mode: "locked" not in path.name and allowed(path, mode))
    before = sorted(tmp_path.rglob("*"))
    target = tmp_path / name
    assert main(["certify", "linear_advection_diffusion", option, str(target)]) == 2
    captured = capsys.readouterr()
    assert re.fullmatch("stfem: " + message.format(re.escape(str(target))), captured.err.strip())
    assert captured.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_one_file_for_both_outputs_is_refused(tmp_path, capsys, no_run):
    target = str(tmp_path / "e.png")
    assert main(["certify", "linear_advection_diffusion", "--json", target, "--plot", target]) == 2
    assert f"--plot: expected another file than --json, got {target}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["e.PNG", "e.pdf", "e.svg"])
def test_known_pictures(name, tmp_path):
    arguments = ["--dim", "1", "--cells", "4", "--degree", "1", "--final-time", "0.01"]
    target = tmp_path / name
    assert main(["certify", "linear_advection_diffusion", *arguments, "--plot", str(target)]) == 0
    assert target.stat().st_size > 1000


def test_demo_that_cannot_write_is_refused_before_the_run(tmp_path, capsys, no_run):
    (tmp_path / "file").touch()
    (tmp_path / "stfem_demo.png").mkdir()
    for output, message in (
        (tmp_path / "file", "--output: expected a folder, got"),
        (tmp_path / "file" / "inside", "--output: expected a folder, got"),
        (tmp_path, "--output: expected a file, got the folder"),
    ):
        assert main(["demo", "--output", str(output)]) == 2
        assert message in capsys.readouterr().err


SMALL = ["--dim", "1", "--cells", "4", "--degree", "1", "--final-time", "0.01"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["problems"], ["u^2/2", "sin 2pix"]),
        (["certify", "viscous_burgers", *SMALL], ["sup ||u-u_hat||", "guaranteed"]),
        (["certify", "‖"], ["stfem: problem: expected one of", "got '||'"]),
    ],
)
def test_ascii_terminal(arguments, words, monkeypatch):
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True) for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    assert main(arguments) == (2 if arguments[-1] == "‖" else 0)
    text = b"".join(stream.buffer.getvalue() for stream in streams).decode("ascii")
    assert all(word in text for word in words)
    assert "?" not in text


@pytest.mark.parametrize(
    "variables",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
def test_environment_without_unicode(variables):
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONUTF8", "PYTHONIOENCODING")}
    command = [sys.executable, "-m", "stfem", "certify", "linear_advection_diffusion", *SMALL]
    done = subprocess.run(command, env=kept | variables, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"sup ||u-u_hat||" in done.stdout
    assert done.stdout.isascii()


def test_demo_on_an_ascii_terminal(tmp_path, monkeypatch):
    """Here in one process; the letters of its table are few."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["demo", "--quick", "--output", str(tmp_path / "ε‖")]) == 0
    stream.flush()
    assert b"unsplit grows like" in stream.buffer.getvalue()
    assert b"eps||" in stream.buffer.getvalue()


def test_every_character_of_the_package_has_a_readable_form():
    """Of all strings that are no docstrings, and of those lines that `stfem problems` prints."""
    printed = "".join(
        inspect.getdoc(factory).splitlines()[0] for factory in (CATALOGUE | BOUNDED | STATIONARY).values()
    )
    for path in Path(cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Constant) and not isinstance(node, ast.Expr):
                    printed += str(child.value)
    strange = {character for character in printed if not character.isascii()}
    assert {"‖", "ε", "∇"} <= strange
    readable = "".join(map(cli._ascii, strange))
    assert readable.isascii()
    assert "?" not in readable


def test_demo_shows_a_flat_and_a_growing_curve(tmp_path, capsys):
    assert main(["demo", "--quick", "--output", str(tmp_path / "out")]) == 0
    assert "unsplit grows like" in capsys.readouterr().out
    record = json.loads((tmp_path / "out" / "stfem_demo.json").read_text())
    assert record["unsplit_slope"] == pytest.approx(-0.5, abs=0.05)
    rows = record["rows"]
    assert max(row["effectivity"] for row in rows) < 1.2
    assert all(row["guaranteed"] and row["effectivity"] >= 1.0 for row in rows)
    assert record["versions"] == versions()
    assert set(record["versions"]) == {"stfem", "python", "numpy", "scipy", "platform"}
    assert all(0.0 < row["seconds"] < 60.0 for row in rows)
    assert math.isinf(float(rows[-1]["bound_unsplit"]))
    assert (tmp_path / "out" / "stfem_demo.png").read_bytes().startswith(b"\x89PNG")
