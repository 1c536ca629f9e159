"""Meshes that are wrong, and files: names of gmsh's groups, mixed cells, surfaces in space."""

import sys

import meshio
import numpy as np
import pytest
import skfem
from mesh_cases import box_mesh

from stfem import Dirichlet, Domain, Neumann, Outflow, Problem, certify, solve
from stfem.equations import AdvectionDiffusion

POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0]])
TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]])


def square(n=2):
    mesh = box_mesh("triangle", n)
    return mesh.p, mesh.t


def domain(vertices, cells, boundary=None, **options):
    return Domain(skfem.MeshTri(vertices, cells), boundary or Dirichlet(0.0), **options)


def grouped():
    """Two triangles; gmsh counts groups from 1 in every dimension: inlet, walls and body, outlet and rest."""
    lines = np.array([[0, 3], [0, 1], [2, 3], [1, 2]])
    return meshio.Mesh(
        POINTS[:4],
        [("line", lines), ("triangle", TRIANGLES)],
        cell_data={
            "gmsh:physical": [np.array([1, 2, 2, 3]), np.array([1, 2])],
            "gmsh:geometrical": [np.array([1, 2, 3, 4]), np.array([1, 2])],
        },
        field_data={
            "inlet": np.array([1, 1]),
            "walls": np.array([2, 1]),
            "outlet": np.array([3, 1]),
            "body": np.array([1, 2]),
            "rest": np.array([2, 2]),
        },
    )


@pytest.mark.parametrize("kind", ["gmsh22", "gmsh", None])
def test_groups_become_names(tmp_path, kind):
    given = grouped()
    if kind is not None:
        if kind == "gmsh":  # its entities are needed by that format
            given.cell_sets = {}
        given.write(tmp_path / "mesh.msh", file_format="gmsh22", binary=False)
        given = tmp_path / "mesh.msh" if kind == "gmsh22" else meshio.read(tmp_path / "mesh.msh")
    conditions = {"inlet": Dirichlet(1.0), "walls": Neumann(0.0), "outlet": Outflow()}
    region = Domain(given, conditions)
    mesh = region.mesh()
    assert {name: len(facets) for name, facets in mesh.facets.names.items()} == {
        "inlet": 1,
        "walls": 2,
        "outlet": 1,
    }
    assert mesh.facet_points(np.array([[0.5]]), mesh.facets.names["outlet"]).ravel().tolist() == [1.0, 0.5]
    assert {name: cells.tolist() for name, cells in mesh.subdomains.items()} == {"body": [0], "rest": [1]}
    problem = Problem(AdvectionDiffusion((1.0, 0.0), {"body": 0.1, "rest": 0.2}), region, 1.0, 0.1)
    np.testing.assert_allclose(solve(problem, degree=1).values[0, 0], 1.0, rtol=1e-12)


def test_files_with_three_dimensions(tmp_path):
    for kind in ("tetrahedron", "hexahedron", "quadrilateral"):
        mesh = box_mesh(kind, 2)
        mesh.save(tmp_path / f"{kind}.vtk")
        read = Domain(tmp_path / f"{kind}.vtk", Dirichlet(0.0))
        assert read.dim == mesh.dim()
        assert read.measure == pytest.approx(1.0)
        assert read.mesh().size == mesh.t.shape[1]

    line = meshio.Mesh(POINTS[[0, 1, 4]], [("line", np.array([[0, 1], [1, 2]]))])
    assert Domain(line, Dirichlet(0.0)).measure == pytest.approx(2.0)


def test_files_that_hold_no_mesh(tmp_path):
    for name in ("rubbish.msh", "rubbish.vtk", "rubbish.unknown"):
        (tmp_path / name).write_text("rubbish")
        with pytest.raises(ValueError, match=f"mesh: expected a file that meshio can read, got '.*{name}'"):
            Domain(str(tmp_path / name), Dirichlet(0.0))
    for path in (tmp_path / "missing.msh", tmp_path):
        with pytest.raises(FileNotFoundError, match="mesh: expected a file, got"):
            Domain(path, Dirichlet(0.0))


