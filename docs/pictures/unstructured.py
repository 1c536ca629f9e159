"""Bound over error of the transient wave on triangles, over the diffusion, on the finest grids."""

import matplotlib.pyplot as plt
import shared

part = shared.record("unstructured")["parts"]["wave"]
cells = part["parameters"]["cells"]
styles = {
    "patches": (shared.BLUE, "o"),
    "averaging": (shared.GREY, "s"),
    "two-stage": (shared.ORANGE, "^"),
    "mixed": (shared.GREEN, "v"),
}
figure, panels = plt.subplots(1, len(cells), figsize=(8.4, 3.6), sharey=True)
for axes, (degree, grids) in zip(panels, cells.items(), strict=True):
    for name, (colour, marker) in styles.items():
        rows = [
            row
            for row in part["rows"]
            if (row["reconstruction"], str(row["degree"]), row["cells"]) == (name, degree, grids[-1])
        ]
        rows = sorted((row for row in rows if row["eps"] > 0.0), key=lambda row: row["eps"])
        points = [[row[key] for row in rows] for key in ("eps", "ratio")]
        axes.loglog(*points, marker=marker, color=colour, label=name)
    axes.axhline(1.0, color="black", lw=0.8)
    axes.set(title=f"q = {degree}, n = {grids[-1]}", xlabel="diffusion ε")
panels[0].set(ylabel="B / e_h (dimensionless)")
panels[0].legend()
