"""The checks that the build of the documentation makes do notice what they are for."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def load(path: str):
    spec = importlib.util.spec_from_file_location(Path(path).stem, DOCS / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_to_nowhere_are_found(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "index.html").write_text('<p id="top"><a href="deep/page.html#here">x</a><img src="no.png">')
    (tmp_path / "deep" / "page.html").write_text(
        '<a name="here" href="../index.html#top">y</a><a href="#gone">z</a><a href="https://a.org/no">w</a>'
    )
    assert load("check_links.py").broken_links(tmp_path) == [
        "deep/page.html: #gone has no such anchor",
        "index.html: no.png does not exist",
    ]


def test_missing_names_are_found():
    pytest.importorskip("sphinx")
    complete = load("_extensions/complete.py")
    names = {name for name, _ in complete.public_names()}
    assert {"stfem.certify", "stfem.data.sine", "stfem.testing.guarantee_cases"} <= names
    assert complete.missing(names) == []
    left_out = complete.missing(names - {"stfem.data.sine"})
    assert left_out == ["stfem.data.sine"]
    # documented under another name counts
    assert complete.missing((names - {"stfem.Siac"}) | {"stfem.reconstruction.siac.Siac"}) == []


def test_labels():
    pytest.importorskip("sphinx")
    labels = load("_extensions/labels.py")
    assert labels.MENTION.findall("by (T4.2') and T2.0a, T3.1–T3.5 (C11), not ST4.2, T4.2x or T") == [
        "T4.2'",
        "T2.0a",
        "T3.1",
        "T3.5",
        "C11",
    ]
    assert labels.TAG.findall(r"x \tag{T2.0b} y \tag{N3}") == ["T2.0b", "N3"]
    assert labels.anchor("T4.2'") == "eq-T4-2p"


def test_labels_in_the_code_exist():
    """Docstrings are checked by the build; comments and the code outside the package here."""
    pytest.importorskip("sphinx")
    labels = load("_extensions/labels.py")
    pages = [(DOCS / name).read_text(encoding="utf-8") for name in ("theory.md", "constants.md")]
    headings = [line.lstrip("# ") for page in pages for line in page.splitlines() if line.startswith("#")]
    known = {label for page in pages for label in labels.TAG.findall(page)}
    known |= {label for heading in headings for match in labels.HEADING.findall(heading) for label in match}
    sources = [path for room in ("stfem", "benchmarks") for path in (DOCS.parent / room).rglob("*.py")]
    cited = {label for path in sources for label in labels.MENTION.findall(path.read_text(encoding="utf-8"))}
    assert len(cited) > 15
    assert sorted(cited - known) == []


def test_values_of_constants():
    pytest.importorskip("docutils")
    shown = load("_extensions/constants.py").shown
    assert [shown(value) for value in (0.3, 2.0**-53, 1 << 18, 64, (0.0, 0.25), 1e-145)] == [
        "0.3",
        "2⁻⁵³",
        "2¹⁸",
        "64",
        "0, 0.25",
        "1e-145",
    ]
