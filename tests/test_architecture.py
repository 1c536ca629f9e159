"""The order of the package: who may import whom, and a few things that belong in one place only."""

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A room of the package (a folder, or a module where the folder is too coarse) and the rooms directly before
# it; what those may import is allowed as well. The way of the data: everything points to earlier steps.
MAY_IMPORT = {
    "checks": (),  # of what is passed
    "spaces.legendre": ("checks",),  # polynomials of one variable; data are expanded in them
    "failures": (),
    "determinism": (),
    "meshes": ("checks",),
    "data": ("meshes", "spaces.legendre"),
    "spaces": ("meshes", "spaces.legendre"),
    "equations": ("data",),
    "problems": ("equations", "meshes"),
    "fluxes": ("equations", "spaces"),
    "semidiscretization": ("problems", "fluxes", "spaces", "failures"),
    "resumable": (),
    "timestepping": ("semidiscretization", "resumable"),
    "reconstruction": ("timestepping", "arguments"),
    "residual": ("reconstruction",),
    "estimators": ("residual",),
    "solution": ("reconstruction",),
    "stationary": ("estimators", "determinism"),
    "running": ("solution",),
    "arguments": ("semidiscretization",),
    "checkpoints": ("running", "estimators", "arguments"),
    "certificates": ("checkpoints",),
    "solving": ("certificates", "stationary", "arguments"),
    "amplification": ("solution", "determinism"),
    "adaptivity": ("solving",),
    "provenance": (),
    "studies": ("solving", "adaptivity", "provenance"),
    "io": ("solving", "adaptivity", "studies", "provenance"),
    "testing": ("solving",),
    "plotting": ("io",),
    "": ("plotting", "testing", "amplification", "adaptivity"),  # stfem/__init__.py, the public names
    "demo": ("", "plotting", "provenance"),
    "cli": ("demo",),
    "__main__": ("cli",),
}
DEFERRED = {"plotting", "io"}  # results have plot() and save() that import these only when called
DISTRIBUTIONS = {"skfem": "scikit-fem"}  # where the name of the package on PyPI differs
MAX_LINES = 350


@dataclass(frozen=True)
class Import:
    """One imported module, as `name`; `deferred` when in a function or for types only."""

    importer: str
    name: str
    line: int
    deferred: bool


def module_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_for_types(node: ast.AST) -> bool:
    """Whether a node is `if TYPE_CHECKING:`, which never runs."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports_of(path: Path, package: Path, modules: set[str]) -> Iterator[Import]:
    importer = module_name(path, package)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    late = [node for node in ast.walk(tree) if isinstance(node, functions) or is_for_types(node)]
    inside = {id(node) for scope in late for node in ast.walk(scope)}
    parents = importer.split(".") if path.stem == "__init__" else importer.split(".")[:-1]
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            submodules = [f"{source}.{alias.name}" for alias in node.names]
            names = [sub if sub in modules else source for sub in submodules]
        for name in dict.fromkeys(names):
            yield Import(importer, name, getattr(node, "lineno", 0), id(node) in inside)


def room(module: str, package: str) -> str:
    """The most specific room of `MAY_IMPORT` that holds a module, else its first folder or module name."""
    inner = module.removeprefix(package).removeprefix(".")
    candidates = [name for name in MAY_IMPORT if name and (inner == name or inner.startswith(name + "."))]
    return max(candidates, key=len, default=inner.split(".")[0])


def allowed(name: str) -> set[str]:
    direct = set(MAY_IMPORT[name])
    return direct.union(*(allowed(other) for other in direct))


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Closed walks found by depth-first search; empty exactly when the graph has no cycle."""
    found: list[list[str]] = []
    finished: set[str] = set()

    def visit(node: str, path: list[str]) -> None:
        if node in path:
            found.append([*path[path.index(node) :], node])
        elif node not in finished:
            for successor in sorted(graph.get(node, ())):
                visit(successor, [*path, node])
            finished.add(node)

    for start in sorted(graph):
        visit(start, [])
    return found


def executed_by(entry: Import) -> set[str]:
    """Importing a.b.c also runs a and a.b, unless the importer lies inside them: then they run already."""
    parts = entry.name.split(".")
    prefixes = {".".join(parts[:i]) for i in range(1, len(parts))}
    return {entry.name} | {p for p in prefixes if not (entry.importer + ".").startswith(p + ".")}


def uses_roll(path: Path) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr == "roll":
            yield node.lineno
        if isinstance(node, ast.ImportFrom) and node.module == "numpy":
            yield from (node.lineno for alias in node.names if alias.name == "roll")


