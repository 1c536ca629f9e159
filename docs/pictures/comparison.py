"""The sharp comparison against Young and Gronwall, for a constant residual: two curves from formulas."""

import matplotlib.pyplot as plt
import numpy as np
import shared

time = np.linspace(0.0, 2.0, 201)  # z = 1 at the start and the residual has the norm a = 1, so that α = t
sharp = 1.0 + time
young = np.sqrt(2.0 + 4.0 * time**2)
gronwall = np.sqrt(np.exp(time) + np.expm1(time))
figure, axes = plt.subplots(figsize=(6.4, 3.4))
axes.plot(time, gronwall, ":", color=shared.ORANGE, label="y′ ≤ y + a², then Gronwall")
axes.plot(time, young, "--", color=shared.GREEN, label="√(2z² + 4α²)")
axes.plot(time, sharp, color=shared.BLUE, label="z + α, the comparison of (T4.2)")
axes.set(xlabel="α / z (dimensionless)", ylabel="bound / z (dimensionless)")
axes.legend()
