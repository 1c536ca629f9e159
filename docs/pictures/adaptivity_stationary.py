"""Bounds against unknowns and against time, on adaptive and on uniform meshes, ε = 1e-4."""

import matplotlib.pyplot as plt
import shared

rows = shared.record("adaptivity")["parts"]["stationary"]["rows"]
colours = {"inflow step": shared.BLUE, "circle": shared.ORANGE, "outflow": shared.GREEN}
styles = {"adaptive": ("-", "o"), "uniform": ("--", "s")}
figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.8), sharey=True)
for axes, cost in zip(panels, ("dofs", "seconds"), strict=True):
    for row in rows:
        if row["eps"] == 1e-4 and row["degree"] == 2 and row["problem"] in colours:
            line, marker = styles[row["meshes"]]
            axes.loglog(
                row[cost],
                row["bound"],
                line,
                marker=marker,
                ms=3.0,
                color=colours[row["problem"]],
                label=f"{row['problem']}, {row['meshes']}",
            )
panels[0].set(xlabel="unknowns (dimensionless)", ylabel="bound of ‖u − û‖ (units of u · length)")
panels[1].set(xlabel="time of all meshes (s)")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
