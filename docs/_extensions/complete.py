"""The reference is complete: every public name of the package is on one of its pages."""

import importlib
import inspect
from collections.abc import Iterator

from sphinx.util import logging

import stfem

logger = logging.getLogger(__name__)


def public_names() -> Iterator[tuple[str, object]]:
    """Full name and object of what stfem and its public rooms export, rooms themselves left out."""
    rooms = [stfem, *(value for value in vars(stfem).values() if inspect.ismodule(value))]
    rooms += [importlib.import_module(f"stfem.{name}") for name in ("testing",)]
    for room in rooms:
        if room is not stfem and not room.__name__.startswith("stfem."):
            continue
        for name in getattr(room, "__all__", ()):
            value = getattr(room, name)
            if not inspect.ismodule(value):
                yield f"{room.__name__}.{name}", value


def missing(documented: set[str]) -> list[str]:
    """Public names whose object is documented under no name."""
    known = [entry for entry in map(_found, documented) if entry is not None]
    return sorted(
        name
        for name, value in public_names()
        if name not in documented and not any(value is k for k in known)
    )


def _found(name: str) -> object | None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        try:
            for part in parts[length:]:
                value = getattr(value, part)
        except AttributeError:
            return None
        return value
    return None


def check(app, env) -> None:
    """Warn about every public name without documentation."""
    for name in missing(set(env.domaindata["py"]["objects"])):
        logger.warning("%s is public and documented nowhere", name)


def setup(app) -> dict[str, object]:
    app.connect("env-check-consistency", check)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
