"""The estimate E of the paper and the bound of the library, each over the error that it is about."""

import matplotlib.pyplot as plt
import shared

rows = shared.record("paper_2604_01200")["rows"]
finest = max(row["cells"] for row in rows)
names = list(dict.fromkeys(row["experiment"] for row in rows))
colours = {1: shared.BLUE, 2: shared.ORANGE}
figure, panels = plt.subplots(1, len(names), figsize=(9.4, 3.4), sharey=True)
for axes, name in zip(panels, names, strict=True):
    for degree, colour in colours.items():
        chosen = [
            row
            for row in rows
            if (row["experiment"], row["degree"], row["cells"]) == (name, degree, finest) and row["eps"] > 0.0
        ]
        eps = [row["eps"] for row in chosen]
        published = [row["paper"]["E"] / row["paper"]["E_rec"] for row in chosen]
        ours = [row["ours"]["effectivity_energy"] for row in chosen]
        axes.loglog(eps, published, "s--", color=colour, label=f"E, q = {degree}")
        axes.loglog(eps, ours, "o-", color=colour, label=f"stfem, q = {degree}")
    axes.set(title=f"{name.capitalize()}, N = {finest}", xlabel="diffusion ε")
panels[0].set(ylabel="bound / error, energy norm (dimensionless)", ylim=(0.9, None))
panels[0].legend()
