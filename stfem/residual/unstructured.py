"""Norms of the residual of a slab on an unstructured mesh: scalar equations (T3, T5).

With S = ∂_tû + ∇·f(û) + cû − ∇·d̃ − g there are, for every candidate d̃, up to three ways to measure

    L:  R_H = S in L²,                           Φ = d̃ − D∇û,
    F:  R_H = S + ∇·(h̃ − f(û)) in L²,             Φ = f(û) − h̃ + d̃ − D∇û,
    P:  R_H = cell means of S in L²,              p_K = ‖D^{-1/2}(d̃ − D∇û)‖_K + h_K ‖S − mean S‖_K/(π√λ_min),

the last by the inequality of Payne and Weinberger on convex cells, λ_min that of D. All are valid on every
slab; what the boundary adds to each where a flux is given is in `NaturalResidual`.
"""

from __future__ import annotations

import numpy as np

from stfem.meshes import reference as shapes
from stfem.meshes.quadrature import Array
from stfem.problems import Problem
from stfem.reconstruction.unstructured import MeshReconstruction, MeshSlab, OutflowLift, minkowski
from stfem.residual.boundary import BoundaryCheck
from stfem.residual.boundary_growth import SPENT
from stfem.residual.exactness import DATA_POINTS, integrated_exactly, quadrature_order
from stfem.residual.mesh_growth import MeshGrowth
from stfem.residual.modal import ModalTerms
from stfem.residual.norms import UNDERFLOW, SlabNorms
from stfem.residual.source import SourceModes
from stfem.residual.transport import ConvectionModes, Transport, flux_degree
from stfem.residual.variation import TotalVariation
from stfem.residual.ways import Terms, Way, lower_root, squares
from stfem.resumable import Resumable
from stfem.semidiscretization.unstructured.diffusion import cell_diffusion
from stfem.spaces.legendre import gauss

__all__ = ["MeshResidual", "Way"]

_UNIT_ROUNDOFF = 2.0**-53


