"""How many cases of the campaign have which effectivity, for each of the four bounds."""

import matplotlib.pyplot as plt
import numpy as np
import shared

rows = shared.record("guarantee_campaign")["rows"]
lines = [row for row in rows if row["part"] == "histogram"]
labels = [line["effectivity"] for line in lines]
bounds = {
    "bound": ("$\\sup\\,\\|u-\\hat u\\|$", shared.BLUE),
    "bound_final": ("at $T$", shared.ORANGE),
    "bound_energy": ("energy norm", shared.GREEN),
    "bound_l1": ("$L^1$ at $T$", shared.PURPLE),
}
figure, axes = plt.subplots(figsize=(7.4, 4.0))
place = np.arange(len(lines))
for i, (name, (label, colour)) in enumerate(bounds.items()):
    counts = [line[name] for line in lines]
    axes.bar(place + 0.2 * (i - 1.5), counts, 0.2, color=colour, label=label)
axes.set_yscale("symlog", linthresh=1.0)
axes.set_xticks(place, labels, rotation=40, ha="right", fontsize=8)
axes.set(xlabel="bound / true error (dimensionless)", ylabel="cases", ylim=(0.0, 1e5))
axes.legend(ncols=4, loc="upper center")
