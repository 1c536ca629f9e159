"""What the cases of guarantee_campaign.py say: histogram, mixture, refusals, and the worst of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import records
from guarantee_cases import HUGE, SMALL_EPS, TINY, TWISTS
from guarantee_checks import CYCLE, FAST, FINE, NORMS, UNITS
from guarantee_store import without_text
from truth import RELATIVE_SLACK

from stfem.residual.norms import UNDERFLOW

Rows = Sequence[Mapping[str, Any]]
#: Edges of the classes of effectivities.
EDGES = (1.0, 1.01, 1.03, 1.1, 1.3, 2.0, 5.0, 10.0, 30.0, 100.0, 1e3, 1e6, math.inf)
RESOLVED, SHARP = 0.1, 2.0
LEAST_SHARES = {"resolved": 0.5, "μ > 0": 0.2, "g ≠ 0": 0.2}
WORST = 20
COMPARATORS = ("AllL2Estimator", "AllDualEstimator")
#: ‖u‖ below which the squares of its errors leave the range of numbers.
LEAST_SIZE = UNDERFLOW / 1e-16


def shares(rows: Rows) -> dict[str, float]:
    """Shares of all rows; those without a bound count as none of it."""
    measured = [row for row in rows if "bound" in row]
    resolved = [row for row in measured if row["bound"] < SHARP and row["relative_error"] < RESOLVED]
    counts = {
        "resolved": len(resolved),
        "μ > 0": sum(row.get("growth", 0.0) > 1.0 for row in rows),
        "g ≠ 0": sum(row.get("source", False) for row in rows),
    }
    return {name: count / max(1, len(rows)) for name, count in counts.items()}


def missed_shares(rows: Rows) -> list[str]:
    """Names of the shares that are too small."""
    found = shares(rows)
    return [name for name, least in LEAST_SHARES.items() if found[name] < least]


def histogram(rows: Rows) -> list[dict[str, Any]]:
    """Cases with an effectivity between two edges, below 1, infinite or without meaning, for every bound."""

    def line(label: str, chosen: Callable[[Mapping[str, Any], float], bool]) -> dict[str, Any]:
        counts = {name: sum(name in row and chosen(row, float(row[name])) for row in rows) for name in NORMS}
        return {"effectivity": label, **counts}

    def between(low: float, high: float) -> Callable[[Mapping[str, Any], float], bool]:
        return lambda row, value: in_range(row) and low <= value < high

    return [
        line("below 1", lambda row, value: value < EDGES[0]),
        *(line(f"{low:g} – {high:g}", between(low, high)) for low, high in pairwise(EDGES[:-1])),
        line(f"{EDGES[-2]:g} and more", between(*EDGES[-2:])),
        line("infinite", lambda row, value: in_range(row) and value == math.inf),
        line("squares vanish", lambda row, value: value >= EDGES[0] and not in_range(row)),
    ]


def summary(rows: Rows, key: Callable[[Mapping[str, Any]], Any], title: str) -> list[dict[str, Any]]:
    """One line for every value of the key."""
    table = []
    for value in sorted({key(row) for row in rows}, key=str):
        given = [row for row in rows if key(row) == value]
        ratios = np.array([row["bound"] for row in given if "bound" in row])
        line = {
            title: value,
            "cases": len(given),
            "violated": sum(bool(row["violated"]) for row in given),
            "refused": sum("refused" in row for row in given),
            "round-off": sum(not row["measurable"] for row in given if "measurable" in row),
        }
        if len(ratios):
            line |= {
                "median": f"{np.median(ratios):.3g}",
                "90 %": f"{np.quantile(ratios, 0.9):.3g}",
                "largest": f"{ratios.max():.3g}",
                "least": f"{ratios.min():.6g}",
            }
        table.append(line)
    return table


def refusals(rows: Rows) -> list[dict[str, Any]]:
    """Why cases have no bound, numbers left out, and how often."""
    sentences = Counter(
        re.sub(r"\S*\d\S*", "#", row["refused"].split("\n")[0])[:150] for row in rows if "refused" in row
    )
    return [{"cases": count, "reason": sentence} for sentence, count in sentences.most_common()]


def worst(rows: Rows) -> list[dict[str, Any]]:
    """The cases with the largest effectivities, and what the estimate says of them.

    Without those whose solution is so small that squares of errors vanish, where a bound is `UNDERFLOW`, and
    without the comparators, which are not meant to be sharp.
    """
    known = [row for row in rows if in_range(row) and row["estimator"] not in COMPARATORS]
    chosen = sorted(known, key=lambda row: -row["bound"])[:WORST]
    return [
        {
            "seed": row["seed"],
            "kind": row["kind"],
            "twist": row["twist"],
            "ε": f"{row['eps']:.2g}",
            "effectivity": f"{row['bound']:.3g}",
            "relative error": f"{row['relative_error']:.2g}",
            "growth": f"{row['growth']:.2g}",
            "reason": row["explanation"],
        }
        for row in chosen
    ]


def in_range(row: Mapping[str, Any]) -> bool:
    """Whether squares of the errors of a case stay inside of the range of numbers."""
    return bool(row.get("size", 0.0) > LEAST_SIZE and "bound" in row)


def text(rows: Rows) -> str:
    """Everything as Markdown."""
    violated = [row for row in rows if row["violated"]]
    refused = sum("refused" in row for row in rows)
    unmeasured = sum(not row["measurable"] for row in rows if "measurable" in row)
    found = shares(rows)
    vanishing = [row["bound"] for row in rows if "bound" in row and not in_range(row)]
    parts = [
        f"{len(rows)} cases, {len(violated)} violated, {refused} refused; in {unmeasured} the true error is "
        "no larger than what its evaluation rounds.",
        f"In {len(vanishing)} with a true error the solution is below {LEAST_SIZE:.0e}, where the bound is "
        "what squares that vanish may hide.",
        "Shares of all cases: "
        + ", ".join(f"{name} {100.0 * share:.1f} %" for name, share in found.items())
        + ".",
        *(f"Violated: seed {row['seed']} ({row['kind']}): {'; '.join(row['violated'])}" for row in violated),
        records.markdown(histogram(rows)),
        records.markdown(summary(rows, lambda row: row["kind"], "problems")),
        records.markdown(summary(rows, attack, "attack")),
        records.markdown(summary(rows, diffusion, "diffusion")),
        records.markdown(worst(rows)),
    ]
    if refused:
        parts.append(records.markdown(refusals(rows)))
    return "\n\n".join(parts)


def attack(row: Mapping[str, Any]) -> str:
    """What makes a case hard."""
    twist = row.get("twist", "refused")
    return str(twist) if twist in TWISTS or twist == "refused" else "catalogue"


def diffusion(row: Mapping[str, Any]) -> str:
    """ε by decades that matter."""
    eps = row.get("eps")
    if eps is None:
        return "unknown"
    names = ((0.0, "0"), (1e-307, "denormal"), (1e-16, "to 1e-16"), (1e-4, "to 1e-4"))
    return next((f"ε {name}" for limit, name in names if eps <= limit), "ε beyond")


def parameters(seeds: range, finished: int) -> dict[str, Any]:
    """What the record was computed with."""
    return {
        "seeds": [seeds.start, seeds.stop],
        "finished": finished,
        "kinds": CYCLE,
        "attacks": TWISTS,
        "small_eps": [repr(eps) for eps in SMALL_EPS],
        "tiny": TINY,
        "huge": HUGE,
        "least_shares": LEAST_SHARES,
        "relative_slack": RELATIVE_SLACK,
        "round_off_units": UNITS,
        "accuracy": {f"{dim}D": vars(rule) for dim, rule in FAST.items()},
        "accuracy_again": {f"{dim}D": vars(rule) for dim, rule in FINE.items()},
    }


def record(rows: Rows) -> list[dict[str, Any]]:
    """The rows of the record: sums, and of single cases only what stands out.

    All rows would be many megabytes; every one of them can be computed again from its seed.
    """
    outstanding = {entry["seed"] for entry in worst(rows)}
    outstanding |= {row["seed"] for row in rows if row["violated"]}
    return [
        {"part": "shares", **shares(rows)},
        *({"part": "histogram", **line} for line in histogram(rows)),
        *({"part": "kinds", **line} for line in summary(rows, lambda row: row["kind"], "problems")),
        *({"part": "attacks", **line} for line in summary(rows, attack, "attack")),
        *({"part": "diffusion", **line} for line in summary(rows, diffusion, "diffusion")),
        *({"part": "refusals", **line} for line in refusals(rows)),
        *({"part": "versions", "stfem": v, "cases": n} for v, n in versions(rows).items()),
        *({"part": "worst", **without_text(row)} for row in rows if row["seed"] in outstanding),
    ]


def versions(rows: Rows) -> Counter[str]:
    """How many cases each version of the library has computed."""
    return Counter(row.get("version", "unknown") for row in rows)
