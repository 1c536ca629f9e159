"""The bound over time beside the true error."""

import matplotlib.pyplot as plt
import shared

import stfem

problem = stfem.problems.linear_advection_diffusion(dim=2, eps=1e-2, final_time=0.5)
result = stfem.certify(problem, cells=10, degree=1)
time = result.history["time"]
figure, axes = plt.subplots(figsize=(6.4, 3.4))
axes.plot(time, result.history["bound"], color=shared.BLUE, label="bound of ‖u − û‖")
axes.plot(time, result.history["error"], "--", color=shared.ORANGE, label="true ‖u − û‖")
axes.set(xlabel="time t (dimensionless)", ylabel="L² norm (dimensionless)", ylim=(0.0, None))
axes.legend()
