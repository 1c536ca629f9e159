"""Files for ParaView, PyVista and other programs that read VTK's formats."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from stfem.estimators import Estimate
from stfem.io.cells import Cells
from stfem.io.container import written_at_once
from stfem.io.fields import SolutionCells
from stfem.reconstruction import Reconstruction
from stfem.solution import Solution

__all__ = ["write_cells", "write_vtk", "write_vtk_series"]

#: About as many files has a series when nothing else is asked for.
FRAMES = 50


def write_cells(path: str | Path, cells: Cells, *, compressed: bool = False) -> Path:
    """Write cells with values at their nodes (.vtu).

    An existing file is replaced once the new one is complete.

    Raises
    ------
    ValueError, OSError
        For another ending, and where the file cannot be written.
    ImportError
        Where meshio is not installed.
    """
    meshio = _meshio()
    target = _target(path, ".vtu")
    count, nodes, dim = cells.points.shape
    points = np.zeros((count * nodes, 3))
    points[:, :dim] = cells.points.reshape(-1, dim)
    kind = cells.shape.linear if cells.degree == 1 else cells.shape.lagrange
    mesh = meshio.Mesh(
        points,
        [(kind, np.arange(count * nodes).reshape(count, nodes))],
        point_data={name: np.ravel(values) for name, values in cells.point_data.items()},
        cell_data={name: [values] for name, values in cells.cell_data.items()},
    )
    with written_at_once(target) as unfinished:
        mesh.write(
            unfinished, file_format="vtu", compression="zlib" if compressed else None, header_type="UInt64"
        )
    return target


def write_vtk(
    path: str | Path,
    solution: Solution,
    estimate: Estimate | None = None,
    *,
    reconstruction: Reconstruction | None = None,
    names: Sequence[str] | None = None,
    degree: int | None = None,
    compressed: bool = False,
) -> Path:
    """Write u_h(T) for ParaView: polynomials of its degree in every cell, with the jumps between cells.

    Parameters
    ----------
    path
        Name that ends in .vtu, in an existing folder.
    solution
        Becomes point data ``u_h``; of a system ``u_1_h``, ``u_2_h``, ….
    estimate
        Local indicators become cell data: ``eta`` is η_K, ``eta_sq`` its square (T4.7).
    reconstruction
        Adds û as point data ``u_hat``: `Siac()` is that of the default estimator.
    names
        One per component, in place of "u".
    degree
        Degree of the interpolation between nodes, 1 to 10. Default: that of u_h, or of û if there is one,
        at most 10; between the nodes it is then exact, but for a û of higher degree.
    compressed
        Smaller files that take longer to write (zlib).

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit, and for another ending.
    OSError
        Where the file cannot be written.
    ImportError
        Where meshio is not installed.
    """
    _target(path, ".vtu")
    cells = SolutionCells(solution, estimate, reconstruction, names, degree)
    return write_cells(path, cells.at(solution.values), compressed=compressed)


def write_vtk_series(
    path: str | Path,
    solution: Solution,
    estimate: Estimate | None = None,
    *,
    every: int | None = None,
    times: Sequence[float] | None = None,
    reconstruction: Reconstruction | None = None,
    names: Sequence[str] | None = None,
    degree: int | None = None,
    compressed: bool = False,
) -> Path:
    """Write u_h at many times: a collection (.pvd) to open in ParaView, and beside it a folder of .vtu files.

    One time node is in memory at a time; without a stored history the time stepping is repeated. A run that
    is interrupted, or blows up, leaves the collection of what has been written.

    Parameters
    ----------
    path
        Name of the collection, ends in .pvd. The folder has the same name without it.
    solution, estimate, reconstruction, names, degree, compressed
        As for `write_vtk`; the indicators, which belong to the whole run, are the same in all files.
    every
        Every so many time steps, and at the end. Default: as many as give about fifty files.
    times
        Instead: at the time nodes nearest to these.

    Returns
    -------
    Path
        The collection.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit, times outside of the run, and another ending.
    OSError
        Where the files cannot be written.
    ImportError
        Where meshio is not installed.
    """
    _meshio()  # asked for before the run, not after it
    target = _target(path, ".pvd")
    cells = SolutionCells(solution, estimate, reconstruction, names, degree)
    chosen = _chosen_steps(solution, every, times)
    folder = target.with_suffix("")
    folder.mkdir(exist_ok=True)
    entries: list[str] = []
    try:
        for step, node in enumerate(solution.nodes()):
            if step in chosen:
                frame = folder / f"{folder.name}_{len(entries):04d}.vtu"
                write_cells(frame, cells.at(node.values), compressed=compressed)
                name = quoteattr(f"{folder.name}/{frame.name}")
                entries.append(f'<DataSet timestep="{float(node.time)!r}" part="0" file={name}/>\n')
            if len(entries) == len(chosen):
                break
    finally:
        with written_at_once(target) as unfinished:
            head = '<?xml version="1.0" encoding="UTF-8"?>\n<VTKFile type="Collection" version="0.1">\n'
            text = "".join([head, "<Collection>\n", *entries, "</Collection>\n</VTKFile>\n"])
            unfinished.write_text(text, encoding="utf-8")
    return target


def _meshio() -> Any:
    try:
        return import_module("meshio")
    except ImportError as error:
        raise ImportError(f"expected meshio, got {error}; pip install 'stfem[io]' has it") from error


def _target(path: str | Path, ending: str) -> Path:
    target = Path(path)
    if target.suffix != ending:
        raise ValueError(f"path: expected a file name that ends in {ending}, got {os.fspath(path)!r}")
    return target


def _chosen_steps(solution: Solution, every: int | None, times: Sequence[float] | None) -> set[int]:
    """Numbers of the time nodes to write."""
    steps, final = solution.steps, solution.time
    if times is not None:
        if every is not None:
            raise TypeError("expected either every or times, got both")
        given = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if given.ndim != 1 or not np.all((given >= 0.0) & (given <= final)):
            raise ValueError(f"times: expected numbers from 0 to {final:g}, got {times}")
        return set(np.rint(given / final * steps).astype(int).tolist())
    stride = ceil(steps / FRAMES) if every is None else every
    if isinstance(stride, bool) or not isinstance(stride, (int, np.integer)):
        raise TypeError(f"every: expected a whole number, got {every!r}")
    if stride < 1:
        raise ValueError(f"every: expected at least 1, got {every}")
    return {*range(0, steps, int(stride)), steps}
