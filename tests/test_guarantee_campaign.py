"""benchmarks/guarantee_campaign.py: some of its cases, what its checks notice, and that nothing is lost."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stfem import NonFiniteError
from stfem.residual import SlabNorms

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "guarantee_campaign.py"
NAMES = ("campaign", "cases", "catalogue", "checks", "meshes", "report", "store")


@pytest.fixture(scope="module")
def modules():
    """The modules of the campaign by the last part of their names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield {name: importlib.import_module(f"guarantee_{name}") for name in NAMES}
        others = ("random_nonlinear", "random_problems", "records", "truth")
        for name in (*(f"guarantee_{name}" for name in NAMES), *others):
            sys.modules.pop(name)


@pytest.fixture(scope="module")
def campaign(modules) -> ModuleType:
    return modules["campaign"]


@pytest.fixture(scope="module")
def checks(modules) -> ModuleType:
    return modules["checks"]


@pytest.fixture(scope="module")
def quick(campaign, tmp_path_factory):
    """Folder and rows of the quick campaign."""
    folder = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign.records, "RESULTS", folder)
        assert campaign.main(["--quick", "--folder", str(folder)]) == 0
    lines = (folder / "guarantee_campaign.jsonl").read_text(encoding="utf-8").splitlines()
    return folder, [json.loads(line) for line in lines]


def test_no_bound_of_the_quick_campaign_lies_below_the_truth(campaign, checks, quick):
    folder, rows = quick
    assert [row["seed"] for row in rows] == list(campaign.QUICK)
    assert [row["kind"] for row in rows] == 2 * list(checks.CYCLE)
    assert not any(row["violated"] for row in rows)
    assert sum("refused" in row for row in rows) <= 2
    assert [path.name for path in folder.iterdir()] == ["guarantee_campaign.jsonl"]  # no record


def test_a_second_call_computes_nothing(campaign, quick, monkeypatch, capsys):
    folder, rows = quick

    def never(seed):
        raise AssertionError(f"case {seed} once more")

    monkeypatch.setattr(campaign, "run", never)
    assert campaign.main(["--quick", "--folder", str(folder)]) == 0
    assert f"{len(rows)} of {len(rows)} cases, 0 violated" in capsys.readouterr().out


def test_cases_of_a_kind_are_computed_again_on_demand(campaign, modules, tmp_path, monkeypatch):
    store = modules["store"].Store(tmp_path / "rows.jsonl")
    with store:
        for seed in range(4):
            store.add({"seed": seed, "kind": "decay" if seed < 2 else "gas", "violated": ["x"] * (seed == 3)})
        repeated = []

        def found(seed):
            repeated.append(seed)
            return {"seed": seed, "kind": "gas", "violated": []}

        monkeypatch.setattr(campaign, "run", found)
        campaign.campaign(store, range(5), 1, {"decay", "violated"})
    assert repeated == [0, 1, 3, 4]


def test_a_killed_campaign_goes_on(modules, tmp_path):
    path = tmp_path / "guarantee_campaign.jsonl"
    command = [sys.executable, str(SCRIPT), "--cases", "12", "--folder", str(tmp_path), "--jobs", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120.0
        while not (path.exists() and path.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    with path.open("a", encoding="utf-8") as file:
        file.write('{"seed": 11, "ki')  # as a kill in the middle of a line leaves it
    before = path.read_text(encoding="utf-8").splitlines()[:-1]
    assert before
    assert modules["campaign"].main(["--cases", "12", "--folder", str(tmp_path)]) in (0, 1)  # by the mixture
    after = path.read_text(encoding="utf-8").splitlines()
    assert after[: len(before)] == before
    assert sorted(json.loads(line)["seed"] for line in after) == list(range(12))


def test_one_campaign_at_a_time_has_a_file(modules, tmp_path):
    path = tmp_path / "rows.jsonl"
    with (
        modules["store"].Store(path),
        pytest.raises(RuntimeError, match="got one that does"),
    ):
        modules["store"].Store(path)
    path.write_text('{"seed": 1}\nsomething else\n', encoding="utf-8")
    with pytest.raises(ValueError, match="line 2: expected a row with a seed, got 'something else'"):
        modules["store"].Store(path)


def test_processes_give_the_same_rows(modules):
    found = modules["store"].finished(divmod_row, range(9), 2)
    assert sorted(found, key=lambda row: row["seed"]) == [divmod_row(k) for k in range(9)]


def divmod_row(seed):
    return {"seed": seed, "row": list(divmod(seed, 4))}


@pytest.mark.parametrize("seed", [1, 5, 8, 15, 19])
def test_a_case_depends_on_its_seed_alone(checks, seed):
    first, again, other = (checks.attack_of(k) for k in (seed, seed, seed + len(checks.CYCLE)))
    problems = [
        attack.case.problem if hasattr(attack, "case") else attack.problem for attack in (first, again)
    ]
    x = np.full((problems[0].equation.dim, 3), 0.1)
    assert np.array_equal(problems[0].initial[0](x), problems[1].initial[0](x))
    assert problems[0].final_time == problems[1].final_time
    assert getattr(other, "case", other).seed != seed


def test_a_residual_taken_too_small_is_noticed(checks, quick, monkeypatch):
    sharp = [row["seed"] for row in quick[1] if row.get("bound", 9.0) < 1.2 and row["domain"] == "Torus"]
    complete = SlabNorms.piecewise

    def halved(norms, members):
        alpha, flux = complete(norms, members)
        return 0.3 * alpha, 0.3 * flux

    monkeypatch.setattr(SlabNorms, "piecewise", halved)
    assert sum(bool(checks.run(seed)["violated"]) for seed in sharp) >= 3


def test_another_solution_on_a_mesh_is_noticed(checks, modules):
    attack = checks.attack_of(15)
    assert attack.kind == "box"
    assert checks.checked(attack)["violated"] == []
    wrong = type(attack)(**{**vars(attack), "exact": attack.exact.scaled(1.5)})
    if len(attack.estimator.reconstructions) == 1:
        assert len(checks.checked(wrong)["violated"]) >= 3


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (NonFiniteError("solution", 0.1, 2), True),
        (ValueError("cells: expected a number, got none"), True),
        (ValueError("operands could not be broadcast together"), False),
        (np.linalg.LinAlgError("Singular matrix: expected"), False),
        (RuntimeWarning("overflow encountered in divide"), False),
        (ZeroDivisionError("float division by zero"), False),
    ],
)
def test_what_the_library_does_not_raise_on_purpose_is_a_violation(checks, monkeypatch, error, refused):
    def raising(attack):
        raise error

    monkeypatch.setattr(checks, "checked", raising)
    row = checks.run(0)
    assert ("refused" in row) is refused
    assert bool(row["violated"]) is not refused


