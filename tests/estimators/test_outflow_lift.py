"""Unresolved outflow layers: the lift cancels what it claims to cancel, and the bound stays a bound."""

import numpy as np
import pytest
from layer import graded_rule, layer, profile, values_anywhere
from sample_meshes import moved

import stfem
from stfem.data import Slab
from stfem.estimators.unstructured import mesh_estimate
from stfem.problems import Problem
from stfem.reconstruction import Hermite, Lagrange
from stfem.reconstruction.unstructured import (
    BoundTwoStage,
    BoundTwoStageMixed,
    LocalReconstruction,
    MeshSlab,
    OutflowLift,
    minkowski,
    vertex_patches,
)
from stfem.spaces.broken import BrokenSpace

INFLOW = ("left", "bottom", "top")


def first_stage(problem, dg, names):
    facets = np.concatenate([dg.space.mesh.facets.names[name] for name in names])
    return LocalReconstruction(vertex_patches(dg.space, dirichlet=facets), problem.equation.diffusion, dg)


def error_with_layer(problem, rule, node, eps):
    """‖u − v − w‖ and ‖u − u_h‖ by a graded quadrature."""
    x, weights = graded_rule(eps, 24)
    state = rule.at_node(node).state[0]
    v = values_anywhere(rule.target, state, x)
    on_side = values_anywhere(rule.target, state, np.stack([np.full_like(x[1], 1.0 - 1e-13), x[1]]))
    exact = problem.exact(x, node.time)[0]
    of_dg = values_anywhere(rule.space, node.values, x)
    squares = [(exact - v + on_side * profile(x[0], eps)) ** 2, (exact - of_dg) ** 2]
    return [float(np.sqrt(weights @ square)) for square in squares]


@pytest.mark.parametrize(("q", "eps"), [(1, 1e-3), (1, 1e-4), (2, 1e-6)])
def test_bound_with_the_layer(q, eps):
    problem, dg, nodes = layer(eps, 16 if q == 1 else 12, q, steps=5)
    nodes = list(nodes)
    first, plain = first_stage(problem, dg, INFLOW), first_stage(problem, dg, (*INFLOW, "right"))
    forced = mesh_estimate(problem, plain, Hermite(5), nodes)
    stages = (first, (BoundTwoStageMixed if eps == 1e-3 else BoundTwoStage)(first, problem))
    bounds = []
    for rule in stages:
        errors = [error_with_layer(problem, rule, node, eps) for node in (nodes[0], nodes[-1])]
        interpolant = Hermite(5) if rule is first else Lagrange(4)
        lift = OutflowLift(problem, rule.target, ["right"])
        start = (1.0 + 1e-3) * errors[0][0]
        estimate = mesh_estimate(problem, rule, interpolant, nodes, lift=lift, initial_error=start)
        assert errors[1][0] <= estimate.bound_final
        assert estimate.enclosure[0] <= errors[1][1] <= estimate.enclosure[1]
        bounds.append(estimate.bound)
    lift = OutflowLift(problem, first.target, ["right"])
    careful = mesh_estimate(problem, first, Hermite(5), nodes, lift=lift)
    assert careful.bound >= bounds[0]  # the start of u and that of û apart
    assert bounds[0] < forced.bound
    assert min(bounds) <= 3.0 * errors[1][1]
    assert min(bounds) <= 0.3 * forced.bound


@pytest.mark.parametrize(("q", "eps"), [(1, 1e-3), (2, 1e-4)])
def test_second_stage_forgets_what_follows_the_layer(q, eps):
    """κ = 0 next to the lifted side: a bound below e_h itself, several times smaller than with u_h kept."""
    problem, dg, nodes = layer(eps, 12, q, steps=5)
    nodes = list(nodes)
    first, bounds = first_stage(problem, dg, INFLOW), []
    for names in ((), ("right",)):
        rule = BoundTwoStageMixed(first, problem, lifted=names)
        errors = [error_with_layer(problem, rule, node, eps) for node in (nodes[0], nodes[-1])]
        lift = OutflowLift(problem, rule.target, ["right"])
        start = (1.0 + 1e-3) * errors[0][0]
        estimate = mesh_estimate(problem, rule, Lagrange(4), nodes, lift=lift, initial_error=start)
        assert errors[1][0] <= estimate.bound_final
        assert estimate.enclosure[0] <= errors[1][1] <= estimate.enclosure[1]
        bounds.append(estimate.bound)
    assert bounds[1] <= 0.2 * bounds[0]
    assert bounds[1] <= 0.5 * errors[1][1]


