"""Effectivity of every random case of the record, over how large its error is: nothing below 1."""

import matplotlib.pyplot as plt
import shared

rows = shared.record("random_cases")["rows"]
colours = (shared.BLUE, shared.ORANGE, shared.GREEN, shared.PURPLE, shared.GREY)
kinds = dict.fromkeys(row["kind"] for row in rows)
figure, axes = plt.subplots(figsize=(7.4, 4.0))
for kind, colour, marker in zip(sorted(kinds), colours, "o^sDv", strict=True):
    chosen = [row for row in rows if row["kind"] == kind]
    points = [[row[key] for row in chosen] for key in ("relative_error", "bound")]
    axes.loglog(*points, marker, ms=3, alpha=0.6, color=colour, label=kind)
axes.axhline(1.0, color="black", lw=0.8)
axes.set(
    xlabel="true error / size of the solution (dimensionless)",
    ylabel="bound / true error (dimensionless)",
    ylim=(0.9, None),
)
axes.legend(markerscale=2.0)
