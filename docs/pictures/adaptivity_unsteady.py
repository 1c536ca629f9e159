"""Bounds and errors in time against unknowns and wall time, on adaptive and on uniform meshes, ε = 1e-4."""

import matplotlib.pyplot as plt
import shared

rows = shared.record("adaptivity")["parts"]["unsteady"]["rows"]
colours = {("layer", 1): shared.BLUE, ("layer", 2): shared.ORANGE, ("rotating pulse", 2): shared.GREEN}
styles = {"adaptive": ("-", "o"), "uniform": ("--", "s")}
figure, panels = plt.subplots(1, 2, figsize=(8.4, 4.0), sharey=True)
for axes, cost in zip(panels, ("mean", "seconds"), strict=True):
    for (problem, q), colour in colours.items():
        for mesh, (line, marker) in styles.items():
            wanted = problem, 1e-4, q, mesh
            chosen = [r for r in rows if (r["problem"], r["eps"], r["q"], r["mesh"]) == wanted]
            x = [row[cost] for row in chosen]
            axes.loglog(
                x,
                [row["bound"] for row in chosen],
                line,
                marker=marker,
                ms=3.0,
                color=colour,
                label=f"{problem}, q = {q}, {mesh}",
            )
            axes.loglog(x, [row["error"] for row in chosen], ":", color=colour, lw=0.8)
panels[0].set(xlabel="mean unknowns (dimensionless)", ylabel="bound, error dotted (u · length)")
panels[1].set(xlabel="time (s)")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
