"""
A pulse in a rotating flow
==========================

The velocity may vary in space. Only its divergence matters for the stability of the error (T4.1): in a
divergence-free flow nothing is amplified, however much the flow stretches the solution.
"""

import matplotlib.pyplot as plt
import numpy as np

import stfem
from stfem.data import cosine, sine

# %%
# The flow with stream function :math:`\psi=(\cos2\pi x+\cos2\pi y)/(2\pi)` turns round the centre of the
# square; close to it, like a rigid body. Being trigonometric, its divergence is known to vanish.

two_pi = 2.0 * np.pi
velocity = (sine((0.0, two_pi)), -1.0 * sine((two_pi, 0.0)))
equation = stfem.equations.AdvectionDiffusion(velocity, diffusion=1e-3)
assert equation.velocity_divergence == ()

# %%
# The pulse :math:`\cos^4(\pi(x-0.65))\cos^4(\pi(y-\tfrac12))` sits beside the centre. It is a
# trigonometric polynomial as well.


def bump(direction, centre):
    wave = [two_pi if i == direction else 0.0 for i in range(2)]
    return (0.5 + 0.5 * cosine(wave, phase=-two_pi * centre)) ** 4


pulse = bump(0, 0.65) * bump(1, 0.5)
problem = stfem.Problem(equation, stfem.Torus((1.0, 1.0)), initial=pulse, final_time=0.25)
result = stfem.certify(problem, cells=12, degree=2)
print(result)
assert result.guaranteed
assert result.parts["growth"] == 1.0

# %%
# The pulse at the start and after nearly a quarter of a turn.

s = (np.arange(120) + 0.5) / 120
x = np.stack(np.meshgrid(s, s, indexing="ij"))
figure, panels = plt.subplots(1, 2, figsize=(8.0, 3.6), layout="constrained", sharey=True)
for axes, values, time in zip(panels, (pulse(x), result.solution(x)), (0.0, 0.25), strict=True):
    image = axes.pcolormesh(s, s, values.T, cmap="cividis", vmin=-0.05, vmax=1.0, rasterized=True)
    axes.streamplot(
        s, s, np.sin(two_pi * x[1]).T, -np.sin(two_pi * x[0]).T, density=0.5, color="white", linewidth=0.5
    )
    axes.set(xlabel="x (dimensionless)", title=f"t = {time:g}", aspect="equal", xlim=(0, 1), ylim=(0, 1))
panels[0].set_ylabel("y (dimensionless)")
figure.colorbar(image, ax=panels, label="u (dimensionless)")
