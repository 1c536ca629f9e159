"""Meshes that are refined and coarsened: parents, conformity, names, conditions, periodic sides."""

from dataclasses import replace

import numpy as np
import pytest
import skfem
from adapted_meshes import (
    CELLS,
    corners,
    measures,
    named_domain,
    periodic_domain,
    refined_at_random,
    right_triangles,
)
from mesh_cases import box_mesh

import stfem
from stfem.adaptivity import AdaptedDomain, coarsen, refine
from stfem.adaptivity.bisection import bisect
from stfem.adaptivity.history import first_history
from stfem.meshes import from_skfem
from stfem.problems import Box, Dirichlet, Domain, Outflow, Torus

SHAPES = pytest.mark.parametrize("shape", list(CELLS))
PERIODIC = pytest.mark.parametrize(
    ("shape", "n", "periodic"),
    [
        ("line", 2, (0,)),
        ("triangles", 2, (0,)),
        ("triangles", 3, (0, 1)),
        ("tetrahedra", 3, (1,)),
        ("tetrahedra", 2, (0, 1, 2)),
    ],
)


def check_change(change):
    """Fine cells lie where their places say, and fill the coarse ones."""
    before, after = change.before.mesh(), change.domain.mesh()
    sides = [(before, change.old), (after, change.new)]
    (coarse, large), (fine, small) = sides if change.finer else sides[::-1]
    assert np.array_equal(np.sort(small), np.arange(fine.size))
    inside = np.einsum("iac,akc->ikc", corners(coarse, large), change.places)
    np.testing.assert_allclose(corners(fine, small), inside, atol=1e-15)
    np.testing.assert_allclose(change.places.sum(axis=0), 1.0, rtol=0, atol=0)
    assert np.all(np.bincount(large, change.shares, coarse.size) == 1.0)
    volumes = change.shares * coarse.cell_measures[large]
    np.testing.assert_allclose(fine.cell_measures[small], volumes, rtol=1e-12)


@SHAPES
def test_children_fill_their_parents(shape):
    domain = named_domain(shape)
    for seed in range(4):
        marked = np.random.default_rng(seed).choice(domain.mesh().size, 3, replace=False)
        change = refine(domain, marked)
        check_change(change)
        assert np.all(np.bincount(change.old)[marked] >= 2)
        # children stand where their parent stood
        assert np.all(np.diff(change.old) >= 0)
        domain = change.domain


@SHAPES
def test_meshes_stay_conforming_and_names_are_kept(shape):
    domain = named_domain(shape)
    expected = measures(domain.mesh())
    assert expected["nowhere"] == 0.0
    assert min(expected[name] for name in ("left", "rest", "inside", "lower half", "corner")) > 0.0
    for k in range(4):
        domain = refined_at_random(domain, 1, seed=k)
        found = measures(domain.mesh())
        if shape == "line":  # a point has measure 1
            expected["inside"] = found["inside"]
            assert len(domain.mesh().facets.names["inside"]) == len(
                named_domain(shape).mesh().facets.names["inside"]
            )
        assert found == pytest.approx(expected, rel=1e-12)
    domain = coarsen(domain, np.arange(domain.mesh().size)).domain
    assert measures(domain.mesh()) == pytest.approx(expected, rel=1e-12)


def test_a_mesh_that_is_not_conforming_is_noticed():
    domain = right_triangles(2)
    whole = domain.mesh().source
    p, t = whole.p, whole.t
    # the first cell alone is cut, and a vertex hangs
    ends = max(((0, 1), (0, 2), (1, 2)), key=lambda e: np.linalg.norm(p[:, t[e[0], 0]] - p[:, t[e[1], 0]]))
    p = np.column_stack([p, p[:, t[list(ends), 0]].mean(axis=1)])
    halves = np.repeat(t[:, :1], 2, axis=1)
    halves[ends[0], 0] = halves[ends[1], 1] = p.shape[1] - 1
    with pytest.raises(ValueError, match="mesh: expected neighbours that share their vertices"):
        from_skfem(skfem.MeshTri(p, np.concatenate([halves, t[:, 1:]], axis=1)))


