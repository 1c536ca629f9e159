"""The reference is complete: every public name of the package is on one of its pages."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

from sphinx.util import logging

import stfem

logger = logging.getLogger(__name__)


def public_names() -> Iterator[tuple[str, object]]:
    """Full name and object of what stfem and its rooms export; rooms themselves are left out."""
    rooms = [stfem]
    rooms += [
        importlib.import_module(f"stfem.{room.name}")
        for room in pkgutil.iter_modules(stfem.__path__)
        if room.name != "__main__"
    ]
    for room in rooms:
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
        if name not in documented and not any(value is entry for entry in known)
    )


def _found(name: str) -> object | None:
    """The object of a full name, None where there is none any more."""
    try:
        return pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return None


def check(app, env) -> None:
    """Warn about every public name without documentation."""
    for name in missing(set(env.domaindata["py"]["objects"])):
        logger.warning("%s is public and documented nowhere", name)


def setup(app) -> dict[str, object]:
    app.connect("env-check-consistency", check)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
