"""Every number that the library has a name for is explained on the page about constants, and no other."""

import ast
import importlib
import re
from numbers import Number
from pathlib import Path

import numpy as np
import pytest

from stfem.data import Interval
from stfem.equations import DiffusivePSystem, IsentropicEuler, SymmetricSystem
from stfem.equations.potential import PowerPotential
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


@pytest.mark.parametrize("full", [False, True])
def test_table_of_the_p_system(full):
    """(C7): the constants in the code are those of the page."""
    low, high = 0.8, 1.3
    entropy = DiffusivePSystem(0.1, 2, low, high, full).entropy
    convexity = 2.0 / high**3
    assert entropy.lower == pytest.approx(min(1.0, convexity))
    assert entropy.curved_lower == pytest.approx(convexity)
    assert entropy.dissipation == pytest.approx(min(1.0, convexity) if full else 1.0)
    assert entropy.flux_weight == pytest.approx(max(1.0, 2.0 * high**3 / low**6) if full else 1.0)
    assert entropy.third == pytest.approx(6.0 / low**4 if full else 0.0)
    assert entropy.fourth == pytest.approx(24.0 / low**5 if full else 0.0)


def test_table_of_gases():
    """(C14), from the formulas of the page; the maxima in T₃ and T₄ are those of the functions there."""
    low, high, speed, gamma, dim = 0.8, 1.3, 0.4, 1.4, 2
    entropy = IsentropicEuler(0.1, dim, low, high, speed, gamma).entropy
    fastest = np.sqrt(dim) * speed
    curvatures = [rho ** (gamma - 2.0) for rho in (low, high)]

    def form(rho, curvature):
        matrix = [[curvature + fastest**2 / rho, -fastest / rho], [-fastest / rho, 1.0 / rho]]
        return np.linalg.eigvalsh(matrix)

    assert entropy.lower == pytest.approx(form(high, min(curvatures))[0])
    top = form(low, max(curvatures))[1]
    mixed = 2.0 * fastest * np.sqrt(high / min(curvatures)) / low
    last = 4.0 * fastest**2 / (low * min(curvatures)) + max(curvatures) / min(curvatures)
    ratio = np.linalg.eigvalsh([[high / low, mixed], [mixed, last]])[1]
    assert entropy.flux_weight == pytest.approx(top * min(ratio, top / entropy.lower))
    r = np.linspace(0.0, 1.0, 10001)
    third = 3.0 * (np.sqrt((1.0 - r**2) * r).max() + fastest) ** 2 / low**2
    third += abs(gamma - 2.0) * low ** (gamma - 3.0)
    assert entropy.third == pytest.approx(third, rel=1e-6)
    fourth = 12.0 * (np.sqrt((1.0 - r**2) * r**2).max() + fastest) ** 2 / low**3
    fourth += abs((gamma - 2.0) * (gamma - 3.0)) * low ** (gamma - 4.0)
    assert entropy.fourth == pytest.approx(fourth, rel=1e-6)


def test_table_of_linear_systems():
    metric = np.array([[2.0, 0.5], [0.5, 1.0]])
    entropy = SymmetricSystem([np.zeros((2, 2))], 0.1, metric).entropy
    low, high = np.linalg.eigvalsh(metric)
    assert (entropy.lower, entropy.flux_weight) == pytest.approx((low, high))
    assert entropy.third == entropy.fourth == 0.0


@pytest.mark.parametrize("exponent", [-3.0, -1.0, -0.6, 0.0, 0.4, 1.0, 2.3])
def test_mean_curvature(exponent):
    """(C13), with a mean computed by quadrature; both bounds are sharp where the states meet."""
    potential = PowerPotential(1.7, exponent)
    t, w = np.polynomial.legendre.leggauss(60)
    t, w = 0.5 * (t + 1.0), 0.5 * w
    hat = np.linspace(0.6, 1.8, 25)
    found = potential.mean_curvature(Interval(hat, hat), 0.6, 1.8)
    for xi in np.linspace(0.6, 1.8, 25):
        states = hat[:, None] + t * (xi - hat)[:, None]
        omega = (2.0 * (1.0 - t) * w * potential.curvature(states)).sum(axis=1)
        gap = xi - hat
        relative = potential.value(xi) - potential.value(hat) - potential.slope(hat) * gap
        assert omega * gap**2 == pytest.approx(2.0 * relative, abs=1e-13)
        assert np.all(found.lower <= omega * (1.0 + 1e-12))
        assert np.all(omega <= found.upper * (1.0 + 1e-12))
    meeting = potential.mean_curvature(Interval(hat[:1], hat[:1]), 0.6, 0.6 + 1e-9)
    assert meeting.lower[0] == pytest.approx(meeting.upper[0], rel=1e-7)
