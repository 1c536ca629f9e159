"""Files: solutions and estimates to be read again, for programs that draw them, and for scikit-fem."""

from stfem.io.cells import HEXAHEDRON, LINE, QUADRILATERAL, TETRAHEDRON, TRIANGLE, Cells, Shape
from stfem.io.checkpoint import CheckpointWarning
from stfem.io.levels import RecordedLevels
from stfem.io.saving import load_estimate, load_solution, save_estimate, save_solution
from stfem.io.saving_stationary import load_stationary, save_stationary
from stfem.io.scikit_fem import LegendreElement, SkfemField, from_skfem, to_skfem
from stfem.io.skfem_meshes import OrthonormalElement
from stfem.io.vtk import write_cells, write_vtk, write_vtk_series

__all__ = [
    "load_estimate",
    "load_solution",
    "load_stationary",
    "save_estimate",
    "save_solution",
    "save_stationary",
    "write_cells",
    "write_vtk",
    "write_vtk_series",
    "Cells",
    "CheckpointWarning",
    "Shape",
    "LINE",
    "TRIANGLE",
    "QUADRILATERAL",
    "TETRAHEDRON",
    "HEXAHEDRON",
    "from_skfem",
    "to_skfem",
    "LegendreElement",
    "OrthonormalElement",
    "RecordedLevels",
    "SkfemField",
]
