"""A study that is killed (SIGKILL) goes on where it was, and repeats no finished case."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0  # seconds until a run that hangs is a failure; it takes about three
SCRIPT = """
import os
import time
from pathlib import Path

import stfem

HERE = Path(__file__).parent


class Slow(stfem.SplitEstimator):
    def run(self, semidiscretization, *given):
        result = super().run(semidiscretization, *given)
        with (HERE / "log").open("a") as log:
            print(os.getpid(), semidiscretization.grid.cells[0], semidiscretization.degree, file=log)
        time.sleep(0.3)
        return result


def problem(eps):
    return stfem.problems.linear_advection_diffusion(dim=1, eps=eps, final_time=0.02)


if __name__ == "__main__":
    study = stfem.studies.sweep(
        lambda eps: problem(eps), eps=[1e-2, 0.0], cells=[4, 6, 8], degree=[1, 2], estimator=Slow(),
        store=HERE / "cases", workers=WORKERS,
    )
    study.to_json(HERE / "study.json")
    print(study.reused, len(study.rows), sum(row["guaranteed"] for row in study.rows))
"""


def wait_until(condition):
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < PATIENCE
        time.sleep(0.02)


def runs(pid):
    """Whether a process is there and no zombie; the latter waits for its new parent only."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a signal of POSIX")
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_study_goes_on(tmp_path, workers):
    script, cases = tmp_path / "experiment.py", tmp_path / "cases"
    script.write_text(SCRIPT.replace("WORKERS", str(workers)), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def finished():
        return {
            path.name: (path.stat().st_mtime_ns, path.stat().st_ino)
            for path in cases.glob("*.json")
            if path.name != "store.json"
        }

    def log():
        return [line.split() for line in (tmp_path / "log").read_text().splitlines()]

    with subprocess.Popen([sys.executable, script], env=environment) as process:
        wait_until(lambda: len(finished()) >= 3 or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    if sys.platform == "linux":  # workers do not outlive the study
        wait_until(lambda: not any(runs(pid) for pid, *_ in log()))
    before, begun = finished(), log()
    assert 3 <= len(before) < 12

    command = [sys.executable, script]
    again = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert again.stdout.split() == [str(len(before)), "12", "12"]
    after = finished()
    assert len(after) == 12
    assert {name: after[name] for name in before} == before  # not written again
    assert len(log()) - len(begun) == 12 - len(before)  # nor run again

    third = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert third.stdout.split() == ["12", "12", "12"]
    assert len(log()) - len(begun) == 12 - len(before)
