"""All tables together, and the public names of the package that must be in them."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import fuzz_data
import fuzz_files
import fuzz_pictures
import fuzz_problems
import fuzz_solving
from fuzz_entry import Entry

import stfem

_TABLES = (fuzz_data, fuzz_problems, fuzz_solving, fuzz_files, fuzz_pictures)
TABLE: dict[str, Entry] = {name: entry for module in _TABLES for name, entry in module.TABLE.items()}
LEFT_OUT: dict[str, str] = fuzz_files.LEFT_OUT | fuzz_pictures.LEFT_OUT


def public_names() -> Iterator[tuple[str, ...]]:
    """Of every public object all names, such as ("Torus", "problems.Torus")."""
    rooms = [stfem.__name__] + [m.name for m in pkgutil.iter_modules(stfem.__path__, "stfem.") if m.ispkg]
    found: dict[int, list[str]] = {}
    for room in (*rooms, "stfem.testing"):
        module = importlib.import_module(room)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                found.setdefault(id(thing), []).append(f"{room}.{name}".removeprefix("stfem."))
    yield from map(tuple, found.values())