def test_warnings_and_endless_cases_are_violations(checks, monkeypatch):
    monkeypatch.setattr(checks, "checked", lambda attack: warnings.warn("overflow", RuntimeWarning, 2))
    assert checks.run(0)["violated"] == ["RuntimeWarning: overflow"]
    monkeypatch.setattr(checks, "PATIENCE", 0.2)
    monkeypatch.setattr(checks, "checked", lambda attack: sum(1.0 for _ in iter(int, 1)))
    assert checks.run(0)["violated"] == ["TimeoutError: not finished after 0.2 s"]


def test_an_unfinished_campaign_can_be_recorded(campaign, quick, tmp_path, monkeypatch):
    monkeypatch.setattr(campaign.records, "RESULTS", tmp_path)
    assert campaign.main(["--record", "--folder", str(quick[0])]) == 0
    record = json.loads((tmp_path / "guarantee_campaign.json").read_text(encoding="utf-8"))
    assert (record["parameters"]["finished"], record["parameters"]["seeds"]) == (len(quick[1]), [0, 20000])
    parts = [row["part"] for row in record["rows"]]
    assert {"shares", "histogram", "kinds", "attacks", "diffusion", "worst", "versions"} <= set(parts)
    assert parts.count("worst") == 20
    found = (tmp_path / "guarantee_campaign.md").read_text(encoding="utf-8")
    assert f"{len(quick[1])} cases, 0 violated" in found


def test_report(modules, quick):
    report, rows = modules["report"], quick[1]
    assert report.shares([{"seed": 0, "violated": ["x"]}]) == {"resolved": 0.0, "μ > 0": 0.0, "g ≠ 0": 0.0}
    assert report.missed_shares([{"seed": 0, "violated": []}]) == list(report.LEAST_SHARES)
    counted = report.histogram(rows)
    assert sum(line["bound"] for line in counted) == sum("bound" in row for row in rows)
    assert counted[0] == {
        "effectivity": "below 1",
        "bound": 0,
        "bound_final": 0,
        "bound_energy": 0,
        "bound_l1": 0,
    }
    edges = [{"bound": value, "size": 1.0} for value in (0.5, 1.0, 2.0, np.inf)]
    edges.append({"bound": 3.0, "size": 1e-160})
    placed = {line["effectivity"]: line["bound"] for line in report.histogram(edges) if line["bound"]}
    assert placed == {"below 1": 1, "1 – 1.01": 1, "2 – 5": 1, "infinite": 1, "squares vanish": 1}
    worst = report.worst(rows)
    assert [float(line["effectivity"]) for line in worst] == sorted(
        (float(line["effectivity"]) for line in worst), reverse=True
    )
    tiny = {**rows[0], "bound": 1e200, "size": 1e-160}
    assert report.worst([*rows, tiny]) == worst
    violated = {"seed": 7, "kind": "gas", "violated": ["bound: 1 < 2"]}
    assert "seed 7 (gas): bound: 1 < 2" in report.text([*rows, violated])
    assert any(entry.get("seed") == 7 for entry in report.record([*rows, violated]))
