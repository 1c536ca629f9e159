"""Effectivity over the diffusion for the catalogue, every degree and the finest grid of the record."""

import matplotlib.pyplot as plt
import shared

parts = shared.record("effectivity")["parts"]
colours = {1: shared.BLUE, 2: shared.ORANGE, 3: shared.GREEN}
titles = {
    "linear1": "Linear, 1D",
    "linear2": "Linear, 2D",
    "linear3": "Linear, 3D",
    "burgers": "Burgers, 2D",
    "p-system": "P-system, 2D",
}
figure, panels = plt.subplots(1, len(parts), figsize=(11.0, 3.2), sharey=True)
for axes, (name, part) in zip(panels, parts.items(), strict=True):
    finest = max(row["cells"] for row in part["rows"])
    for degree in part["parameters"]["degrees"]:
        rows = [row for row in part["rows"] if row["degree"] == degree and row["cells"] == finest]
        rows = sorted((row for row in rows if row["eps"] > 0.0), key=lambda row: row["eps"])
        numbers = [[row[key] for row in rows] for key in ("eps", "effectivity", "effectivity_energy")]
        axes.semilogx(numbers[0], numbers[1], "o-", ms=4, color=colours[degree], label=f"q = {degree}")
        axes.semilogx(numbers[0], numbers[2], ":", color=colours[degree])
    axes.set(title=f"{titles.get(name, name)}, N = {finest}", xlabel="diffusion ε")
panels[0].set(ylabel="bound / error (dimensionless)", ylim=(0.95, None))
panels[1].legend()
