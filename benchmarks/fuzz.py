"""Fuzzing: hostile and valid arguments for every public callable, and files that were tampered with.

    python benchmarks/fuzz.py [--inputs 100000] [--only arguments files coverage] [--resume]

Draws inputs with fixed seeds from the tables in tests/fuzz and counts what comes of them; writes
results/fuzz.json and results/fuzz.md. Every part and callable is a row; nothing unexpected may be among them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "fuzz"
sys.path.insert(0, str(TESTS))
os.environ.setdefault("MPLBACKEND", "Agg")

from fuzz_bytes import loaded, spoiled, valid_files  # noqa: E402  (after the path)
from fuzz_entry import inputs  # noqa: E402
from fuzz_tables import TABLE  # noqa: E402
from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from records import RESULTS, VERSIONS, markdown, write  # noqa: E402

SEED = 20261130
#: Callables that take so much longer than others that fewer inputs are drawn.
SLOW = ("plotting.", "studies.", "stability_factor", "certify", "testing.guarantee", "io.write", "Stationary")
#: Shares of all inputs.
FILES, COVERAGE = 0.35, 0.35
Kept = dict[str, dict[str, Any]]
_KINDS = ("accepted", "refused", "unclear", "wrong", "unexpected")


def row(name: str, found: Counter[str], seconds: float, failures: list[str]) -> dict[str, Any]:
    """One line of the record."""
    counts = {kind: found[kind] for kind in _KINDS}
    facts = {"seconds": seconds, "version": VERSIONS["stfem"], "failures": failures}
    return {"callable": name, "inputs": found.total(), **counts, **facts}


def drawn(name: str, count: int) -> dict[str, Any]:
    """Inputs for one callable of the tables."""
    found: Counter[str] = Counter()
    failures: list[str] = []

    @seed(SEED)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(TABLE[name]))
    def draw(one: Any) -> None:
        result = one.run()
        found[result.kind] += 1
        if not result.fine and len(failures) < 20:
            failures.append(f"{result.kind}: {result.detail}; {one!r}"[:600])

    started = time.perf_counter()
    draw()
    return row(name, found, time.perf_counter() - started, failures)


def earlier(parameters: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Rows of the record with the same parameters in which nothing was unexpected, by name."""
    path = RESULTS / "fuzz.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"parameters": {}, "rows": []}
    same = all(record["parameters"].get(name) == value for name, value in parameters.items())
    return {
        line["callable"]: {"version": record["versions"]["stfem"], **line}
        for line in record["rows"]
        if same and not line["failures"]
    }


def arguments(total: int, kept: Kept) -> Iterator[dict[str, Any]]:
    """Inputs for all callables of the tables."""
    weights = {name: 0.15 if name.startswith(SLOW) else 1.0 for name in TABLE}
    for name, weight in weights.items():
        count = max(1, round(total * weight / sum(weights.values())))
        yield kept[name] if name in kept else drawn(name, count)


def files(total: int, kept: Kept) -> Iterator[dict[str, Any]]:
    """Valid files with bytes or contents changed at random."""
    with tempfile.TemporaryDirectory() as folder:
        contents = valid_files(Path(folder))
        for name, (content, load) in contents.items():
            if f"file {name}" in kept:
                yield kept[f"file {name}"]
                continue
            rng, found, failures = random.Random(SEED), Counter[str](), []
            started = time.perf_counter()
            for number in range(total // len(contents)):
                result = loaded(Path(folder), name, spoiled(name, content, rng.randrange), load)
                found[result.kind] += 1
                if not result.fine and len(failures) < 20:
                    failures.append(f"{result.kind}: {result.detail}; input {number}")
            yield row(f"file {name}", found, time.perf_counter() - started, failures)


def coverage(total: int, kept: Kept) -> Iterator[dict[str, Any]]:
    """The same, guided by the code that the inputs reach; where atheris is installed."""
    if importlib.util.find_spec("atheris") is None:
        return
    name = "files, guided by coverage"
    if name in kept:
        yield kept[name]
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(TESTS / "fuzz_atheris.py"), folder, f"-runs={total}", f"-seed={SEED}"]
        path = os.pathsep.join([str(TESTS), str(ROOT), *sys.path])
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
        bad = done.returncode != 0
        # what a run without an end at an error has not told apart is refused or accepted
        found = Counter({"refused": 0 if bad else total, "unexpected": int(bad)})
        failures = [done.stderr[-2000:]] if bad else []
        yield row(name, found, time.perf_counter() - started, failures)


PARTS = {"arguments": arguments, "files": files, "coverage": coverage}


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--resume", action="store_true", help="only what is not in the record, or failed")
    parser.add_argument("--dry", action="store_true", help="writes nothing")
    options = parser.parse_args()
    shares = {"arguments": 1.0 - FILES - COVERAGE, "files": FILES, "coverage": COVERAGE}
    parameters = {"inputs": options.inputs, "seed": SEED}
    kept = earlier(parameters) if options.resume else {}
    rows = []
    for part in options.only:
        for line in PARTS[part](round(options.inputs * shares[part]), kept):
            rows.append(line)
            bad = line["inputs"] - line["accepted"] - line["refused"]
            print(f"{line['callable']:45} {line['inputs']:6} {bad:5} {line['seconds']:8.1f} s", flush=True)
            print(*(f"    {failure}" for failure in line["failures"][:3]), sep="\n", end="\n" * bool(bad))
    totals = {kind: sum(line[kind] for line in rows) for kind in ("inputs", *_KINDS)}
    print(totals)
    if not options.dry:
        shown = [
            {"callable": "all", **totals},
            *({k: line[k] for k in ("callable", *totals)} for line in rows),
        ]
        write("fuzz", parameters, rows, markdown(shown))


if __name__ == "__main__":
    main()
