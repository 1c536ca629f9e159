"""Configuration of the documentation (Sphinx)."""

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent

metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
project = metadata["name"]
release = version = metadata["version"]
author = "stfem developers"
copyright = f"2026, {author}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
]
autosummary_generate = False  # numpydoc loads it, nothing here uses it
autodoc_typehints = "none"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "amsmath", "substitution", "deflist"]
myst_heading_anchors = 3
math_numfig = False
smartquotes = False  # primes in formulas are no quotation marks
html_theme = "pydata_sphinx_theme"
html_title = "stfem"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}


def _tables(names: str, without: str = "") -> str:
    """Tables that the benchmarks have written; no number of this documentation is typed by hand."""
    found = sorted((ROOT / "benchmarks" / "results").glob(names))
    tables = [path for path in found if not (without and path.match(without))]
    if not tables:
        return "*No results yet: run the command above, then build the documentation again.*"
    return "\n\n".join(table.read_text(encoding="utf-8").strip() for table in tables)


def _demo_picture() -> str:
    """Picture that `stfem demo` has written, where it has."""
    if not (HERE / "images" / "demo.png").exists():
        return ""
    return "![Effectivity against the diffusion, split and unsplit](images/demo.png)"


myst_substitutions = {
    "benchmark_tables": _tables("*.md", without="performance_*.md"),
    "performance_rhs": _tables("performance_rhs*.md"),
    "performance_meshes": _tables("performance_meshes*.md"),
    "performance_steps": _tables("performance_steps*.md"),
    "performance_estimate_kernels": _tables("performance_estimate_kernels*.md"),
    "performance_estimate_runs": _tables("performance_estimate_runs*.md"),
    "performance_sharpness": _tables("performance_sharpness*.md"),
    "performance_choices": _tables("performance_choices*.md"),
    "performance_memory": _tables("performance_memory*.md"),
    "demo_picture": _demo_picture(),
}


def _escape_formulas(app, what, name, obj, options, lines: list[str]) -> None:
    """Bars and stars in docstrings are parts of formulas, not markup, except in ``code``."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`+[^`]*`+)", line)  # every second one is code
        parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app) -> None:
    """Before numpydoc, which makes markup of its own."""
    app.connect("autodoc-process-docstring", _escape_formulas, priority=100)
