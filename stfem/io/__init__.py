"""Files: solutions and estimates to be read again, and for programs that draw them."""

from stfem.io.cells import HEXAHEDRON, LINE, QUADRILATERAL, Cells, Shape
from stfem.io.saving import load_estimate, load_solution, save_estimate, save_solution
from stfem.io.vtk import write_cells, write_vtk, write_vtk_series

__all__ = [
    "HEXAHEDRON",
    "LINE",
    "QUADRILATERAL",
    "Cells",
    "Shape",
    "load_estimate",
    "load_solution",
    "save_estimate",
    "save_solution",
    "write_cells",
    "write_vtk",
    "write_vtk_series",
]
