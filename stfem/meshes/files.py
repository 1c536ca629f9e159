"""Meshes from files, through meshio: gmsh and the other formats that it reads."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["load_mesh"]

#: Size of coordinates that a mesh of lower dimension leaves out, relative to the extent of the mesh.
_FLAT = 1e-12


def load_mesh(given: Any) -> Any:
    """The scikit-fem mesh of a file or of a meshio mesh; anything else is returned as it is.

    Physical groups of gmsh and other sets of cells become names: of boundaries, where they hold facets, and
    of subdomains. Cells of a lower dimension than the mesh do nothing else.

    Raises
    ------
    FileNotFoundError, ModuleNotFoundError
        Where there is no such file, and where meshio is not installed.
    ValueError
        For a file that meshio cannot read, cells of several shapes or of none that scikit-fem has, and a
        surface or curve that is not flat.
    """
    is_file = isinstance(given, (str, Path))
    if not is_file and not type(given).__module__.startswith("meshio"):
        return given
    mesh = _read(Path(given)) if is_file else given
    sizes = Counter({block.type: len(block.data) for block in mesh.cells})
    dim = max((block.dim for block in mesh.cells), default=0)
    shapes = {block.type for block in mesh.cells if block.dim == dim and len(block.data)}
    if dim == 0 or len(shapes) != 1:
        found = " and ".join(f"{sizes[shape]} {shape}" for shape in sorted(shapes)) or "none"
        raise ValueError(f"mesh: expected cells of one shape, got {found}")
    points = np.asarray(mesh.points, dtype=np.float64)
    if points.ndim != 2 or not points.size:
        raise ValueError(f"mesh: expected points of shape (count, dimension), got shape {points.shape}")
    outside = points[:, dim:]
    extent = np.ptp(mesh.points, axis=0).max(initial=0.0)
    if np.any(np.ptp(outside, axis=0) > _FLAT * extent):
        raise ValueError(
            f"mesh: expected {shapes.pop()} cells in {dim} dimensions, got points whose other coordinates "
            "differ; a curved or tilted surface is no domain"
        )
    for block in mesh.cells:
        corners = np.asarray(block.data)
        if corners.size and not 0 <= corners.min() <= corners.max() < len(mesh.points):
            raise ValueError(
                f"mesh: expected cells of the {len(mesh.points)} points, got corners {corners.min()} to "
                f"{corners.max()}"
            )
    _name_groups(mesh)
    try:  # scikit-fem imports meshio, which is optional, with this module
        return import_module("skfem.io.meshio").from_meshio(mesh, ignore_orientation=True)
    except (NotImplementedError, KeyError):
        raise ValueError(f"mesh: expected cells that scikit-fem knows, got {shapes.pop()}") from None
    except IndexError:
        raise ValueError("mesh: expected groups of facets of the cells, got others") from None


def _read(path: Path) -> Any:
    try:
        meshio = import_module("meshio")
    except ModuleNotFoundError:
        message = "mesh: files are read with meshio, which is not installed: pip install 'stfem[io]'"
        raise ModuleNotFoundError(message) from None
    if not path.is_file():
        raise FileNotFoundError(f"mesh: expected a file, got {str(path)!r}")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return meshio.read(path)
    # its readers raise whatever a damaged file leads to, and end the program where several have been tried
    except (Exception, SystemExit) as error:
        reason = str(error) if isinstance(error, meshio.ReadError) and str(error) else type(error).__name__
        raise ValueError(
            f"mesh: expected a file that meshio can read, got {str(path)!r} ({reason})"
        ) from error


def _name_groups(mesh: Any) -> None:
    """Physical groups as sets of cells; gmsh counts them from 1 in every dimension."""
    tags = mesh.cell_data.get("gmsh:physical")
    if tags is None:
        return
    for name, (tag, dim) in mesh.field_data.items():
        members = [
            np.flatnonzero(here == tag) if block.dim == dim else np.zeros(0, dtype=int)
            for block, here in zip(mesh.cells, tags, strict=True)
        ]
        if name not in mesh.cell_sets and any(map(len, members)):
            mesh.cell_sets[name] = members