def violations(package: Path, dependencies: set[str]) -> list[str]:
    """Everything in a source tree that breaks the order, one sentence each."""
    paths = sorted(package.rglob("*.py"))
    modules = {module_name(path, package) for path in paths}
    root = package.name
    graph: dict[str, set[str]] = {}
    found: list[str] = []
    for path in paths:
        module, place = module_name(path, package), room(module_name(path, package), root)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_LINES:
            found.append(f"{module}: {lines} lines, expected at most {MAX_LINES}")
        if place != "meshes":
            found += [f"{module}:{line}: np.roll outside meshes" for line in uses_roll(path)]
        if place not in MAY_IMPORT:
            found.append(f"{module}: no place in MAY_IMPORT")
            continue
        for entry in imports_of(path, package, modules):
            where, top = f"{module}:{entry.line}", entry.name.split(".")[0]
            if top == root:
                target = room(entry.name, root)
                late = entry.deferred and target in DEFERRED
                if not (late or target == place or target in allowed(place)):
                    found.append(f"{where}: {place or root} must not import {target or root}")
                if not entry.deferred:
                    graph.setdefault(module, set()).update(executed_by(entry) & modules)
            elif top == "matplotlib" and place != "plotting":
                found.append(f"{where}: matplotlib outside plotting")
            elif top not in sys.stdlib_module_names and DISTRIBUTIONS.get(top, top) not in dependencies:
                found.append(f"{where}: {top} is no declared dependency")
    found += ["cycle " + " -> ".join(cycle) for cycle in cycles(graph)]
    return found


def declared_dependencies() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {requirement.split(">")[0].strip() for requirement in project["dependencies"]}


def test_order_has_no_contradiction() -> None:
    assert cycles({name: set(before) for name, before in MAY_IMPORT.items()}) == []


def test_package_obeys_the_order() -> None:
    package = ROOT / "stfem"
    assert (package / "__init__.py").exists()  # an empty tree would obey everything
    assert violations(package, declared_dependencies()) == []


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("meshes/a.py", "from stfem.equations import b\n", "meshes must not import equations"),
        ("meshes/a.py", "from ..equations import b\n", "meshes must not import equations"),
        ("meshes/a.py", "from .. import equations\n", "meshes must not import equations"),
        ("meshes/a.py", "import stfem.equations.b\n", "meshes must not import equations"),
        ("meshes/a.py", "import stfem\n", "meshes must not import stfem"),
        ("meshes/a.py", "def f():\n    import stfem.equations\n", "meshes must not import equations"),
        ("data/a.py", "from stfem.spaces import c\n", "data must not import spaces"),
        ("spaces/a.py", "from stfem.equations import b\n", "spaces must not import equations"),
        ("equations/a.py", "from stfem import plotting\n", "equations must not import plotting"),
        ("equations/a.py", "def plot():\n    import matplotlib.pyplot\n", "matplotlib outside plotting"),
        ("equations/a.py", "from matplotlib import pyplot\n", "matplotlib outside plotting"),
        ("equations/a.py", "import pandas\n", "pandas is no declared dependency"),
        ("equations/a.py", "from .b import f\nfrom . import b\n", "cycle"),
        ("equations/a.py", "x = 0\n" * 351, "351 lines"),
        ("equations/a.py", "import numpy as np\ny = np.roll([1], 1)\n", "np.roll outside meshes"),
        ("equations/a.py", "from numpy import roll\n", "np.roll outside meshes"),
        ("helpers/a.py", "x = 0\n", "no place in MAY_IMPORT"),
    ],
)
def test_an_offence_is_reported(tmp_path: Path, file: str, source: str, complaint: str) -> None:
    package = tmp_path / "stfem"
    good = {
        "__init__.py": "from .equations import b\n",
        "meshes/__init__.py": "from numpy import roll\n",
        "spaces/__init__.py": "",
        "spaces/legendre.py": "import numpy\n",
        "spaces/c.py": "from .legendre import numpy\n",
        "data/__init__.py": "from stfem.spaces.legendre import numpy\n",
        "equations/__init__.py": "",
        "equations/b.py": "from stfem.meshes import roll\n\ndef plot():\n    from stfem import plotting\n",
        "plotting.py": "from matplotlib import pyplot\n",
    }
    if complaint == "cycle":
        good["equations/b.py"] = "from stfem.equations import a\n"
    for name, text in good.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    dependencies = {"numpy", "matplotlib"}
    assert violations(package, dependencies) == []
    (package / file).parent.mkdir(parents=True, exist_ok=True)
    (package / file).write_text(source, encoding="utf-8")
    found = violations(package, dependencies)
    assert found, "not reported"
    assert all(complaint in sentence for sentence in found)


def modules_loaded_by(code: str) -> set[str]:
    program = f"import sys; {code}; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_import_loads_no_matplotlib() -> None:
    assert "matplotlib" in modules_loaded_by("import stfem.plotting")  # the check can see it
    loaded = modules_loaded_by("import stfem")
    assert "stfem" in loaded
    assert "matplotlib" not in loaded