def test_files_without_meshio(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'stfem\[io\]'"):
        Domain(tmp_path / "mesh.msh", Dirichlet(0.0))


@pytest.mark.parametrize(
    ("points", "blocks", "message"),
    [
        (
            POINTS,
            [("triangle", TRIANGLES), ("quad", np.array([[1, 4, 5, 2]]))],
            "one shape, got 1 quad and 2 triangle",
        ),
        (POINTS, [("vertex", np.array([[0]]))], "one shape, got 1 vertex"),
        (POINTS[:, [2, 0, 1]], [("triangle", TRIANGLES)], "tilted surface is no domain"),
        (
            POINTS + np.outer(np.arange(6) == 1, [0, 0, 1]),
            [("triangle", TRIANGLES)],
            "triangle cells in 2 dim",
        ),
        (np.vstack([POINTS[:5], [[0, 0, 1.0]]]), [("wedge", np.arange(6)[None])], "got|Wedge"),
    ],
)
def test_files_with_other_cells(tmp_path, points, blocks, message):
    mesh = meshio.Mesh(points, blocks)
    mesh.write(tmp_path / "mesh.vtk")
    for given in (mesh, tmp_path / "mesh.vtk"):
        with pytest.raises((ValueError, TypeError), match=f"mesh: expected .*({message})"):
            Domain(given, Dirichlet(0.0))


def test_vertices_given_twice():
    """They would open a crack; a crack that is meant has names on both sides."""
    vertices, cells = square()
    apart = np.hstack([vertices, vertices[:, cells[:, 0]]]), cells.copy()
    apart[1][:, 0] = vertices.shape[1] + np.arange(3)
    with pytest.raises(
        ValueError, match=r"share their vertices, got \d boundary facets of no name that lie on"
    ):
        domain(*apart)
    line = skfem.MeshLine(np.array([[0.0, 1.0, 1.0, 2.0]]), np.array([[0, 2], [1, 3]]))
    with pytest.raises(ValueError, match="share their vertices, got 2 boundary facets"):
        Domain(line, Dirichlet(0.0))
    named = skfem.MeshTri(*apart).with_boundaries({"all": lambda x: x[0] > -1.0})
    assert Domain(named, {"all": Dirichlet(0.0)}).measure == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["triangle", "tetrahedron", "hexahedron"])
def test_thin_domains_are_no_cracks(kind):
    mesh = box_mesh(kind, 2)
    flat = mesh.p * np.array([1.0, 1e-8, 1.0])[: mesh.dim(), None]
    assert Domain(type(mesh)(flat, mesh.t), Dirichlet(0.0)).measure == pytest.approx(1e-8)


def test_hanging_vertices():
    vertices = np.array([[0, 1, 1, 0, 2, 2, 1.0], [0, 0, 1, 1, 0, 1, 0.5]])
    cells = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 6], [4, 5, 6], [6, 5, 2]]).T
    with pytest.raises(ValueError, match=r"got 1 boundary facets of no name .* \[1.0, 0.5\]"):
        domain(vertices, cells)


def test_vertices_of_no_cell_are_dropped():
    vertices, cells = square()
    more = np.hstack([[[7.0], [7.0]], vertices])
    spare = domain(more, cells + 1)
    assert spare.mesh().vertices.shape == vertices.shape
    wave = AdvectionDiffusion((1.0, 0.5), 1e-2)
    bounds = [
        certify(Problem(wave, region, 1.0, 0.1), degree=1).bound
        for region in (spare, domain(vertices, cells))
    ]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)


def test_meshes_that_fold_over_or_are_none():
    vertices, cells = square()
    with pytest.raises(ValueError, match="at most two cells at every facet, got 3 at one"):
        domain(vertices, np.hstack([cells, cells[:, :1]]))
    moved = vertices.copy()
    moved[:, np.flatnonzero(np.all(vertices == 0.5, axis=0))] = 1.4
    with pytest.raises(ValueError, match="cells on either side of every interior facet"):
        domain(moved, cells)
    with pytest.raises(
        ValueError, match=r"vertices \(2, V\) .* got \(3, 9\); a surface in space is no domain"
    ):
        domain(np.vstack([vertices, vertices[:1]]), cells)
    with pytest.raises(ValueError, match="mesh: expected finite coordinates"):
        domain(vertices * np.nan, cells)
    with pytest.raises(ValueError, match="mesh: expected cells, got none"):
        Domain(skfem.MeshTri(np.zeros((2, 0)), np.zeros((3, 0), dtype=int)), Dirichlet(0.0))
    turned = cells.copy()
    turned[[0, 1], 0] = turned[[1, 0], 0]
    assert domain(vertices, turned).measure == pytest.approx(1.0)


def test_sides_that_cannot_be_glued():
    vertices, cells = square()
    moved = vertices.copy()
    moved[1, (vertices[0] == 1.0) & (vertices[1] == 0.5)] = 0.6
    with pytest.raises(ValueError, match=r"periodic|same corners"):
        domain(moved, cells, periodic=(0,))
    for wrong in (0, "x", None, 0.5):
        with pytest.raises(TypeError, match="periodic: expected directions or pairs of names"):
            domain(vertices, cells, periodic=wrong)
    for wrong in (("x",), (0.5,), (True,), (0, "a")):
        with pytest.raises(TypeError, match="periodic: expected directions or pairs of names, got"):
            domain(vertices, cells, periodic=wrong)


def test_points_that_are_none_are_refused():
    mesh = meshio.Mesh(np.zeros((3, 2)), [("triangle", [[0, 1, 2]])])
    mesh.points = np.array(0.5)
    with pytest.raises(ValueError, match=r"mesh: expected points of shape \(count, dimension\), got shape"):
        Domain(mesh, Dirichlet(0.0))
