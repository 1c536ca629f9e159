"""Boxes and domains from meshes: a condition on every facet, names, periodic sides, files."""

import numpy as np
import pytest
import skfem
from mesh_cases import box_mesh

import stfem
from stfem import Box, Dirichlet, Domain, Neumann, Outflow, Problem, Torus, TotalFlux
from stfem.equations import AdvectionDiffusion
from stfem.problems.bounded import boundary_parts

SIDES = {"left": Dirichlet(1.0), "right": Outflow(), "bottom": Neumann(), "top": TotalFlux()}


def test_box_has_equal_cells_and_named_sides():
    box = Box((0.0, -1.0), (2.0, 1.0), boundary=SIDES)
    assert box.measure == 4.0
    mesh = box.mesh((4, 3))
    assert mesh.size == 12
    np.testing.assert_allclose(mesh.cell_measures, 0.5 * 2.0 / 3.0)
    parts = {part.name: part for part in boundary_parts(mesh, box.boundary)}
    assert {name: len(part.facets) for name, part in parts.items()} == {
        "left": 3,
        "right": 3,
        "bottom": 4,
        "top": 4,
    }
    assert parts["left"].condition == Dirichlet(1.0)
    with pytest.raises(TypeError, match="cells: expected the number of cells"):
        box.mesh()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_box_may_be_periodic(dim):
    box = Box((0.0,) * dim, (1.0,) * dim, Dirichlet(0.0), periodic=(0,))
    mesh = box.mesh((3, 2, 2)[:dim])
    assert "left" not in mesh.facets.names
    assert len(mesh.facets.boundary) == (0, 2 * 3, 4 * 3 * 2)[dim - 1]
    with pytest.raises(ValueError, match="periodic: expected different directions"):
        Box((0.0,) * dim, (1.0,) * dim, Dirichlet(0.0), periodic=(dim,))


@pytest.mark.parametrize(
    ("boundary", "message"),
    [
        (None, r"on 4 of 4; their boundaries: .*'left' \(1\)"),
        (
            {"left": Dirichlet()},
            r"got none on 3 of 4; their boundaries: 'right' \(1\), 'bottom' \(1\), 'top'",
        ),
        (SIDES | {"front": Dirichlet()}, "expected one of .*got 'front'"),
    ],
)
def test_every_side_of_a_box_needs_a_condition(boundary, message):
    with pytest.raises(ValueError, match=message):
        Box((0.0, 0.0), (1.0, 1.0), boundary)


@pytest.mark.parametrize(
    ("lower", "upper", "error"),
    [
        ((0.0,), (1.0, 1.0), ValueError),
        (1.0, 0.0, ValueError),
        ("a", "b", TypeError),
        (0.0, np.inf, ValueError),
    ],
)
def test_faulty_boxes(lower, upper, error):
    with pytest.raises(error, match=r"lower|upper"):
        Box(lower, upper, Dirichlet())


def test_conditions_are_objects():
    with pytest.raises(
        TypeError, match=r"boundary 'left': expected a condition such as Dirichlet\(0.0\), got 3"
    ):
        Box(0.0, 1.0, {"left": 3, "right": Outflow()})


def test_facets_of_a_mesh_are_covered_exactly_once():
    mesh = box_mesh("triangle", 2)
    assert Domain(mesh, SIDES).measure == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"got none on 2 of 8; their boundaries: 'top' \(2\)"):
        Domain(mesh, {name: condition for name, condition in SIDES.items() if name != "top"})
    doubled = mesh.with_boundaries({"corner": lambda x: x[0] + x[1] < 0.6})
    with pytest.raises(
        ValueError, match=r"boundary 'corner': expected one condition per facet.*'left' as well"
    ):
        Domain(doubled, SIDES | {"corner": Neumann()})
    empty = mesh.with_boundaries({"void": np.zeros(0, dtype=int)})
    with pytest.raises(ValueError, match="boundary 'void': expected facets, got an empty set"):
        Domain(empty, SIDES | {"void": Neumann()})
    inner = mesh.with_boundaries({"middle": np.flatnonzero(mesh.f2t[1] >= 0)})
    with pytest.raises(ValueError, match="boundary 'middle': expected boundary facets, got 8 of 8"):
        Domain(inner, SIDES | {"middle": Neumann()})
    with pytest.raises(ValueError, match=r"got 4 of 4|got 2 of 2"):
        Domain(mesh, SIDES, periodic=(0,))
    with pytest.raises(ValueError, match="without a name"):
        Domain(skfem.MeshTri(mesh.p, mesh.t), {})
    assert Domain(mesh, {"bottom": Neumann(), "top": Neumann()}, periodic=(("left", "right"),)).dim == 2


def test_domain_brings_its_cells():
    with pytest.raises(TypeError, match=r"cells: expected none for a Domain.*got 3"):
        Domain(box_mesh("line", 3), Dirichlet()).mesh(3)
    with pytest.raises(TypeError, match="periodic: expected directions or pairs of names"):
        Domain(box_mesh("line", 3), Dirichlet(), periodic=(1.5,))


def test_mesh_from_a_file(tmp_path):
    path = tmp_path / "mesh.msh"
    mesh = box_mesh("triangle", 3)
    mesh.save(path)
    domain = Domain(path, SIDES)
    assert domain.mesh().size == mesh.t.shape[1]
    assert domain.measure == pytest.approx(1.0)


GMSH = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
3
1 1 "inlet"
1 2 "walls"
2 3 "body"
$EndPhysicalNames
$Nodes
4
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
$EndNodes
$Elements
6
1 1 2 1 4 4 1
2 1 2 2 1 1 2
3 1 2 2 2 2 3
4 1 2 2 3 3 4
5 2 2 3 1 1 2 3
6 2 2 3 1 1 3 4
$EndElements
"""


def test_names_of_gmsh(tmp_path):
    path = tmp_path / "square.msh"
    path.write_text(GMSH)
    domain = Domain(str(path), {"inlet": Dirichlet(1.0), "walls": Neumann()})
    mesh = domain.mesh()
    assert {name: len(facets) for name, facets in mesh.facets.names.items()} == {"inlet": 1, "walls": 3}
    Problem(AdvectionDiffusion((1.0, 0.0), {"body": 0.1}), domain, 0.0, 1.0)
    with pytest.raises(ValueError, match="got none on 1 of 4; their boundaries: 'inlet'"):
        Domain(path, {"walls": Neumann()})


def test_velocity_must_fit_across_glued_sides():
    domain = Domain(box_mesh("triangle", 3), {"bottom": Neumann(), "top": Neumann()}, periodic=(0,))
    fine = AdvectionDiffusion(lambda x, t: np.stack([1.0 + x[1], 0.0 * x[0]]), dim=2, divergence=0.0)
    Problem(fine, domain, 0.0, 1.0)
    torn = AdvectionDiffusion(lambda x, t: np.stack([1.0 + x[0], -x[1]]), dim=2, divergence=0.0)
    with pytest.raises(ValueError, match="velocity: expected the normal component to agree on glued sides"):
        Problem(torn, domain, 0.0, 1.0)


def test_domain_of_another_kind():
    with pytest.raises(TypeError, match="domain: expected a Torus, Box or Domain"):
        Problem(AdvectionDiffusion((1.0,)), "box", 0.0, 1.0)
    assert isinstance(stfem.Torus(1.0), Torus)
