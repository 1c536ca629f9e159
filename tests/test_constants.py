"""Every number that the library has a name for is explained on the page about constants, and no other."""

import ast
import importlib
import re
from numbers import Number
from pathlib import Path

import numpy as np
import pytest

from stfem.spaces.interval import interior_penalty

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "constants.md").read_text(encoding="utf-8")
#: Rooms that compute nothing themselves.
OUTSIDE = {"cli", "demo", "io", "plotting", "studies"}


def module_names() -> list[str]:
    paths = sorted((ROOT / "stfem").rglob("*.py"))
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in paths]
    return [".".join(part) for part in parts if part[1] not in OUTSIDE and part[-1] != "__main__"]


def assigned_names(tree: ast.Module) -> list[str]:
    """Capital names that are assigned at the top of a module."""
    targets = [
        node.targets if isinstance(node, ast.Assign) else [node.target]
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
    ]
    flat = [t for group in targets for target in group for t in getattr(target, "elts", [target])]
    return [t.id for t in flat if isinstance(t, ast.Name) and len(t.id) > 1 and t.id.isupper()]


def is_numeric(value: object) -> bool:
    entries = value if isinstance(value, tuple) else (value,)
    return all(isinstance(entry, (Number, np.ndarray)) for entry in entries)


def constants(name: str) -> list[str]:
    module = importlib.import_module(name)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    found = [n for n in assigned_names(tree) if is_numeric(getattr(module, n))]
    return [f"{name.removeprefix('stfem.')}.{n}" for n in found]


def is_private(entry: str) -> bool:
    return entry.rpartition(".")[2].startswith("_")


@pytest.mark.parametrize("name", module_names())
def test_constants_are_explained(name):
    """Those of one module only, whose names start with an underscore, may go without."""
    missing = [n for n in constants(name) if not is_private(n) and f"{{constant}}`{n}`" not in PAGE]
    assert missing == []


def test_no_constant_of_the_page_is_gone():
    named = re.findall(r"\{constant\}`([^`]+)`", PAGE)
    here = {entry for name in module_names() for entry in constants(name)}
    assert len(named) > 50
    assert sorted(set(named) - here) == []
    assert len(named) == len(set(named))


def test_the_check_notices():
    tree = ast.parse("LIMIT = 1\nA, B2 = 3, 4\nlower = 2\nSIZES: tuple = (1, 2)\n")
    assert assigned_names(tree) == ["LIMIT", "B2", "SIZES"]
    assert is_numeric((1, 2.0))
    assert not is_numeric({"a": 1})


@pytest.mark.parametrize("degree", range(1, 6))
def test_least_penalty(degree):
    """(C12): the interior penalty form is stable from q(q+1)/2 on, and not for one per cent less."""
    least = 0.5 * degree * (degree + 1)
    growth = [
        np.linalg.eigvals(interior_penalty(degree, share * least).symbol(64)).real.max()
        for share in (1.0, 0.99)
    ]
    assert growth[0] < 1e-10 < 0.1 < growth[1]