class MeshResidual(Resumable):
    """Norms of the split residual on slabs, every way to measure at once.

    On affine cells with constant b and c, or f = f(u), squares are sums of squares of modes; what the source
    and a nonlinear flux have beyond them is integrated with rules that are exact for f(û) and for polynomials
    up to the degree they have to spare. Elsewhere all is integrated with these rules. Whatever may carry a
    quadrature error is named by `unproved`.

    Parameters
    ----------
    problem
        Scalar, linear or a `ScalarConservationLaw`, on a mesh; D = 0 or positive definite.
    reconstruction
        Where û and the fluxes come from.
    growth
        2μ = sup(−∇·b − 2c), 1/time, of a linear equation where it does not follow from constant data.
    order
        Polynomial degree that the quadrature in space integrates exactly.
    lift
        Layers at outflow sides that are added to û.

    Raises
    ------
    ValueError
        For equations and data that do not fit.
    """

    PAST = ("missed_flux_sq", "missed_sup", "boundary", "_nonlinear")

    def __init__(
        self,
        problem: Problem,
        reconstruction: MeshReconstruction,
        growth: float | None = None,
        order: int | None = None,
        lift: OutflowLift | None = None,
    ) -> None:
        equation = problem.equation
        if equation.components != 1:
            raise ValueError(f"equation: expected a scalar one, got {equation!r}")
        self.problem, self.reconstruction = problem, reconstruction
        mesh, target = reconstruction.target.mesh, reconstruction.target
        self.diffusion = cell_diffusion(equation, mesh)
        self._nonlinear = None if equation.linear else MeshGrowth(problem, reconstruction)
        self._smallest, self._root = _inverted(self.diffusion)
        self.boundary, self._lift = BoundaryCheck(problem, reconstruction, lift), lift
        self._growth, self._growth_given = self._growth_rate(growth)
        chosen = quadrature_order(equation, problem.source[0], target) if order is None else order
        self.order = chosen
        self.points, weights = mesh.reference.quadrature(chosen)
        self.x = mesh.points(self.points)
        self.x.flags.writeable = False
        self.weights = weights[:, None] * mesh.cell_map(self.points).determinant
        self.weights = np.broadcast_to(self.weights, (len(weights), mesh.size))
        self.ways = tuple(self._possible_ways())
        #: ∫‖D^{1/2}∇z‖² so far, z the lifted oscillation of the boundary data.
        self.missed_flux_sq = 0.0
        #: Bound of what û misses of given values so far.
        self.missed_sup = 0.0
        self.variation: TotalVariation | None = None
        if mesh.affine and equation.linear:
            self.variation = TotalVariation(reconstruction, self.diffusion, self.boundary.natural)
        self._transport = Transport(equation, self.x)
        constant = mesh.affine and self._transport.constant
        self.modal = ModalTerms(equation, reconstruction, self.diffusion) if constant else None
        self._source_modes = SourceModes(problem.source[0], target, chosen, DATA_POINTS)
        self._convection_modes: ConvectionModes | None = None
        if self.modal is not None and not equation.linear:
            root = self.modal.root if any(way.convective for way in self.ways) else None
            self._convection_modes = ConvectionModes(equation, target, root)

    def _growth_rate(self, given: float | None) -> tuple[float, bool]:
        """2μ, and whether it rests on the word of the caller alone."""
        equation = self.problem.equation
        if not equation.linear:
            if given is not None:
                raise ValueError(f"growth: expected None, it follows from û for {equation!r}, got {given:g}")
            return 0.0, False
        if equation.velocity_divergence or not equation.reaction.constant:
            if given is None:
                raise ValueError(
                    "growth: expected 2μ = sup(−∇·b − 2c) beside data that are not constant, got None; "
                    "it is an argument of MeshEstimator"
                )
            return given, True
        known = -2.0 * equation.reaction.constant_value()
        if given is not None and given < known:
            raise ValueError(f"growth: expected at least 2μ = −2c = {known:g}, got {given:g}")
        return (known if given is None else given), False

    def _possible_ways(self) -> list[Way]:
        reconstruction, mesh = self.reconstruction, self.reconstruction.target.mesh
        if not np.any(self.diffusion):
            return [Way(False, False, -1)]
        ways = []
        # what h̃·n misses of f(û)·n on the rest of the boundary is known for f = bu
        convected = self.problem.equation.linear or self.boundary.all_given
        convex = mesh.affine or mesh.reference is not shapes.HEXAHEDRON
        for k in range(len(reconstruction.diffusive_spaces)):
            ways.append(Way(False, False, k))
            if reconstruction.convective_space is not None and convected:
                ways.append(Way(True, False, k))
            if convex:
                ways.append(Way(False, True, k))
        return ways

    @property
    def underflow(self) -> float:
        """‖f‖ of a field whose squares vanish, with some margin."""
        return UNDERFLOW * max(1.0, float(np.sqrt(self.reconstruction.target.mesh.cell_measures.sum())))

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences on integrals that are not proved to be exact, and on numbers that were given."""
        sentences, count = list(self.boundary.unproved), self.points.shape[1]
        if self._nonlinear is not None:
            sentences.extend(self._nonlinear.unproved)
            if self.problem.equation.flux_degree is None:
                sentences.append(f"the flux is not polynomial: integrated with {count} points per cell")
        if self._growth_given:
            sentences.append(f"2μ = {self._growth:g} is an argument, and was not checked")
        if not self.reconstruction.target.mesh.affine:
            sentences.append(f"norms on cells that are not affine integrated with {count} points per cell")
        elif self.modal is None:
            sentences.append(f"coefficients integrated with {count} points per cell")
        if not integrated_exactly(self.problem.source[0], self.order):
            sentences.append(f"source integrated with {count} points per cell")
        return tuple(sentences)

    @property
    def spent(self) -> float:
        """Share of the dissipation that holds errors at the boundary, and is not there for anything else."""
        return SPENT if self.boundary.natural.growth > 0.0 else 0.0

    @property
    def reaction_growth(self) -> float | None:
        """sup(−c)_+; None where c or ∇·b vary or f is not linear, and it is not known."""
        equation = self.problem.equation
        if not equation.linear or equation.velocity_divergence or not equation.reaction.constant:
            return None
        return max(0.0, -equation.reaction.constant_value())

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Sentences on what the bound rests on beyond what is proved or not."""
        return self.boundary.natural.assumptions

    def norms(self, slab: MeshSlab) -> tuple[SlabNorms, ...]:
        """Norms on a slab in the order of `ways`."""
        self.boundary.look(slab)
        oscillation, growth, frozen = self.boundary.oscillation, self._growth, None
        if self._nonlinear is not None:
            missed = None if oscillation is None else oscillation.suprema(slab)
            growth = self._nonlinear.rate(slab, missed)
            frozen = None if missed is None else self._nonlinear.frozen(slab, missed)
        totals, sizes, cells = self._by_modes(slab, self.modal) if self.modal else self._by_points(slab)
        remainder = self._round_off(slab, sizes)
        variation = np.inf if self.variation is None else self.variation.of(slab, cells)
        pairs = [self._pair(way, total) for way, total in zip(self.ways, totals, strict=True)]
        lifted, carried, absorbed = self.boundary.natural.added(slab, self.ways, oscillation)
        pairs = [
            (minkowski([r, more]), minkowski([f, other]))
            for (r, f), more, other in zip(pairs, lifted, carried, strict=True)
        ]
        added = [] if self._lift is None else [self._lift.added(slab)]
        if oscillation is not None:
            added.append(oscillation.added(slab, frozen))
            self.missed_flux_sq += float(added[-1][1].sum())
            self.missed_sup = max(self.missed_sup, oscillation.sup(slab))
        for residual, flux in added:
            pairs = [(minkowski([r, residual]), minkowski([f, flux])) for r, f in pairs]
        # the part of the dissipation that is left pays for the residual (T5.14)
        left = 1.0 - self.spent
        return tuple(
            self._slab_norms(slab, r, (f + more) / left, remainder, growth, variation)
            for (r, f), more in zip(pairs, absorbed, strict=True)
        )

    def _by_points(self, slab: MeshSlab) -> tuple[Array, float, Array]:
        """Squares of every way ``(ways, 3, C)``, ∫ of the norms of what is added up, ∫_K R² within K."""
        degree = slab.time.degree
        times, weights = gauss(max(flux_degree(self.problem.equation) * degree, degree + DATA_POINTS) + 1)
        totals = np.zeros((len(self.ways), 3, self.reconstruction.target.mesh.size))
        sizes, cells = 0.0, np.zeros(self.reconstruction.target.mesh.size)
        diffused = None if self.variation is None else self.variation.diffused(slab.state[:, 0])
        table = self.reconstruction.target.basis.values(self.points)
        for s, weight in zip(times, weights * slab.time.duration, strict=True):
            terms = self._terms(slab, float(s))
            totals += weight * squares(self.ways, terms, self)
            sizes += weight * sum(float(np.sqrt(self.square(term).sum())) for term in terms.added)
            if diffused is not None:
                cells += weight * self.square(terms.scalar - table @ slab.at(float(s), diffused))
        return totals, sizes, cells

    def _by_modes(self, slab: MeshSlab, modal: ModalTerms) -> tuple[Array, float, Array]:
        source, left_source, of_means = self._source_modes.of(slab.time)
        convection = None if self._convection_modes is None else self._convection_modes.of(slab)
        left = left_source
        if convection is not None:
            left = (np.sqrt(left) + np.sqrt(convection.left)) ** 2
            of_means = (np.sqrt(of_means) + np.sqrt(convection.of_means)) ** 2
        terms = modal.of(slab, source, convection)
        totals = squares(self.ways, terms, modal)
        # what the modes of g and f(û) leave out is orthogonal to the rest
        for way, total in zip(self.ways, totals, strict=True):
            left_out = left_source if way.convective else left
            total[0] += of_means if way.means else left_out
            total[1] += convection.left_flux if convection is not None and way.convective else 0.0
            total[2] += left_out if convection is not None else np.maximum(left_out - of_means, 0.0)
        root = float(np.sqrt(slab.time.duration))
        sizes = root * sum(float(np.sqrt(modal.square(term).sum())) for term in terms.added)
        diffused = 0.0 if self.variation is None else self.variation.diffused(slab.state[:, 0])
        return totals, sizes, modal.square(terms.scalar - diffused) + left

    def _pair(self, way: Way, totals: Array) -> tuple[Array, Array]:
        """Local squares of R_H and of D^{-1/2}Φ."""
        residual, flux, fluctuation = totals
        if way.means:
            # Minkowski in L²(slab) for the sum of both norms
            factor = self.reconstruction.target.mesh.cell_diameters / (np.pi * np.sqrt(self._smallest))
            flux = (np.sqrt(flux) + factor * np.sqrt(fluctuation)) ** 2
        return residual, flux

    def _slab_norms(
        self, slab: MeshSlab, residual: Array, flux: Array, remainder: float, growth: float, variation: float
    ) -> SlabNorms:
        zeros = np.zeros_like(residual)
        time, whole = slab.time, growth + self.boundary.natural.growth
        return SlabNorms(
            *(time.start, time.stop, residual, zeros, zeros, flux, zeros[None], remainder, 0.0, whole),
            variation=variation,
        )

    def _terms(self, slab: MeshSlab, s: float) -> Terms:
        """Values at the points at one time."""
        reconstruction, points = self.reconstruction, self.points
        state = slab.at(s, slab.state)
        values = reconstruction.target.values(state, points)[0]
        slopes = reconstruction.target.gradients(state, points)[:, 0]
        t = slab.time.start + s * slab.time.duration
        rate = reconstruction.target.values(slab.at(s, slab.rate), points)[0]
        transport, rest = self._transport.divergence(values, slopes, t), self._source(values, t)
        added = [rate, transport, *rest]
        scalar = np.sum(added, axis=0)
        with_flux, gap = scalar, np.zeros_like(slopes)
        if slab.convective is not None and reconstruction.convective_space is not None:
            space, local = reconstruction.convective_space, slab.at(s, slab.convective)
            with_flux = scalar - transport + space.divergence(local, points)[0]
            gap = self._transport.flux(values, t) - space.values(local, points)[:, 0]
        diffused = np.einsum("ijc,jqc->iqc", self.diffusion, slopes)
        divergences, defects = [], []
        for space, modes in zip(reconstruction.diffusive_spaces, slab.diffusive, strict=True):
            local = slab.at(s, modes)
            divergences.append(space.divergence(local, points)[0])
            defects.append(space.values(local, points)[:, 0] - diffused)
        root = self._root[:, :, None]
        return Terms(scalar, with_flux, divergences, defects, gap, root, [*added, *divergences])

    def square(self, field: Array) -> Array:
        """∫_K f² of values at the points, ``(C,)``."""
        return self._integral(field**2)

    def mean_square(self, field: Array) -> Array:
        """∫_K (mean of f)², ``(C,)``."""
        return self._integral(field) ** 2 / self.reconstruction.target.mesh.cell_measures

    def spread_square(self, field: Array) -> Array:
        """∫_K (f − mean of f)², ``(C,)``."""
        mean = self._integral(field) / self.reconstruction.target.mesh.cell_measures
        return self._integral((field - mean) ** 2)

    def _source(self, values: Array, t: float) -> list[Array]:
        """Terms cû and −g where they are not zero."""
        reaction, source = self.problem.equation.reaction, self.problem.source[0]
        terms = [] if reaction.is_zero else [reaction(self.x, t) * values]
        return terms if source.is_zero else [*terms, -source(self.x, t)]

    def _integral(self, values: Array) -> Array:
        """Integrals over the cells of values at the points, ``(C,)``."""
        return np.asarray((self.weights * values).sum(axis=0))

    def _round_off(self, slab: MeshSlab, sizes: float) -> float:
        """C u ∫(‖∂_tû‖ + ‖∇·(bû)‖ + ‖∇·d̃‖ + ‖g‖), C counts the operations of each sum (T4.6)."""
        target = self.reconstruction.target
        modes = max(
            [target.modes, *(space.local_space.modes for space in self.reconstruction.diffusive_spaces)]
        )
        rounded = _UNIT_ROUNDOFF * 2.0 * (slab.time.degree + 1 + modes * target.mesh.dim) * sizes
        still = not any(np.any(node.node.values) for node in (slab.start, slab.stop))
        return rounded + (0.0 if still else slab.time.duration * self.underflow)


def _inverted(diffusion: Array) -> tuple[Array, Array]:
    """Smallest eigenvalue of D in the cells, and L with LLᵀ = D^{-1}; zeros where D = 0 everywhere."""
    matrices = np.moveaxis(diffusion, -1, 0)
    eigenvalues: Array = np.linalg.eigvalsh(matrices).astype(np.float64)
    if not np.any(diffusion):
        return eigenvalues[:, 0], np.zeros_like(diffusion)
    if np.any(eigenvalues[:, 0] <= 1e-14 * eigenvalues[:, -1]):
        worst = eigenvalues[np.argmin(eigenvalues[:, 0])]
        raise ValueError(f"diffusion: expected zero or positive definite, got eigenvalues {worst.tolist()}")
    unit = np.broadcast_to(np.eye(len(diffusion))[:, :, None], diffusion.shape)
    return eigenvalues[:, 0], lower_root(diffusion, unit)
