"""Constants that a room exports are documented by the comment above them, in the module that defines them."""

import importlib
import pkgutil

from sphinx.pycode import ModuleAnalyzer


def take_comment(app, what, name, obj, options, lines: list[str]) -> None:
    """Replace the docstring of the constant's class, which is what autodoc finds under the exported name."""
    if what != "data":
        return
    room, _, short = name.rpartition(".")
    for module in pkgutil.iter_modules(getattr(importlib.import_module(room), "__path__", ())):
        comments = ModuleAnalyzer.for_module(f"{room}.{module.name}").find_attr_docs()
        if ("", short) in comments:
            lines[:] = comments["", short]


def setup(app) -> dict[str, object]:
    app.connect("autodoc-process-docstring", take_comment, priority=50)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
