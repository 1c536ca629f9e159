import json
import math

import pytest

from stfem.cli import main
from stfem.problems import CATALOGUE


def test_problems_lists_every_name(capsys):
    assert main(["problems"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CATALOGUE)
    assert all(len(line.split()) > 3 for line in lines)


def test_certify_prints_the_bound_and_writes_files(tmp_path, capsys):
    arguments = ["--eps", "1e-4", "--dim", "1", "--cells", "8", "--degree", "1", "--final-time", "0.1"]
    files = ["--json", str(tmp_path / "e.json"), "--plot", str(tmp_path / "e.png")]
    assert main(["certify", "linear_advection_diffusion", *arguments, *files]) == 0
    assert "guaranteed" in capsys.readouterr().out
    record = json.loads((tmp_path / "e.json").read_text())
    assert record["bound"] >= record["error"] > 0.0
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "expected one of linear_advection_diffusion"),
        (["viscous_burgers", "--eps", "-1"], "got"),
        (["viscous_burgers", "--cells", "0"], "expected at least 1"),
        (["viscous_burgers", "--degree", "-1"], "degree: expected 0 to 5, got -1"),
        (["viscous_burgers", "--degree", "9"], "degree: expected 0 to 5, got 9"),
        (["burgers_cole_hopf", "--dim", "1"], "got dim"),
    ],
)
def test_bad_arguments_are_explained(arguments, message, capsys):
    assert main(["certify", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_unwritable_output_is_an_error_and_no_traceback(tmp_path, capsys):
    target = tmp_path / "missing" / "e.json"
    arguments = ["--dim", "1", "--cells", "4", "--degree", "1", "--final-time", "0.01"]
    assert main(["certify", "linear_advection_diffusion", *arguments, "--json", str(target)]) == 1
    assert "missing" in capsys.readouterr().err


def test_demo_shows_a_flat_and_a_growing_curve(tmp_path, capsys):
    assert main(["demo", "--quick", "--output", str(tmp_path / "out")]) == 0
    assert "unsplit grows like" in capsys.readouterr().out
    record = json.loads((tmp_path / "out" / "stfem_demo.json").read_text())
    assert record["unsplit_slope"] == pytest.approx(-0.5, abs=0.05)
    rows = record["rows"]
    assert max(row["effectivity"] for row in rows) < 1.2
    assert all(row["guaranteed"] and row["effectivity"] >= 1.0 for row in rows)
    assert math.isinf(float(rows[-1]["bound_unsplit"]))
    assert (tmp_path / "out" / "stfem_demo.png").read_bytes().startswith(b"\x89PNG")
