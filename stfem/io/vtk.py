"""Files for ParaView, PyVista and other programs that read VTK's formats."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np

from stfem.checks import checked_flag, checked_instance, checked_path, real_array
from stfem.estimators import Estimate
from stfem.io.cells import Cells
from stfem.io.container import written_at_once
from stfem.io.fields import SolutionCells
from stfem.reconstruction import AnyRule
from stfem.solution import Solution
from stfem.stationary import StationarySolution

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
    checked_instance("cells", cells, Cells, "Cells")
    checked_flag("compressed", compressed)
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
    solution: Solution | StationarySolution,
    estimate: Estimate | None = None,
    *,
    reconstruction: AnyRule | None = None,
    names: Sequence[str] | None = None,
    degree: int | None = None,
    compressed: bool = False,
) -> Path:
    """Write u_h(T) for ParaView: polynomials of its degree in every cell, with the jumps between cells.

    Of a stationary solution its only state.

    Parameters
    ----------
    path
        Name that ends in .vtu, in an existing folder.
    solution
        Becomes point data ``u_h``; of a system ``u_1_h``, ``u_2_h``, ….
    estimate
        That of the solution: local indicators become cell data, ``eta`` is η_K, ``eta_sq`` its square (T4.7).
    reconstruction
        Adds û as point data ``u_hat``: `Siac()` is that of the default estimator, on meshes
        `VertexPatches()`.
    names
        One per component, in place of "u"; the only one may be given as it is.
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
    return write_cells(path, cells.at(solution.time, solution.values), compressed=compressed)


def write_vtk_series(
    path: str | Path,
    solution: Solution,
    estimate: Estimate | None = None,
    *,
    every: int | None = None,
    times: Sequence[float] | None = None,
    reconstruction: AnyRule | None = None,
    names: Sequence[str] | None = None,
    degree: int | None = None,
    compressed: bool = False,
) -> Path:
    """Write u_h at many times: a collection (.pvd) to open in ParaView, and beside it a folder of .vtu files.

    One time node is in memory at a time; without a stored history the time stepping is repeated. A run that
    is interrupted, or blows up, leaves the collection of what has been written. Files of an older collection
    of that name are replaced or removed; others are left alone.

    Parameters
    ----------
    path
        Name of the collection, ends in .pvd. The folder has the same name without it.
    solution, estimate, reconstruction, names, degree, compressed
        As for `write_vtk`; the indicators, which belong to the whole run, are the same in all files.
    every
        Every so many time steps, and at the end. Default: as many as give about fifty files.
    times
        Instead: at the time nodes nearest to these. A warning says where several have the same one.

    Returns
    -------
    Path
        The collection.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit, times outside of the run, and another ending.
    OSError
        Where the files cannot be written, and where one would replace a file that is in no older collection.
    ImportError
        Where meshio is not installed.
    """
    _meshio()  # asked for before the run, not after it
    _check_in_time(solution)
    target = _target(path, ".pvd")
    cells = SolutionCells(solution, estimate, reconstruction, names, degree)
    chosen = _chosen_steps(solution, every, times)
    folder = target.with_suffix("")
    frames = [folder / f"{folder.name}_{number:04d}.vtu" for number in range(len(chosen))]
    old = _frames_of(target, folder)
    foreign = [str(frame) for frame in frames if frame.exists() and frame not in old]
    if foreign:
        raise FileExistsError(f"path: expected no file of another origin in its folder, got {foreign[0]}")
    folder.mkdir(exist_ok=True)
    entries: list[str] = []
    try:
        for step, node in enumerate(solution.nodes()):
            if step in chosen:
                frame = frames[len(entries)]
                write_cells(frame, cells.at(node.time, node.values), compressed=compressed)
                name = quoteattr(f"{folder.name}/{frame.name}")
                entries.append(f'<DataSet timestep="{float(node.time)!r}" part="0" file={name}/>\n')
            if len(entries) == len(chosen):
                break
    finally:
        with written_at_once(target) as unfinished:
            head = '<?xml version="1.0" encoding="UTF-8"?>\n<VTKFile type="Collection" version="0.1">\n'
            text = "".join([head, "<Collection>\n", *entries, "</Collection>\n</VTKFile>\n"])
            unfinished.write_text(text, encoding="utf-8")
        for frame in old.difference(frames[: len(entries)]):
            frame.unlink(missing_ok=True)
    return target


def _check_in_time(solution: object) -> None:
    if isinstance(solution, StationarySolution):
        raise TypeError("solution: expected one in time, got a StationarySolution; write_vtk writes it")


def _frames_of(collection: Path, folder: Path) -> set[Path]:
    """Files in the folder that a collection of `write_vtk_series` lists; nothing of any other file."""
    try:
        root = ElementTree.parse(collection).getroot()
    except (FileNotFoundError, ElementTree.ParseError):
        return set()
    listed = [Path(entry.get("file", "")) for entry in root.findall("Collection/DataSet")]
    pattern = re.compile(re.escape(folder.name) + r"_\d{4,}\.vtu")
    return {
        folder / path.name
        for path in listed
        if path.parent == Path(folder.name) and pattern.fullmatch(path.name)
    }


def _meshio() -> Any:
    try:
        return import_module("meshio")
    except ImportError as error:
        raise ImportError(f"expected meshio, got {error}; pip install 'stfem[io]' has it") from error


def _target(path: str | Path, ending: str) -> Path:
    target = checked_path("path", path)
    if target.suffix != ending:
        raise ValueError(f"path: expected a file name that ends in {ending}, got {os.fspath(path)!r}")
    return target


def _chosen_steps(solution: Solution, every: int | None, times: Sequence[float] | None) -> set[int]:
    """Numbers of the time nodes to write."""
    steps, final = solution.steps, solution.time
    if times is not None:
        if every is not None:
            raise TypeError("expected either every or times, got both")
        given = np.atleast_1d(real_array(times, "times"))
        if given.ndim != 1 or not np.all((given >= 0.0) & (given <= final)):
            raise ValueError(f"times: expected numbers from 0 to {final:g}, got {times}")
        if given.size == 0:
            raise ValueError("times: expected at least one, got none")
        middles = 0.5 * (solution.times[1:] + solution.times[:-1])
        chosen = set(np.searchsorted(middles, given).tolist())
        if len(chosen) < len(set(given.tolist())):
            warnings.warn(
                f"times: expected each to have a nearest time node of its own, got {given.size} times for "
                f"{len(chosen)} nodes of a run with {steps} steps; these are written once",
                UserWarning,
                stacklevel=3,
            )
        return chosen
    stride = ceil(steps / FRAMES) if every is None else every
    if isinstance(stride, bool) or not isinstance(stride, (int, np.integer)):
        raise TypeError(f"every: expected a whole number, got {every!r}")
    if stride < 1:
        raise ValueError(f"every: expected at least 1, got {every}")
    return {*range(0, steps, int(stride)), steps}
