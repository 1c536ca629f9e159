"""The residual on the boundary where a flux is given, and what it costs (T5.11–T5.13)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stfem.data import Constant, Polynomial, Trigonometric
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.problems import Problem
from stfem.reconstruction.unstructured import BoundaryOscillation, MeshReconstruction, MeshSlab
from stfem.reconstruction.unstructured.facet_lift import lift_constants
from stfem.reconstruction.unstructured.natural import NaturalConditions, NaturalPart, transport_velocity
from stfem.residual.boundary_growth import boundary_growth
from stfem.residual.exactness import DATA_ORDER, DATA_POINTS, integrated_exactly
from stfem.residual.leaving import smallest_normal_velocity
from stfem.residual.ways import Way
from stfem.semidiscretization.unstructured.diffusion import cell_diffusion
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["NaturalResidual"]

#: Normal velocity, relative to the largest, that is round-off.
_ROUND_OFF = 1e-12
#: Difference of a proved and a sampled weight, relative to it, that is none.
_PROVED = 1e-9


class NaturalResidual:
    """r = d̃·n − q(û) + (bû − h̃)·n on facets where a flux is given: ∫ r e on the right of the energy identity.

    The last term belongs to way F alone. Two ways to pay, on every facet F of a cell K the cheaper one:

        where σ > 0 the boundary term 2∫ σe² absorbs it: p²/ε gains ∫_F r²/σ,                       (T5.12)
        with τ ∈ H(div, K), τ·n = r on F, d̃ becomes d̃ − τ: R_H gains ∇·τ, Φ gains −τ.               (T5.13)

    Where σ < 0 and D > 0, errors grow at the boundary: `growth` is 2μ of it, and one half of the dissipation
    is spent on that.

    Parameters
    ----------
    problem
        Scalar and linear.
    reconstruction
        Gives the mesh and the spaces.

    Raises
    ------
    ValueError
        For a flow that enters where neither u nor the total flux is given and D = 0, or through an `Outflow`;
        for a total flux that is given where a flow without diffusion leaves.
    """

    def __init__(self, problem: Problem, reconstruction: MeshReconstruction) -> None:
        self.problem, self.reconstruction = problem, reconstruction
        self._mesh = mesh = reconstruction.target.mesh
        self.order = 2 * reconstruction.target.degree + DATA_ORDER
        self.points, self.weights = mesh.reference.on_facet.quadrature(self.order)
        self._conditions = conditions = NaturalConditions(problem, mesh)
        self.parts = conditions.at(self.points).parts
        matrix = np.broadcast_to(cell_diffusion(problem.equation, mesh), (mesh.dim, mesh.dim, mesh.size))
        self._diffuses = bool(np.any(matrix))
        corners = mesh.points(mesh.reference.vertices)
        velocity = [b(corners, 0.0) for b in transport_velocity(problem.equation)]
        self._speed = float(np.sqrt(np.square(velocity).sum(axis=0).max(initial=0.0)))
        self._tolerance = _ROUND_OFF * self._speed
        self._lifts = [lift_constants(mesh, part.facets) for part in self.parts]
        excess = np.zeros(mesh.facets.count)
        self._sampled: list[str] = []  # where the sign of b·n was seen, not proved
        for part, weights in zip(self.parts, conditions.weights, strict=True):
            self._check(part, weights)
            excess[part.facets] = np.where(weights < -self._tolerance, -weights, 0.0)
            if self._proved(part) < min(0.0, float(weights.min())) - _PROVED * self._speed:
                self._sampled.append(part.name)
        #: 2μ from facets where σ < 0, and their names.
        self.growth = boundary_growth(mesh, matrix, excess, conditions.facets) if np.any(excess) else 0.0
        self.growing = [part.name for part in self.parts if np.any(excess[part.facets])]
        self._smallest = np.linalg.eigvalsh(np.moveaxis(matrix, -1, 0))[:, 0]

    def _proved(self, part: NaturalPart) -> float:
        """Lower bound of σ on a part of the boundary, −∞ where none is known."""
        velocity = transport_velocity(self.problem.equation)
        if not part.transfer.constant:
            return -np.inf
        if part.condition.total:
            velocity = [-b for b in velocity if isinstance(b, (Constant, Polynomial, Trigonometric))]
            if len(velocity) < self._mesh.dim:
                return -np.inf
        along = smallest_normal_velocity(self._mesh, part.facets, velocity, self.problem.final_time)
        own = part.transfer.constant_value() if self._diffuses and not part.condition.total else 0.0
        return 0.5 * along + own

    def _check(self, part: NaturalPart, weights: Array) -> None:
        entering = 2.0 * float(weights.min())
        if part.condition.outflow_only:
            entering = float(self._conditions.least(part, NaturalPart.along).min())
        if entering >= -self._tolerance:
            return
        if part.condition.outflow_only or (not self._diffuses and not part.condition.total):
            raise ValueError(
                f"boundary {part.name!r}: expected a flow that leaves where u is not given, "
                f"got b·n = {entering:g}"
            )
        if not self._diffuses:
            raise ValueError(
                f"boundary {part.name!r}: expected a total flux to be given where the flow enters, as there "
                f"is no diffusion, got b·n = {-entering:g}"
            )

    @property
    def closed(self) -> bool:
        """Whether no flow passes where a flux is given, and none depends on u: σ = 0, at the time 0."""
        return all(part.transfer.is_zero and not np.any(part.along(0.0)) for part in self.parts)

    @property
    def weighted(self) -> bool:
        """Whether σ keeps its sign beside a weight that falls along the flow (T5.6), at the time 0."""
        transfers = [part.transfer_at(0.0) for part in self.parts if not part.condition.total]
        return self.growth == 0.0 and all(bool(np.all(values >= 0.0)) for values in transfers)

    @property
    def nonnegative_l1(self) -> bool:
        """Whether no error in L¹ grows at the boundary (T5.15)."""
        least = self._conditions.extremes(NaturalPart.weight_l1)
        return all(bool(np.all(values >= -self._tolerance)) for values in least)

    @property
    def maximum_principle(self) -> bool:
        """Whether the conditions allow no maximum at the boundary (T5.15)."""
        least = self._conditions.extremes(NaturalPart.transfer_at)
        return all(bool(np.all(values >= -self._tolerance)) for values in least)

    def added(
        self, slab: MeshSlab, ways: Sequence[Way], missed: BoundaryOscillation | None
    ) -> tuple[Array, Array, Array]:
        """∫_slab of what R_H, Φ and, by the boundary, p²/ε gain: local squares ``(ways, C)`` each."""
        found = np.zeros((3, len(ways), self._mesh.size))
        if not self.parts:
            return found[0], found[1], found[2]
        hats = None if missed is None else missed.hats(slab)
        times, weights = gauss(slab.time.degree + 1 + DATA_POINTS)
        totals = [np.zeros((2, len(ways), len(part.facets))) for part in self.parts]
        for s, weight in zip(times, weights * slab.time.duration, strict=True):
            beyond = None
            if hats is not None and missed is not None:
                row = legendre_values(len(hats) - 1, [float(s)])[0]
                rows = np.tensordot(row, hats, 1)
                beyond = (missed.linear, rows)
            for part, total in zip(self.parts, totals, strict=True):
                r = self._residual(slab, float(s), part, ways, beyond)
                sigma = part.weight(slab.time.start + float(s) * slab.time.duration)
                measure = self.weights[:, None] * part.density
                square = r**2
                absorbed = np.where(square > 0.0, np.inf, 0.0)
                np.divide(square, sigma, out=absorbed, where=(sigma > 0.0) & (square > 0.0))
                total[0] += weight * (measure * square).sum(axis=1)
                total[1] += weight * (measure * absorbed).sum(axis=1)
        for part, total, absorbing, (divergence, size) in zip(
            self.parts, totals, self._conditions.absorbing, self._lifts, strict=True
        ):
            cells = self._mesh.facets.cells[0, part.facets]
            inverse = 1.0 / self._smallest[cells] if self._diffuses else np.zeros(len(cells))
            lifted = np.where(absorbing, 0.0, total[0])
            # several facets of a cell: Minkowski's inequality, squared at the end
            for n in range(len(ways)):
                found[0, n] += self._gathered(np.sqrt(divergence * lifted[n]), cells)
                flux = np.zeros_like(lifted[n])  # where nothing is lifted, whatever the diffusion
                np.multiply(size * inverse, lifted[n], out=flux, where=lifted[n] > 0.0)
                found[1, n] += self._gathered(np.sqrt(flux), cells)
                found[2, n] += self._gathered(np.where(absorbing, total[1, n], 0.0), cells)
        return found[0] ** 2, found[1] ** 2, found[2]

    def _gathered(self, values: Array, cells: Index) -> Array:
        return np.asarray(np.bincount(cells, values, minlength=self._mesh.size), dtype=np.float64)

    def _residual(
        self,
        slab: MeshSlab,
        s: float,
        part: NaturalPart,
        ways: Sequence[Way],
        beyond: tuple[object, Array] | None,
    ) -> Array:
        """r for every way, ``(ways, Q, F)``."""
        reconstruction, facets = self.reconstruction, part.facets
        trace = reconstruction.target.traces(slab.at(s, slab.state), 0, self.points, facets)
        seen = trace
        if beyond is not None:
            space, rows = beyond
            seen = trace + space.traces(rows, 0, self.points, facets)  # type: ignore[attr-defined]
        t = slab.time.start + s * slab.time.duration
        wanted = part.flux(t, seen)[0]
        normals = part.normals
        fluxes = [
            (normals * space.traces(slab.at(s, modes), 0, self.points, facets)[:, 0]).sum(axis=0)
            for space, modes in zip(reconstruction.diffusive_spaces, slab.diffusive, strict=True)
        ]
        gap = np.zeros_like(wanted)
        space = reconstruction.convective_space
        if slab.convective is not None and space is not None and any(way.convective for way in ways):
            carried = space.traces(slab.at(s, slab.convective), 0, self.points, facets)[:, 0]
            gap = part.along(t) * trace[0] - (normals * carried).sum(axis=0)
        zero = np.zeros_like(wanted)
        return np.stack(
            [
                (fluxes[way.diffusive] if way.diffusive >= 0 else zero)
                - wanted
                + (gap if way.convective else 0.0)
                for way in ways
            ]
        )

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences on data that are not integrated exactly, and on weights that were sampled."""
        sentences = []
        for part in self.parts:
            if not (integrated_exactly(part.data, self.order) and part.transfer.constant):
                count = self.points.shape[1]
                sentences.append(f"data of boundary {part.name!r} integrated with {count} points per facet")
        for name in self._sampled:
            sentences.append(
                f"the flow leaves through boundary {name!r}, or enters as strongly, as it was sampled"
            )
        return tuple(sentences)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """A sentence on boundaries where errors may grow."""
        if self.growth == 0.0:
            return ()
        exponent = 0.5 * self.growth * self.problem.final_time
        names = " and ".join(repr(name) for name in self.growing)
        return (
            f"diffusion is not small: at boundary {names} errors may grow, by up to exp({exponent:.3g}); "
            "the bound in L² is not robust for ε → 0",
        )