@SHAPES
def test_conditions_and_the_type_carry_over(shape):
    domain = named_domain(shape)
    refined = refine(domain, [0]).domain
    assert isinstance(refined, AdaptedDomain)
    assert isinstance(refined, Domain)
    assert refined.boundary == domain.boundary
    assert isinstance(refined.mesh().source, type(domain.mesh().source))
    assert refined.measure == pytest.approx(domain.measure, rel=1e-14)


def test_a_name_that_is_lost_is_an_error():
    """R4 item 21."""
    domain = named_domain("triangles")
    history = refine(domain, [0]).domain.history
    without = replace(history, name_sets=tuple(names - {"left"} for names in history.name_sets))
    with pytest.raises(ValueError, match=r"boundary: expected one of .*, got 'left'"):
        AdaptedDomain(domain, without)


@pytest.mark.parametrize("periodic", [(), (0,)])
@SHAPES
def test_any_sequence_of_changes_gives_sound_meshes(shape, periodic):
    rng = np.random.default_rng(len(periodic))
    domain = periodic_domain(shape, 3, periodic) if periodic else named_domain(shape)
    expected = measures(domain.mesh())
    for _ in range(25):
        size = domain.mesh().size
        change_mesh = refine if size < 40 or (size < 1500 and rng.random() < 0.4) else coarsen
        part = 0.1 if change_mesh is refine else 0.9
        change = change_mesh(domain, np.flatnonzero(rng.random(size) < part))
        check_change(change)
        domain = change.domain
        found = measures(domain.mesh())
        if shape != "line":  # points that lie inside have measure 1
            assert found["boundary of the mesh"] == pytest.approx(expected["boundary of the mesh"], rel=1e-12)
        assert domain.measure == pytest.approx(1.0, rel=1e-12)


@PERIODIC
def test_glued_sides_are_cut_alike(shape, n, periodic):
    """R4 item 22: both sides of a periodic mesh keep matching."""
    domain = periodic_domain(shape, n, periodic)
    glued = (domain.mesh().facets.shift != 0.0).any(axis=0)
    expected = domain.mesh().facet_measures[glued].sum()
    expected_boundary = measures(domain.mesh())["boundary of the mesh"]
    for _ in range(5):
        # cells at the left side only: what is cut on the right is cut because of them
        mesh = domain.mesh()
        change = refine(domain, np.flatnonzero((corners(mesh, slice(None))[periodic[0]] < 1e-9).any(axis=0)))
        check_change(change)
        domain = change.domain
        assert domain.periodic == periodic
    facets = domain.mesh().facets
    after = (facets.shift != 0.0).any(axis=0)
    if shape != "line":
        assert np.count_nonzero(after) > np.count_nonzero(glued)
    assert domain.mesh().facet_measures[after].sum() == pytest.approx(expected, rel=1e-12)
    assert measures(domain.mesh())["boundary of the mesh"] == pytest.approx(expected_boundary, rel=1e-12)


def test_sides_that_are_not_cut_alike_are_noticed():
    domain = periodic_domain("triangles", 3, (0, 1))
    history = first_history(domain.mesh())
    for _ in range(4):
        at_left = np.flatnonzero((history.vertices[0, history.cells] < 1e-9).any(axis=0))
        alone = np.arange(history.vertices.shape[1])  # as if no side were glued
        history = bisect(history, alone, at_left)[0]
    with pytest.raises(ValueError, match="periodic: expected as many facets on both"):
        AdaptedDomain(domain, history)


def test_named_pairs_of_sides_keep_their_names():
    mesh = skfem.MeshTri().refined(2).with_defaults()
    domain = Domain(mesh, {"bottom": Dirichlet(0.0), "top": Dirichlet(1.0)}, [("left", "right")])
    refined = refined_at_random(domain, 4)
    assert refined.periodic == (("left", "right"),)
    source = refined.mesh().source
    for name in ("left", "right", "bottom", "top"):
        x = source.p[:, source.facets[:, source.boundaries[name]]]
        axis, end = {"left": (0, 0.0), "right": (0, 1.0), "bottom": (1, 0.0), "top": (1, 1.0)}[name]
        assert np.all(x[axis] == end)
        assert np.linalg.norm(x[:, 0] - x[:, 1], axis=0).sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("shape", ["triangles", "tetrahedra"])
