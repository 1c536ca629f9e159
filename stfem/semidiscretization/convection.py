"""DG form of −∇·(bu) with constant velocity: constant stencils (`QuadratureConvection` is for all others)."""

from __future__ import annotations

import numpy as np

from stfem.equations import Equation
from stfem.fluxes import ConvectiveFlux
from stfem.meshes.grid import TensorGrid
from stfem.semidiscretization.diffusion import Diffusion
from stfem.spaces.compact import CompactOperator
from stfem.spaces.interval import transport
from stfem.spaces.stencil import Array


class StencilConvection:
    """Constant velocity: one stencil per direction for a numerical flux a⁻u⁻ + a⁺u⁺.

    A diagonal ``diffusion`` brings its stencils along.
    """

    def __init__(
        self,
        grid: TensorGrid,
        degree: int,
        traces: list[tuple[float, float]],
        diffusion: Diffusion | None = None,
    ) -> None:
        self._grid, self._degree, self._traces = grid, degree, traces
        stencils = [
            (i, transport(degree, minus / h, plus / h))
            for i, (h, (minus, plus)) in enumerate(zip(grid.spacing, traces, strict=True))
            if minus != 0.0 or plus != 0.0
        ]
        if diffusion is not None:
            stencils += [term[0] for term in diffusion.terms]
        self._operator = CompactOperator(stencils, degree, grid.dim)

    def apply(self, t: float, u: Array, out: Array | None = None) -> Array:
        """−(DG form of ∇·(bu)), plus P(u) where there is a diffusion, in ``out`` if given."""
        return self._operator.apply(u, out)

    def with_diffusion(self, diffusion: Diffusion) -> StencilConvection:
        """The same with a diagonal diffusion, still one operator."""
        return StencilConvection(self._grid, self._degree, self._traces, diffusion)


@np.errstate(invalid="ignore")  # of velocities near the largest number; waves are refused afterwards
def linear_traces(equation: Equation, flux: ConvectiveFlux) -> list[tuple[float, float]] | None:
    """Coefficients (a⁻, a⁺) per direction of a numerical flux a⁻u⁻ + a⁺u⁺.

    Or None where it is not of this form.

    A constant velocity makes every shipped flux linear in the traces; a user's own flux is tried at one more
    pair of states.
    """
    if not equation.linear or not all(component.constant for component in equation.velocity):
        return None
    x = np.zeros((equation.dim, 1))
    pairs = []
    for i in range(equation.dim):

        def at(minus: float, plus: float, direction: int = i) -> float:
            value = flux(equation, np.full((1, 1), minus), np.full((1, 1), plus), x, 0.0, direction)
            return float(value[0, 0])

        minus, plus = at(1.0, 0.0), at(0.0, 1.0)
        if not np.isclose(at(-0.7, 2.3), -0.7 * minus + 2.3 * plus, rtol=1e-12, atol=1e-14):
            return None
        pairs.append((minus, plus))
    return pairs
