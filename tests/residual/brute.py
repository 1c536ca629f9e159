"""A reconstructed slab and its residual evaluated point by point, without the code under test."""

from __future__ import annotations

import copy

import numpy as np
from scipy.interpolate import KroghInterpolator

from stfem import equations
from stfem.spaces.legendre import gauss, legendre_values


class Brute:
    """û, its fluxes and its residual at tensor Gauss points of one slab, without the code under test.

    Interpolation in time by Krogh's divided differences; derivatives in space from those of the basis.
    """

    def __init__(self, semi, bound, slab, points, times):
        self.equation, self.problem, self.grid = semi.problem.equation, semi.problem, bound.grid
        self.dim, self.slab = self.grid.dim, slab
        self.s, weights = gauss(points)
        tau, time_weights = gauss(times)
        self.t = slab.time.start + tau * slab.time.duration
        product_weights = np.ones((1,) * (2 * self.dim))
        for i in range(self.dim):
            product_weights = product_weights * weights.reshape(
                [points if k == i else 1 for k in range(2 * self.dim)]
            )
        self.weights = (
            self.grid.cell_measure
            * slab.time.duration
            * time_weights.reshape(-1, *(1,) * (2 * self.dim))
            * product_weights
        )
        self.x = np.zeros((self.dim, *(points,) * self.dim, *self.grid.cells))
        for i, (h, n) in enumerate(zip(self.grid.spacing, self.grid.cells, strict=True)):
            line = (self.s[:, None] + np.arange(n)) * h
            self.x[i] = line.reshape(
                [(points, n)[k // self.dim] if k % self.dim == i else 1 for k in range(2 * self.dim)]
            )
        self.u = self._polynomial([node.state for node in slab.nodes])
        self.flux = [
            self._polynomial([node.flux[i] for node in slab.nodes])
            for i in range(self.dim if slab.nodes[0].flux else 0)
        ]

    def _polynomial(self, pairs):
        knots = np.repeat([node.time for node in self.slab.nodes], 2)
        data = np.concatenate(pairs)
        return KroghInterpolator(knots, data.reshape(len(knots), -1)), pairs[0].shape[1:]

    def at(self, field, orders=(), rate=False):
        """Values (times, m, P…, N…) of a derivative; `orders` lists the directions of differentiation."""
        interpolant, shape = field
        modes = interpolant.derivative(self.t) if rate else interpolant(self.t)
        values = modes.reshape(len(self.t), *shape)
        for i in range(self.dim):
            axis = 2 + i
            order = list(orders).count(i)
            table = legendre_values(values.shape[axis] - 1, self.s, order) / self.grid.spacing[i] ** order
            values = np.moveaxis(np.tensordot(table, values, axes=(1, axis)), 0, axis)
        return values

    def field(self, function):
        """Values (times, …) of a function of x and t."""
        return np.stack([np.broadcast_to(function(self.x, t), self.x.shape[1:]) for t in self.t])

    def convection(self):
        """∇·f(û) by hand for every equation."""
        u, equation = self.at(self.u), self.equation
        slopes = [self.at(self.u, (i,)) for i in range(self.dim)]
        if isinstance(equation, equations.AdvectionDiffusion):
            total = sum(
                self.field(b)[:, None] * slope for b, slope in zip(equation.velocity, slopes, strict=True)
            )
            step = 1e-5
            for i, b in enumerate(equation.velocity):
                shift = step * np.eye(self.dim)[i].reshape(-1, *(1,) * (2 * self.dim))
                total = (
                    total
                    + self.field(
                        lambda x, t, b=b, s=shift: (
                            (8 * (b(x + s, t) - b(x - s, t)) - b(x + 2 * s, t) + b(x - 2 * s, t))
                            / (12 * step)
                        )
                    )[:, None]
                    * u
                )
            return total
        if isinstance(equation, equations.DiffusivePSystem):
            total = np.zeros_like(u)
            for i, slope in enumerate(slopes):
                total[:, 0] -= slope[:, 1 + i]
                total[:, 1 + i] -= 2.0 * slope[:, 0] / u[:, 0] ** 3
            return total
        if isinstance(equation, equations.Burgers):
            return u * sum(slopes)
        return np.stack(
            [
                sum(equation.jacobian_product(u[k], s[k], self.x, 0.0, i) for i, s in enumerate(slopes))
                for k in range(len(u))
            ]
        )

    def without_diffusion(self):
        total = self.at(self.u, rate=True) + self.convection()
        total += self.field(self.equation.reaction)[:, None] * self.at(self.u)
        return total - np.stack([self.field(g) for g in self.problem.source], axis=1)

    def diffused(self, values):
        return values * np.reshape(self.equation.diffused, (1, -1, *(1,) * (2 * self.dim)))

    def gradient_flux(self, i, orders=()):
        """(D∇û)_i or a derivative of it, all components."""
        return self.diffused(
            sum(self.equation.diffusion[i, j] * self.at(self.u, (j, *orders)) for j in range(self.dim))
        )

    def scheme_flux(self, i, orders=()):
        chosen = np.flatnonzero(self.equation.diffused)
        part = self.at(self.flux[i], orders)
        full = np.zeros((len(part), self.problem.equation.components, *part.shape[2:]))
        full[:, chosen] = part
        return full

    def hyperbolic(self, member):
        total = self.without_diffusion()
        if self.flux:
            for i in range(self.dim):
                total = (
                    total - (1 - member) * self.scheme_flux(i, (i,)) - member * self.gradient_flux(i, (i,))
                )
        return total

    def residual(self):
        return self.without_diffusion() - sum(self.gradient_flux(i, (i,)) for i in range(self.dim))

    def potential(self, member):
        return [(1 - member) * (self.scheme_flux(i) - self.gradient_flux(i)) for i in range(self.dim)]

    def integral(self, values):
        return float((values * self.weights[:, None]).sum())

    def on_piece(self, number, pieces):
        """The same on one of several equal pieces of the slab."""
        result = copy.copy(self)
        start, duration = self.slab.time.start, self.slab.time.duration
        result.t = start + duration * (number + gauss(len(self.t))[0]) / pieces
        result.weights = self.weights / pieces
        return result