def test_a_period_of_one_cell_is_refused(shape):
    mesh = moved_box(shape)
    with pytest.raises(ValueError, match="periodic: expected at least two cells across every period"):
        refine(Domain(mesh, Dirichlet(0.0), (0,)), [0])


def moved_box(shape):
    axes = [np.linspace(0.0, 1.0, n) for n in (2, 4, 4)]
    return skfem.MeshTri.init_tensor(*axes[:2]) if shape == "triangles" else skfem.MeshTet.init_tensor(*axes)


@SHAPES
def test_coarsening_goes_back_to_the_first_mesh(shape):
    first = named_domain(shape)
    domain = refined_at_random(first, 5)
    sizes = [domain.mesh().size]
    while len(sizes) < 2 or sizes[-1] < sizes[-2]:
        change = coarsen(domain, np.arange(domain.mesh().size))
        check_change(change)
        domain = change.domain
        sizes.append(domain.mesh().size)
    assert sizes[0] > sizes[-1] == first.mesh().size
    assert domain.levels.max() == 0
    assert np.array_equal(domain.mesh().cells, first.mesh().cells)
    assert np.array_equal(domain.mesh().vertices, first.mesh().vertices)
    for name, members in first.mesh().facets.names.items():
        assert np.array_equal(domain.mesh().facets.names[name], members)


@PERIODIC
def test_periodic_meshes_are_coarsened_on_both_sides(shape, n, periodic):
    first = periodic_domain(shape, n, periodic)
    domain = refined_at_random(first, 4)
    for _ in range(30):
        domain = coarsen(domain, np.arange(domain.mesh().size)).domain
    assert np.array_equal(domain.mesh().cells, first.mesh().cells)


@SHAPES
def test_children_stay_unless_all_around_them_are_marked(shape):
    change = refine(named_domain(shape), [4])
    domain, changed = change.domain, np.flatnonzero(np.bincount(change.old)[change.old] > 1)
    last = domain.levels == domain.levels.max()
    together = coarsen(domain, np.arange(domain.mesh().size))
    merged = np.flatnonzero(np.bincount(together.new)[together.new] > 1)
    assert set(merged) <= set(changed)
    assert np.any(last[merged])
    for left_out in merged:
        fewer = coarsen(domain, np.setdiff1d(np.arange(domain.mesh().size), [left_out]))
        assert fewer.domain.mesh().size > together.domain.mesh().size
        # the cell left out and its sibling are there as before
        siblings = np.flatnonzero(together.new == together.new[left_out])
        assert np.all(np.bincount(fewer.new)[fewer.new[siblings]] == 1)


@pytest.mark.parametrize("kind", ["line", "triangle", "tetrahedron"])
def test_corners_may_be_listed_in_any_order(kind):
    first = Domain(box_mesh(kind, 3, 0.2, turned=True), Dirichlet(0.0))
    domain = refined_at_random(first, 3)
    assert measures(domain.mesh()) == pytest.approx(measures(first.mesh()), rel=1e-12)
    while domain.mesh().size > first.mesh().size:
        change = coarsen(domain, np.arange(domain.mesh().size))
        check_change(change)
        assert change.domain.mesh().size < domain.mesh().size
        domain = change.domain
    assert np.array_equal(domain.mesh().cells, first.mesh().cells)


def test_the_sides_of_a_crack_are_refined_on_their_own():
    mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, 5)] * 2)
    p, t = mesh.p, mesh.t.copy()
    doubled = np.flatnonzero((p[0] == 0.5) & (p[1] < 0.5))
    right = p[0, t].mean(axis=0) > 0.5
    for number, vertex in enumerate(doubled):
        t[:, right] = np.where(t[:, right] == vertex, p.shape[1] + number, t[:, right])
    mesh = skfem.MeshTri(np.column_stack([p, p[:, doubled]]), t)
    outer = mesh.boundary_facets()
    x = mesh.p[:, mesh.facets[:, outer]].mean(axis=1)
    crack = (x[0] == 0.5) & (x[1] > 0.0)
    mesh = mesh.with_boundaries({"crack": outer[crack], "outer": outer[~crack]})
    domain = Domain(mesh, {"crack": Dirichlet(0.0), "outer": Outflow()})
    for _ in range(4):
        left = corners(domain.mesh(), slice(None))[0].max(axis=0) <= 0.5
        domain = refine(domain, np.flatnonzero(left)).domain
    refined = domain.mesh()
    assert measures(refined)["crack"] == pytest.approx(1.0, rel=1e-12)
    cells = refined.facets.cells[0, refined.facets.names["crack"]]
    on_the_left = refined.centroids[0, cells] < 0.5
    assert np.count_nonzero(on_the_left) > np.count_nonzero(~on_the_left)


