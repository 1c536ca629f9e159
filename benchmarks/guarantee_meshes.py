"""Random problems on boxes and meshes that attack the guarantee, and their true errors (T5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import skfem
from guarantee_cases import HUGE, SMALL_EPS, TINY, TWISTS, twisted_waves
from random_nonlinear import scalar_law
from random_problems import (
    Array,
    Waves,
    balancing_source,
    random_diffusion,
    random_reaction,
    random_velocity,
)
from truth import COMPLETE, Accuracy, root_of

from stfem import (
    Box,
    Dirichlet,
    Domain,
    MeshEstimator,
    Neumann,
    Outflow,
    Problem,
    Robin,
    TotalFlux,
    equations,
)
from stfem.data import Polynomial
from stfem.estimators.unstructured import interpolant_of
from stfem.problems import Condition
from stfem.reconstruction.unstructured import (
    Averaging,
    MeshRule,
    TwoStage,
    TwoStageMixed,
    VertexPatches,
    mesh_slabs,
)
from stfem.solution import Solution
from stfem.timestepping import RADAU3, RADAU5, ImplicitRungeKutta

KINDS = ("box", "box conditions", "mesh", "nonlinear box", "polynomial box")
SIDES = (("left", "right"), ("bottom", "top"), ("front", "back"))
SHAPES = {1: (skfem.MeshLine,), 2: (skfem.MeshTri, skfem.MeshQuad), 3: (skfem.MeshTet, skfem.MeshHex)}
STYLES = ("Dirichlet", "Neumann", "Robin", "total flux")
LOCAL: tuple[MeshRule, ...] = (VertexPatches(), Averaging())


@dataclass(frozen=True, eq=False)
class MeshAttack:
    """One random problem on a box or mesh, and what it is solved and certified with."""

    seed: int
    kind: str
    twist: str
    problem: Problem
    exact: Waves | Polynomial | None
    degree: int
    estimator: MeshEstimator
    solving: Mapping[str, Any]
    conditioning: float


def mesh_attack(seed: int, kind: str) -> MeshAttack:
    """Case number `seed`, of the given kind."""
    rng = np.random.default_rng([seed, 4])
    twist = str(rng.choice(list(TWISTS), p=list(TWISTS.values())))
    dim = int(rng.choice([1, 2, 3], p=[0.78, 0.205, 0.015]))
    degree = int(rng.choice([1, 2, 3], p=[0.5, 0.4, 0.1])) if dim < 3 else 1
    least, most = ((4, 14), (2, 4), (1, 2))[dim - 1]
    cells = [int(n) for n in rng.integers(least, most + 1, dim)]
    lengths = np.exp(rng.uniform(np.log(0.5), np.log(2.0), dim)) if kind != "mesh" else np.ones(dim)
    eps = float(rng.choice(SMALL_EPS)) if rng.random() < 0.12 else None
    matrix = random_diffusion(rng, dim) if eps is None else eps * np.eye(dim)
    mean = rng.uniform(-1.5, 1.5, dim) * (0.05 if twist == "sign change" else 1.0)
    exact = _exact(rng, kind, twist, lengths, mean, cells)
    periodic = [i for i in range(dim) if kind == "box" and rng.random() < 0.15]
    if isinstance(exact, Waves):  # waves that need not fit the box, but where it is periodic
        stretch = np.array([1.0 if i in periodic else float(rng.uniform(0.3, 1.2)) for i in range(dim)])
        exact = Waves(exact.wavevectors * stretch, exact.frequencies, exact.rates, exact.amplitudes)
    equation, source = _equation(rng, kind, exact, mean, matrix, lengths)
    conditions = _conditions(rng, kind, equation, exact, periodic)
    if kind == "mesh":
        shape = SHAPES[dim][int(rng.integers(len(SHAPES[dim])))]
        domain: Box | Domain = Domain(moved_mesh(rng, shape, dim, max(cells)), conditions)
    else:
        domain = Box((0.0,) * dim, tuple(lengths), conditions, tuple(periodic))
    speed = _speed(exact, equation, mean)
    solving, final_time = _solving(rng, degree, float(np.min(lengths / cells)) / max(speed, 1e-2))
    if kind != "mesh":
        solving["cells"] = tuple(cells)
    u = _data(exact)
    problem = Problem(equation, domain, _at_start(exact), final_time, source, exact=u)
    positive = bool(np.linalg.eigvalsh(matrix)[0] > 1e-200)
    spacing = None if rng.random() < 0.3 else int(rng.integers(1, 3))
    estimator = MeshEstimator(mesh_rules(rng, positive), spacing=spacing, growth=_given_growth(equation))
    k, w = _steepness(exact)
    growth = float(np.trace(matrix)) * k * k
    conditioning = 1.0 + k * float(lengths.max()) + final_time * (w + k * speed + growth + 1.0)
    return MeshAttack(seed, kind, twist, problem, exact, degree, estimator, solving, conditioning)


def moved_mesh(rng: np.random.Generator, shape: Any, dim: int, n: int) -> Any:
    """Mesh of the unit cube with n cells per side, inner vertices moved; its sides have names."""
    ticks = np.linspace(0.0, 1.0, n + 1)
    mesh = shape(ticks) if dim == 1 else shape.init_tensor(*[ticks] * dim)
    p = mesh.p.copy()
    inside = ((p > 1e-9) & (p < 1.0 - 1e-9)).all(axis=0)
    p[:, inside] += rng.uniform(-0.2 / n, 0.2 / n, p.shape)[:, inside]
    moved = shape(p, mesh.t)
    if dim == 1:
        return moved.with_boundaries({"left": lambda x: x[0] < 1e-9, "right": lambda x: x[0] > 1.0 - 1e-9})
    return moved.with_defaults()


def _exact(
    rng: np.random.Generator, kind: str, twist: str, lengths: Array, mean: Array, cells: Sequence[int]
) -> Waves | Polynomial:
    if kind == "polynomial box":
        shape = (*(int(n) for n in rng.integers(1, 6, len(lengths))), int(rng.integers(1, 4)))
        size = _size(rng, twist)
        return Polynomial(size * rng.uniform(-1.0, 1.0, shape))
    waves = twisted_waves(rng, twist, lengths, mean, cells, 1)
    if kind == "nonlinear box":
        size = float(rng.uniform(0.05, 0.4)) * (1e-13 if twist == "near round-off" else 1.0)
        return waves.scaled(size).above(float(rng.uniform(-1.0, 1.0)))
    size = _size(rng, twist)
    if twist == "near round-off":
        return waves.scaled(1e-13 * size).above(size)
    return waves.scaled(size)


def _size(rng: np.random.Generator, twist: str) -> float:
    if twist == "tiny":
        return float(rng.choice(TINY))
    return float(rng.choice(HUGE[:2])) if twist == "huge" else float(10.0 ** rng.uniform(-2.0, 2.0))


def _equation(
    rng: np.random.Generator,
    kind: str,
    exact: Waves | Polynomial,
    mean: Array,
    matrix: Array,
    lengths: Array,
) -> tuple[equations.Equation, Any]:
    if kind == "nonlinear box":
        fluxes = (
            [rng.uniform(-0.6, 0.6, int(rng.integers(3, 5))) for _ in mean] if rng.random() < 0.5 else None
        )
        equation, _, source = scalar_law(exact, fluxes, matrix)  # type: ignore[arg-type]
        return equation, source
    if kind == "polynomial box":
        velocity: tuple[Any, ...] = tuple(mean.tolist())
        reaction: Any = float(rng.uniform(-1.0, 1.0)) * float(rng.random() < 0.5)
    else:
        flow = str(rng.choice(["constant", "incompressible", "compressive"], p=[0.5, 0.3, 0.2]))
        velocity = random_velocity(rng, flow, mean, lengths)
        reaction = random_reaction(rng, flow, lengths)
    u = _data(exact)
    return (
        equations.AdvectionDiffusion(velocity, matrix, reaction),
        balancing_source(u, "linear", velocity, matrix, reaction),
    )


def _conditions(
    rng: np.random.Generator,
    kind: str,
    equation: equations.Equation,
    exact: Waves | Polynomial,
    periodic: Sequence[int],
) -> dict[str, Condition]:
    """A condition that the exact solution meets on every side."""
    u, matrix = _data(exact), equation.diffusion
    conditions: dict[str, Condition] = {}
    for i in range(equation.dim):
        if i in periodic:
            continue
        flux = sum((float(matrix[i, j]) * u.derivative(j) for j in range(equation.dim)), 0.0)
        for name, sign in zip(SIDES[i], (-1.0, 1.0), strict=True):
            style = (
                "Dirichlet"
                if kind != "box conditions"
                else str(rng.choice(["Dirichlet", "Neumann", "Robin", "total"]))
            )
            if style == "total flux" and not matrix.any() and _enters(equation.velocity[i], -sign):
                style = "Dirichlet"  # of a flow that leaves only values can be asked, and are not
            if style == "Dirichlet":
                conditions[name] = Dirichlet(u)
            elif style == "Neumann":
                free = not matrix.any() and equation.velocity[i].constant
                leaves = free and sign * equation.velocity[i].constant_value() > 0.0
                conditions[name] = Outflow() if leaves and rng.random() < 0.5 else Neumann(sign * flux)
            elif style == "Robin":
                alpha = float(rng.uniform(0.0, 2.0))
                conditions[name] = Robin(alpha, sign * flux + alpha * u)
            else:
                conditions[name] = TotalFlux(sign * (equation.velocity[i] * u - flux))
    return conditions


def _enters(velocity: Any, sign: float) -> bool:
    """Whether the flow may enter somewhere on a side."""
    mean = velocity.constant_value() if velocity.constant else 0.0
    return bool(sign * mean < 0.0) or not velocity.constant


def mesh_rules(rng: np.random.Generator, positive: bool) -> tuple[MeshRule, ...]:
    """One reconstruction, or several of which the best is taken."""
    first = LOCAL[int(rng.integers(2))]
    choices: list[tuple[MeshRule, ...]] = [(first,), (TwoStage(first),), (TwoStage(iterations=20),)]  # type: ignore[arg-type]
    if positive:
        choices += [(TwoStageMixed(),), (VertexPatches(), TwoStage(), TwoStageMixed())]
    else:
        choices += [(VertexPatches(), TwoStage())]
    return choices[int(rng.integers(len(choices)))]


def _solving(rng: np.random.Generator, degree: int, crossing: float) -> tuple[dict[str, Any], float]:
    """Steps of a part, or several, of the time in which a cell is crossed, and the final time."""
    solving: dict[str, Any] = {}
    steps = int(rng.integers(2, 6))
    if rng.random() < 0.5:
        solving["stepper"] = ImplicitRungeKutta((RADAU3, RADAU5)[int(rng.integers(2))])
        dt = crossing * float(10.0 ** rng.uniform(-1.5, 0.5))
    else:
        dt = crossing * float(rng.uniform(0.05, 0.3)) / (2 * degree + 1)
    return solving | {"dt": dt}, steps * dt


def _given_growth(equation: equations.Equation) -> float | None:
    """2μ ≥ sup(−∇·b − 2c), where it is to be given."""
    if not equation.linear or not (equation.velocity_divergence or not equation.reaction.constant):
        return None
    rates = [b.derivative(i) for i, b in enumerate(equation.velocity) if not b.constant]
    if not equation.reaction.constant:
        return float(
            sum(rate.sup(0.0, 1.0, (1.0,) * equation.dim) for rate in (*rates, 2.0 * equation.reaction))
        )
    fixed = -2.0 * equation.reaction.constant_value()
    return float(fixed + sum(rate.sup(0.0, 1.0, (1.0,) * equation.dim) for rate in rates))


def _speed(exact: Waves | Polynomial, equation: equations.Equation, mean: Array) -> float:
    if isinstance(exact, Polynomial) or equation.linear:
        return float(np.abs(mean).max()) + 0.6
    return 1.5 + float(np.abs(exact.amplitudes).sum())


def _steepness(exact: Waves | Polynomial | None) -> tuple[float, float]:
    """Largest wave number and frequency; some of catalogue problems."""
    if exact is None:
        return 40.0, 40.0
    return (exact.highest, exact.fastest) if isinstance(exact, Waves) else (5.0, 5.0)


def _data(exact: Waves | Polynomial) -> Any:
    return exact.data() if isinstance(exact, Waves) else exact


def _at_start(exact: Waves | Polynomial) -> Any:
    if isinstance(exact, Waves):
        return exact.data(at_start=True)
    return Polynomial(exact.coefficients[..., :1])


class MeshTruth:
    """True errors on a mesh, by a rule of higher order and at more times than the library takes.

    Attributes as those of `truth.Truth`; `l1_slack` is what the rule may be wrong by in L¹.
    """

    def __init__(
        self, attack: MeshAttack, solution: Solution, ends: Iterable[float], accuracy: Accuracy = COMPLETE
    ) -> None:
        self.attack, self.solution, self.accuracy = attack, solution, accuracy
        semi = solution.semidiscretization
        (rule,) = attack.estimator.reconstructions
        bound = rule.bind(semi, ())
        times = {0.0, *ends}
        nodes = list(solution.nodes())
        chosen = [node for node in nodes if node.time in times]
        self.target, self.dim = bound.target, attack.problem.equation.dim
        mesh = self.target.mesh
        width = float(np.ptp(mesh.vertices[:, mesh.cells], axis=1).max())
        turns = 2.0 * _steepness(attack.exact)[0] * width
        self.points, weights = mesh.reference.quadrature(
            2 * (self.target.degree + accuracy.extra_points) + math.ceil(turns)
        )
        self.weights = weights[:, None] * mesh.cell_map(self.points).determinant
        self.x = mesh.points(self.points)
        self.rng = np.random.default_rng([attack.seed, 1])
        self.size = self.supremum = self.dissipated = 0.0
        self.root = (
            root_of(attack.problem.equation.diffusion) if attack.problem.equation.diffusion.any() else []
        )
        interpolant = interpolant_of(bound, solution.stepper.order)
        for slab in mesh_slabs(map(bound.at_node, chosen), interpolant):
            self._take(slab)
        final, end = slab.at(1.0, slab.state), attack.problem.final_time
        gap = self._u(end) - self.target.values(final, self.points)[0]
        self.final, self.l1 = self._norm(gap), float((self.weights * np.abs(gap)).sum())
        self.energy = math.hypot(self.supremum, self.dissipated)
        self.dg = self._norm(self._u(end) - semi.space.values(nodes[-1].values, self.points)[0])

    def _u(self, t: float, direction: int | None = None) -> Array:
        exact, problem = self.attack.exact, self.attack.problem
        if exact is None:
            return (
                problem.exact(self.x, t)[0]
                if direction is None
                else problem.exact_gradient(self.x, t)[direction, 0]
            )
        if isinstance(exact, Waves):
            return exact.at(self.x, t, direction)
        return np.asarray((exact if direction is None else exact.derivative(direction))(self.x, t))

    def _norm(self, values: Array) -> float:
        largest = float(np.abs(values).max())
        if largest == 0.0:
            return 0.0
        return largest * math.sqrt(float((self.weights * (values / largest) ** 2).sum()))

    def _take(self, slab: Any) -> None:
        z, weights = np.polynomial.legendre.leggauss(self.accuracy.gauss_times)
        for s in (0.0, *self.rng.uniform(0.0, 1.0, self.accuracy.random_times), 1.0):
            self._look(slab, float(s))
        for s, weight in zip(0.5 * (1.0 + z), 0.5 * slab.time.duration * weights, strict=True):
            state, t = self._look(slab, float(s))
            if len(self.root) == 0:
                continue
            slopes = self.target.gradients(state, self.points)[:, 0]
            gaps = np.stack([self._u(t, i) - slopes[i] for i in range(self.dim)])
            normals = [self._norm(np.tensordot(row, gaps, 1)) for row in self.root]
            self.dissipated = math.hypot(self.dissipated, math.sqrt(weight) * math.hypot(*normals))

    def _look(self, slab: Any, s: float) -> tuple[Array, float]:
        state, t = slab.at(s, slab.state), slab.time.start + s * slab.time.duration
        u = self._u(t)
        self.size = max(self.size, self._norm(u))
        self.supremum = max(self.supremum, self._norm(u - self.target.values(state, self.points)[0]))
        return state, t
