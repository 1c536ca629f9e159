"""Files that somebody has tampered with: bytes and contents of valid ones, mutated, and how they load."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from fuzz_run import Outcome, outcome
from fuzz_solving import estimate, solution

import stfem
from stfem.io import load_estimate, load_solution, save_estimate, save_solution

#: A whole number from 0 up to, and without, the argument: from a random generator, or from a fuzzer.
Choose = Callable[[int], int]

GMSH = b"""$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
1 1 "wall"
2 2 "inside"
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
1 1 2 1 1 1 2
2 1 2 1 1 2 3
3 1 2 1 1 3 4
4 1 2 1 1 4 1
5 2 2 2 1 1 2 3
6 2 2 2 1 1 3 4
$EndElements
"""
VTK = b"""# vtk DataFile Version 3.0
mesh
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 4 double
0 0 0 1 0 0 1 1 0 0 1 0
CELLS 2 8
3 0 1 2
3 0 2 3
CELL_TYPES 2
5
5
"""
_WORDS = (
    None,
    True,
    0,
    -1,
    3,
    1e308,
    "",
    "a",
    [],
    {},
    [[]],
    {"mapping": {}},
    {"array": "array0"},
    {"tuple": []},
)
_WORDS += ({"float": "nan"}, {"number": "array1"}, {"float": "x"}, {"is": "flux"}, 10**30, "__import__('os')")


def load_mesh(path: Path) -> stfem.Domain:
    return stfem.Domain(str(path), stfem.Dirichlet(0.0))


def valid_files(folder: Path) -> dict[str, tuple[bytes, Callable[..., object]]]:
    """Contents and loaders of valid files by name."""
    save_solution(solution("torus", history=True), folder / "solution.npz")
    save_solution(solution("mesh"), folder / "mesh.npz")
    save_estimate(estimate("torus"), folder / "estimate.npz")
    names = {"solution.npz": load_solution, "mesh.npz": load_solution, "estimate.npz": load_estimate}
    files = {name: ((folder / name).read_bytes(), load) for name, load in names.items()}
    return files | {"square.msh": (GMSH, load_mesh), "square.vtk": (VTK, load_mesh)}


def spoiled_bytes(content: bytes, choose: Choose) -> bytes:
    """Bytes changed, cut out, doubled or cut off."""
    data = bytearray(content)
    for _ in range(1 + choose(4)):
        place, length = choose(len(data) or 1), 1 + choose(16)
        kind = choose(5)
        if kind == 0:
            data[place : place + 1] = bytes([choose(256)])
        elif kind == 1:
            del data[place : place + length]
        elif kind == 2:
            data[place:place] = data[place : place + length]
        elif kind == 3:
            data[place : place + length] = str(choose(10**6)).encode()
        else:
            del data[place:]
    return bytes(data)


def spoiled_archive(content: bytes, choose: Choose) -> bytes:
    """A whole archive with other text or other arrays in it: checksums do not tell."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    text = json.loads(str(arrays["stfem"]))
    for _ in range(1 + choose(2)):
        if choose(3):
            text = _spoiled_text(text, choose)
        else:
            name = sorted(arrays)[choose(len(arrays))]
            arrays[name] = _spoiled_array(arrays[name], choose)
    if choose(4):
        arrays["stfem"] = np.array(json.dumps(text))
    stream = io.BytesIO()
    (np.savez if choose(20) else np.savez_compressed)(stream, **arrays)
    return stream.getvalue()


def _spoiled_text(value: object, choose: Choose) -> object:
    """The same with one entry, somewhere, that is another."""
    if isinstance(value, dict) and value and choose(8):
        key = sorted(value)[choose(len(value))]
        if not choose(12):
            return {name: entry for name, entry in value.items() if name != key}
        return {**value, key: _spoiled_text(value[key], choose)}
    if isinstance(value, list) and value and choose(8):
        place = choose(len(value))
        return [*value[:place], _spoiled_text(value[place], choose), *value[place + 1 :]]
    return _WORDS[choose(len(_WORDS))]


@np.errstate(over="ignore", invalid="ignore")
def _spoiled_array(array: np.ndarray, choose: Choose) -> np.ndarray:
    kind = choose(6)
    if kind == 0:
        return array[..., :0] if array.ndim else array
    if kind == 1:
        return np.array(["a"])
    if kind == 2 and array.dtype.kind == "f":
        return np.full(array.shape, np.nan)
    if kind == 3 and array.dtype.kind in "fi":
        return array.astype(np.complex64)
    if kind == 4 and array.dtype.kind in "fi":
        return (array.astype(float) * 1e200).astype(np.float64)
    return np.zeros(3, dtype=np.int64) - 7


def spoiled(name: str, content: bytes, choose: Choose) -> bytes:
    """One of the two for archives; bytes for everything else."""
    archive = name.endswith(".npz") and choose(4)
    return spoiled_archive(content, choose) if archive else spoiled_bytes(content, choose)


def loaded(folder: Path, name: str, content: bytes, load: Callable[..., object]) -> Outcome:
    """What comes of loading these bytes; also of using what was loaded."""
    path = folder / f"spoiled-{name}"
    path.write_bytes(content)
    return outcome(lambda path: _used(load(path)), {"path": path})


def _used(found: object) -> object:
    assert len(str(found)) > 0
    return found


def bomb(shape: tuple[int, ...], compressed: bool = False) -> bytes:
    """An archive whose array says that it is huge, or is huge once it is unpacked."""
    stream = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name in ("stfem", "array0"):
            member = io.BytesIO()
            np.lib.format.write_array_header_1_0(
                member, {"descr": "<f8", "fortran_order": False, "shape": shape}
            )
            archive.writestr(f"{name}.npy", member.getvalue() + bytes(1 << 24 if compressed else 8))
    return stream.getvalue()
