"""The programs of the gallery run as they are printed there; what they claim they check themselves."""

import ast
import runpy
from pathlib import Path

import pytest
from matplotlib import pyplot

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # some write files
    monkeypatch.setattr(pyplot, "show", lambda: None)
    pyplot.switch_backend("agg")
    try:
        runpy.run_path(str(path))
    finally:
        pyplot.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_explains_and_checks(path):
    """A title and text on top, and at least one claim that can fail."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title, rule, *text = (ast.get_docstring(tree) or "").splitlines()
    assert set(rule) == {"="}
    assert len(rule) >= len(title)
    assert any(line.strip() for line in text)
    assert all(char.isprintable() for line in text for char in line)  # \\t of \\tau would be a tab
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
