"""Docstrings are whole sentences: no line break inside the first of them has become its end."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "stfem"
#: No sentence ends with these.
OPEN_ENDED = {"a", "an", "and", "its", "of", "or", "than", "the", "their", "with"}


def torn(docstring: str) -> bool:
    """Whether the first paragraph breaks off: after a word that asks for another, or inside brackets."""
    first = re.split(r"\n\s*\n", docstring)[0].strip()
    last = first.rstrip(".").split()[-1].lower()
    opened, closed = (sum(map(first.count, brackets)) for brackets in ("([", ")]"))
    return last in OPEN_ENDED or opened != closed


@pytest.mark.parametrize(
    "text", ["Modes of it and of its.\n\nDerivative.", "Sum gradient[c.\n\nI] u.", "The."]
)
def test_torn_sentences_are_seen(text):
    assert torn(text)
    assert not torn("Modes of it and of its derivative, in [0, 1].\n\nParameters")


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_torn_docstring(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            docstring = ast.get_docstring(node)
            assert docstring is None or not torn(docstring), docstring
