"""
Three dimensions
================

One, two and three dimensions are the same code. A wave on the unit cube, with its bound:
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem

# %%
# 8³ cubes of degree 2 are 13,824 unknowns.

problem = stfem.problems.linear_advection_diffusion(dim=3, eps=1e-3, final_time=0.1)
result = stfem.certify(problem, cells=8, degree=2)
print(result)
print(f"{result.facts['dofs']} unknowns, {result.facts['steps']} steps")
assert result.guaranteed
assert 1.0 <= result.effectivity < 1.2

# %%
# The solution can be evaluated anywhere, for instance on three planes.

s = (np.arange(64) + 0.5) / 64
first, second = np.meshgrid(s, s, indexing="ij")
figure, panels = plt.subplots(1, 3, figsize=(9.0, 3.2), layout="constrained", sharey=True)
for axes, height in zip(panels, (0.05, 0.15, 0.25), strict=True):
    values = result.solution(np.stack([first, second, np.full_like(first, height)]))
    image = axes.pcolormesh(s, s, values.T, cmap="cividis", vmin=-1.0, vmax=1.0, rasterized=True)
    axes.set(xlabel="x (dimensionless)", title=f"z = {height:g}", aspect="equal")
panels[0].set_ylabel("y (dimensionless)")
figure.colorbar(image, ax=panels, label="u (dimensionless)", shrink=0.8)
