"""Configuration of the documentation (Sphinx)."""

import os
import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_extensions"))
os.environ.setdefault("MPLBACKEND", "agg")  # examples draw without a display

metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
project = metadata["name"]
release = version = metadata["version"]
author = "stfem developers"
copyright = f"2026, {author}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas need no network, neither here nor in the browser
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "matplotlib.sphinxext.plot_directive",
    "labels",
    "complete",
    "constants",
    "exported",
]
autosummary_generate = False  # numpydoc loads it, nothing here uses it
autodoc_typehints = "none"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_extensions", "pictures", "gallery/*.ipynb", "gallery/*.py"]
myst_enable_extensions = ["dollarmath", "amsmath", "substitution", "deflist"]
myst_heading_anchors = 3
math_numfig = False
smartquotes = False  # primes in formulas are no quotation marks
html_theme = "pydata_sphinx_theme"
html_title = "stfem"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}
html_sidebars = {"*": []}  # pages of their own have no section to navigate
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_copy_source = False
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("figures.scraper", "matplotlib"),
    "capture_repr": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 5,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
}
plot_formats = [("png", 130)]
plot_html_show_formats = plot_html_show_source_link = False
plot_rcparams = {"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3}
plot_apply_rcparams = True
linkcheck_anchors = False


def _table(name: str) -> str:
    """What ``{{ name }}`` in a page stands for: the tables results/name*.md that the benchmarks have written.

    No number of this documentation is typed by hand.
    """
    found = sorted((ROOT / "benchmarks" / "results").glob(f"{name}*.md"))
    texts = [path.read_text(encoding="utf-8").strip() for path in found if not path.stem.endswith("_quick")]
    return (
        "\n\n".join(texts) or "*No results yet: run the command above, then build the documentation again.*"
    )


def _demo_picture() -> str:
    """Picture that `stfem demo` has written, where it has."""
    if not (HERE / "images" / "demo.png").exists():
        return ""
    return "![Effectivity against the diffusion, split and unsplit](images/demo.png)"


_pages = [path.read_text(encoding="utf-8") for path in HERE.glob("*.md")]
_asked_for = {name for page in _pages for name in re.findall(r"\{\{ (\w+) \}\}", page)}
myst_substitutions = {name: _table(name) for name in _asked_for} | {"demo_picture": _demo_picture()}


def _escape_formulas(app, what, name, obj, options, lines: list[str]) -> None:
    """Bars and stars in docstrings are parts of formulas, not markup, except in ``code``."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`+[^`]*`+)", line)  # every second one is code
        parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app) -> None:
    """Before numpydoc, which makes markup of its own."""
    app.connect("autodoc-process-docstring", _escape_formulas, priority=100)
