"""The guarantee under attack: no bound of 20,000 random problems lies below the true error (T4.6).

    python benchmarks/guarantee_campaign.py [--jobs 2] [--folder PATH] [--quick] [--again KIND …]

Seed k is case k, of kind k mod 20: all cases are fixed beforehand and none is left out afterwards. They are
scalar equations with constant and variable coefficients, Burgers and other conservation laws, the p-system,
gases, linear systems and the catalogue, on tori, boxes and meshes, in one to three dimensions, with every
kind of boundary condition, time stepping, reconstruction and estimator; diffusion from 1 to 0, denormal
numbers too; and most attack in a way of their own: waves that the grid does not resolve, sources that are
nearly resonant, amplitudes near round-off or near the ends of the range of numbers. True errors are
integrated independently of the library. Warnings and errors that the library does not raise on purpose are
violations too.

Finished cases are kept in FOLDER/guarantee_campaign.jsonl: a second call computes what is missing, whatever
ended the first one. The complete campaign writes results/guarantee_campaign.json and guarantee_campaign.md;
with ``--record`` so does what is finished of it, and says how much that is.
Exits with 1 where a case is violated or the cases are not the mixture they should be.
"""

from __future__ import annotations

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # the processes share the cores

import argparse  # noqa: E402  (after the environment)
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Sequence, Set  # noqa: E402
from pathlib import Path  # noqa: E402

import guarantee_report as report  # noqa: E402
import records  # noqa: E402
from guarantee_cases import TWISTS  # noqa: E402
from guarantee_checks import CYCLE, run  # noqa: E402
from guarantee_store import Row, Store, finished  # noqa: E402

COMPLETE = range(20_000)
QUICK = range(40)
#: Cases to repeat besides those of a kind, or of an attack.
CHOICES: dict[str, Callable[[Row], bool]] = {
    "violated": lambda row: bool(row["violated"]),
    "refused": lambda row: "refused" in row,
    "denormal": lambda row: 0.0 < row.get("eps", 1.0) < 1e-290,
}


def campaign(store: Store, seeds: Sequence[int], jobs: int, again: Set[str] = frozenset()) -> None:
    """Compute what the store does not have, and once more what is of given kinds, attacks or `CHOICES`."""
    missing = [k for k in seeds if k not in store.rows]
    known = [store.rows[k] for k in seeds if k in store.rows]
    repeated = [
        row["seed"]
        for row in known
        if again & {row["kind"], row.get("twist"), *(name for name, fits in CHOICES.items() if fits(row))}
    ]
    started = time.perf_counter()
    for count, row in enumerate(finished(run, [*repeated, *missing], jobs), start=1):
        store.add(row | {"version": records.VERSIONS["stfem"]})
        if row["violated"]:
            print("VIOLATED", row, flush=True)
        if count % 200 == 0:
            print(f"{count} cases, {time.perf_counter() - started:.0f} s", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the number of violated cases and missed shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=len(COMPLETE), help="number of cases, from --first on")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--folder", type=Path, default=records.RESULTS, help="of the finished cases")
    parser.add_argument("--quick", action="store_true", help=f"the first {len(QUICK)} cases; no record")
    parser.add_argument(
        "--again",
        nargs="+",
        default=[],
        choices=[*dict.fromkeys(CYCLE), *TWISTS, *CHOICES],
        metavar="KIND",
        help="kinds or attacks to compute once more, after a mend; or violated, refused, denormal",
    )
    parser.add_argument("--record", action="store_true", help="compute nothing, write what is finished")
    options = parser.parse_args(arguments)
    seeds = QUICK if options.quick else range(options.first, options.first + options.cases)
    with Store(options.folder / "guarantee_campaign.jsonl") as store:
        if not options.record:
            campaign(store, seeds, options.jobs, set(options.again))
        rows: list[Row] = [store.rows[k] for k in seeds if k in store.rows]
    text = report.text(rows)
    print(text)
    missed = report.missed_shares(rows)
    violated = sum(bool(row["violated"]) for row in rows)
    small = ", ".join(missed) or "none"
    print(f"{len(rows)} of {len(seeds)} cases, {violated} violated; shares too small: {small}")
    if seeds == COMPLETE:
        records.write("guarantee_campaign", report.parameters(seeds, len(rows)), report.record(rows), text)
    else:
        print(f"nothing written: the record is that of the seeds {COMPLETE.start} to {COMPLETE.stop - 1}")
    return violated + len(missed)


if __name__ == "__main__":
    sys.exit(main() > 0)