def lifted(velocity, names, eps=0.05, reaction=0.5):
    """A slab with v of degree 5 in space and linear in time, zero where the flow enters; its lift."""
    domain = stfem.Domain(
        moved("triangles", 3).with_defaults(),
        dict.fromkeys(("left", "right", "bottom", "top"), stfem.Dirichlet(0.0)),
    )
    problem = Problem(stfem.equations.AdvectionDiffusion(velocity, eps, reaction), domain, 0.0, 1.0)
    target = BrokenSpace(domain.mesh(), 5)

    def v(x, t):
        other = x[1] if "top" in names else x[1] * (1.0 - x[1])
        return x[0] * other * (1.0 + x[0] * x[1]) * (1.0 + t)

    ends = np.stack([target.project([v], t) for t in (0.0, 1.0)])
    modes = np.stack([0.5 * (ends[0] + ends[1]), (ends[1] - ends[0]) / np.sqrt(12.0)])
    rate = np.stack([ends[1] - ends[0], np.zeros_like(ends[0])])
    slab = MeshSlab(Slab(0.0, 1.0, 1), modes, rate, (), None, None, None)
    return OutflowLift(problem, target, names), slab, v


def layers(velocity, names, eps, v):
    """W as a function of x and t."""

    def profile_in(s, speed):
        return (np.exp((s - 1.0) * speed / eps) - np.exp(-speed / eps)) / (1.0 - np.exp(-speed / eps))

    def w(x, t):
        ex = profile_in(x[0], velocity[0])
        result = -v(np.stack([np.ones_like(x[1]), x[1]]), t) * ex
        if "top" in names:
            ey = profile_in(x[1], velocity[1])
            result -= v(np.stack([x[0], np.ones_like(x[0])]), t) * ey
            result += v(np.ones((2, *x.shape[1:])), t) * ex * ey
        return result

    return w


@pytest.mark.parametrize(("velocity", "names"), [((1.0, 0.3), ("right",)), ((1.0, 0.5), ("right", "top"))])
def test_lift_against_brute_force(velocity, names):
    """The residual of w, by differences: ∂_tw + b·∇w + cw − D∂_n²w parts in L², tangential flux apart."""
    eps, c = 0.05, 0.5
    lift, slab, v = lifted(velocity, names, eps, c)
    w = layers(velocity, names, eps, v)
    x, weights = graded_rule(eps, 40)
    x = np.concatenate([x, x[::-1]], axis=1) if "top" in names else x  # graded in both directions
    weights = 0.5 * np.concatenate([weights, weights]) if "top" in names else weights
    step, total, flux = 1e-4, 0.0, 0.0
    inside = ((x > 2 * step) & (x < 1.0 - 2 * step)).all(axis=0)
    x, weights = x[:, inside], weights[inside]
    across = [np.array([[step], [0.0]]), np.array([[0.0], [step]])]
    parts = [layers_of(velocity, names, eps, v, only) for only in names]
    for t, weight in zip([0.5 - np.sqrt(1 / 12), 0.5 + np.sqrt(1 / 12)], (0.5, 0.5), strict=True):
        residual = (w(x, t + step) - w(x, t - step)) / (2 * step) + c * w(x, t)
        slopes = [(w(x + e, t) - w(x - e, t)) / (2 * step) for e in across]
        residual += np.tensordot(velocity, slopes, 1)
        residual -= eps * sum((w(x + e, t) - 2 * w(x, t) + w(x - e, t)) / step**2 for e in across)
        # the tangential second derivatives of every single layer belong to the dual norm
        tangential = np.zeros_like(residual)
        for i, part in enumerate(parts):
            e = across[1 - i]
            residual += eps * (part(x + e, t) - 2 * part(x, t) + part(x - e, t)) / step**2
            tangential = np.hypot(tangential, np.sqrt(eps) * (part(x + e, t) - part(x - e, t)) / (2 * step))
        total += weight * weights @ residual**2
        flux += weight * weights @ tangential**2
    claimed, claimed_flux = (float(part.sum()) for part in lift.added(slab))
    assert total <= claimed * (1 + 1e-2)
    assert flux <= claimed_flux * (1 + 1e-2)
    assert total >= 0.3 * claimed
    assert flux >= 0.3 * claimed_flux
    size = np.sqrt(weights @ w(x, 1.0) ** 2)
    assert 0.5 * lift.size(slab.at(1.0, slab.state)) <= size <= 1.01 * lift.size(slab.at(1.0, slab.state))
    assert lift.gap(slab.at(0.3, slab.state)) < 1e-10