@SHAPES
def test_nothing_marked_changes_nothing(shape):
    domain = refined_at_random(named_domain(shape), 2)
    for change in (refine(domain, []), coarsen(domain, []), coarsen(named_domain(shape), [0, 1])):
        check_change(change)
        assert np.array_equal(change.domain.mesh().cells, change.before.mesh().cells)
        assert np.array_equal(change.old, change.new)
        assert np.all(change.shares == 1.0)


def test_levels_count_bisections():
    change = refine(right_triangles(1), [0])
    assert change.domain.levels.tolist() == [1, 1, 1, 1]
    assert repr(change) == "MeshChange(2 cells to 4)"
    # of the right triangles that come out of it one and its neighbour at the longest edge
    assert sorted(refine(change.domain, [0]).domain.levels.tolist())[-2:] == [2, 2]


def smallest_angle(mesh):
    x = corners(mesh, slice(None))
    angles = []
    for k in range(3):
        a, b = x[:, k - 1] - x[:, k], x[:, k - 2] - x[:, k]
        angles.append(np.arccos((a * b).sum(axis=0) / np.linalg.norm(a, axis=0) / np.linalg.norm(b, axis=0)))
    return np.min(angles)


def test_angles_are_at_least_half_of_the_first_ones():
    # Rosenberg and Stenger: bisection of longest edges never does worse
    domain = named_domain("triangles")
    least = 0.5 * smallest_angle(domain.mesh())
    for _ in range(16):
        where = domain.mesh().locate(np.array([[0.3], [0.4]])).cells
        domain = refine(domain, where).domain
        assert smallest_angle(domain.mesh()) >= least * (1.0 - 1e-12)
    assert domain.levels.max() == 16
    # refinement stays local
    assert domain.mesh().size < 18 + 16 * 16


def test_a_problem_on_a_refined_domain(tmp_path):
    domain = refined_at_random(Domain(skfem.MeshTri().refined(2), Dirichlet(0.0)), 2)
    bubble = stfem.data.Polynomial(np.outer([0.0, 1.0, -1.0], [0.0, 1.0, -1.0]), dim=2)
    equation = stfem.equations.AdvectionDiffusion((1.0, 0.5), 1e-2)
    result = stfem.certify(stfem.Problem(equation, domain, bubble, final_time=0.02), degree=1)
    assert result.guaranteed
    assert 0.0 < result.bound < 0.1
    assert result.indicators_sq.shape == (domain.mesh().size,)
    result.solution.save(tmp_path / "u.npz")
    loaded = stfem.Solution.load(tmp_path / "u.npz")
    assert stfem.estimate(loaded).bound == pytest.approx(result.bound, rel=1e-12)


@pytest.mark.parametrize("change", [refine, coarsen])
@pytest.mark.parametrize(
    ("domain", "marked", "error", "message"),
    [
        (Torus(1.0), [0], TypeError, "domain: expected a Domain with its own mesh, got Torus"),
        (Box(0.0, 1.0, Dirichlet(0.0)), [0], TypeError, "domain: expected a Domain .*, got Box"),
        (
            Domain(skfem.MeshQuad(), Dirichlet(0.0)),
            [0],
            TypeError,
            "mesh: expected lines, .* quadrilateral mesh",
        ),
        (right_triangles(1), [2], ValueError, "marked: expected cells from 0 to 1, got 2"),
        (right_triangles(1), [-1], ValueError, "marked: expected cells from 0 to 1, got -1"),
        (right_triangles(1), [0.0], TypeError, "marked: expected numbers of cells, got an array of float64"),
        (right_triangles(1), [True, False], TypeError, "marked: expected numbers of cells, got .* bool"),
    ],
)
def test_wrong_arguments_are_refused(change, domain, marked, error, message):
    with pytest.raises(error, match=message):
        change(domain, marked)