def layers_of(velocity, names, eps, v, only):
    """One of the layers alone."""
    direction = 0 if only == "right" else 1

    def part(x, t):
        speed, s = velocity[direction], x[direction]
        e = (np.exp((s - 1.0) * speed / eps) - np.exp(-speed / eps)) / (1.0 - np.exp(-speed / eps))
        foot = x.copy()
        foot[direction] = 1.0
        return -v(foot, t) * e

    return part


def test_gap_is_seen():
    lift, slab, _ = lifted((1.0, 0.5), ("right",))
    state = slab.at(0.0, slab.state).copy()
    assert lift.gap(state) < 1e-10
    state[:, 0] += 0.25
    assert lift.gap(state) == pytest.approx(0.25)


def test_minkowski_adds_roots():
    rng = np.random.default_rng(0)
    arrays = rng.uniform(size=(3, 7))
    assert minkowski(arrays).sum() == pytest.approx(np.sqrt(arrays.sum(axis=1)).sum() ** 2)
    np.testing.assert_array_equal(minkowski([np.zeros(7), arrays[0]]), arrays[0])
    for tiny, large in ((5e-324, 1.0), (1e-310, 1e300), (1.0, 1e-320)):
        found = minkowski([np.full(3, tiny), np.full(3, large)])
        assert found.sum() == pytest.approx(3.0 * max(tiny, large), rel=1e-12)


def test_other_problems_are_refused():
    def lift(velocity=(1.0, 0.5), names=("right",), values=0.0, **equation):
        mesh = equation.pop("mesh", moved("triangles", 3).with_defaults())
        conditions = dict.fromkeys(("left", "bottom", "top"), stfem.Dirichlet(0.0))
        domain = stfem.Domain(mesh, {**conditions, "right": equation.pop("right", stfem.Dirichlet(values))})
        entry = stfem.equations.AdvectionDiffusion(velocity, **{"diffusion": 1e-3, **equation})
        return OutflowLift(Problem(entry, domain, 0.0, 1.0), BrokenSpace(domain.mesh(), 1), names)

    assert lift().names == ("right",)
    for message, arguments in (
        ("expected a flow that leaves", {"velocity": (-1.0, 0.5)}),
        ("expected a diagonal, positive", {"diffusion": 0.0}),
        ("expected a diagonal, positive", {"diffusion": [[1.0, 0.5], [0.5, 1.0]]}),
        ("expected a Dirichlet condition, got Outflow", {"right": stfem.Outflow()}),
        ("expected some of", {"names": ("east",)}),
        ("expected outflow sides with constant values", {"values": lambda x, t: x[1]}),
        ("expected one value on all outflow sides", {"names": ("right", "top"), "values": 1.0}),
        ("expected a linear one with constant velocity", {"reaction": lambda x, t: x[0]}),
        ("expected a box parallel to the axes", {"mesh": sheared()}),
    ):
        with pytest.raises(ValueError, match=message):
            lift(**arguments)


def sheared():
    mesh = moved("triangles", 3).with_defaults()
    return type(mesh)(mesh.p + np.array([[0.3], [0.0]]) * mesh.p[1], mesh.t).with_boundaries(mesh.boundaries)
