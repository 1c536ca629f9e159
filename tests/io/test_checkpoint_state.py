"""Nothing that a run learns is left out of its past: all attributes that change are looked at."""

import collections
import itertools
import types
import weakref

import numpy as np
import pytest
from test_checkpoint_resume import CASES

import stfem
from stfem.reconstruction import Stencils
from stfem.resumable import Resumable
from stfem.running import Interruption, Recorder
from stfem.solving import _prepare, _run, chosen_estimator

#: What changes and is made again from the rest: class, attribute, and why it is the same then.
CACHES = {
    ("QuadraticSplit", "_facts"): "of the nodes, evaluated again with the modes and points that are kept",
    ("QuadraticSplit", "_highest"): "derivatives of the source",
    ("NodeForm", "_entries"): "of the nodes, with the modes that are kept",
    ("NodeForm", "_products"): "of entries",
    ("SpectralForm", "_coefficients"): "of entries",
    ("SpectralForm", "_products"): "of coefficients",
    ("SpectralForm", "_kept"): "the modes of the form, by which it sees that they have changed",
    ("ResidualSplit", "_known"): "terms of the nodes",
    ("GrowthDissipation", "_eigen"): "of its matrix",
    ("GrowthDissipation", "rates"): "of its matrix",
    ("SplitRun", "last"): "after the last slab there is no past to go on from",
    ("_DualRun", "last"): "likewise",
    ("_Run", "last"): "likewise",
    ("MeshPass", "last"): "likewise",
    ("ModalTerms", "_duration"): "of the slab that is measured",
    ("BoundTwoStage", "_system"): "of the mesh and steady coefficients, or of the node",
    ("BoundTwoStageMixed", "_kept"): "likewise",
    ("RelaxedFlux", "_kept_flow"): "of coefficients",
    ("FixedInTime", "_kept"): "of coefficients",
}
#: Saved by the run that has them, in a way of their own.
SAVED = {
    *(("SplitRun", name) for name in ("initial", "bound", "time")),
    *(("_DualRun", name) for name in ("initial", "bound", "time")),
    *((kind, "time") for kind in ("_Run", "MeshRun")),
    *(("MeshPass", name) for name in ("state", "switched")),
    *(("Stencils", name) for name in ("window", "behind", "_ended", "_stream")),
}
#: Where estimates are made. The scheme has workspaces that change with every call, and no past (T1.2).
ROOMS = [["stfem", room] for room in ("problems", "reconstruction", "residual", "estimators")]
PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)


def print_of(value, seen, changes):
    """A fingerprint of a value; attributes of objects go to `changes` one by one."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        return type(value).__name__, tuple(print_of(entry, seen, changes) for entry in value)
    if isinstance(value, (weakref.WeakKeyDictionary, types.GeneratorType, map, itertools.chain)):
        return type(value).__name__, len(value) if isinstance(value, weakref.WeakKeyDictionary) else 0
    if isinstance(value, dict):
        return tuple((print_of(k, seen, changes), print_of(v, seen, changes)) for k, v in value.items())
    if type(value).__module__.split(".")[:2] not in ROOMS:
        return type(value).__name__
    if id(value) in seen:
        return type(value).__name__
    seen.add(id(value))
    for name, entry in getattr(value, "__dict__", {}).items():
        changes[id(value), name] = (type(value), print_of(entry, seen, changes))
    return type(value).__name__


def belongs_to_a_slab(kind):
    """Nodes and what was made of them: their past is that of the window."""
    return kind.__name__ in {
        "NodeReconstruction",
        "MeshNode",
        "Node",
        "MeshSlab",
        "NodeStream",
        "Integration",
    }


def known(kind, name):
    return any(
        (base.__name__, name) in CACHES
        or (base.__name__, name) in SAVED
        or (issubclass(base, Resumable) and name in base.PAST)
        for base in kind.__mro__
    )


def learnt(problem, options):
    """Attributes that change from slab to slab beside those that the past has."""
    options = dict(options)
    estimator = chosen_estimator(options.pop("estimator", None), problem)
    rule = getattr(estimator, "reconstruction", True)
    arguments = dict.fromkeys(("cells", "degree", "dt", "cfl", "stepper", "step_control")) | options
    solution = _prepare(problem, *arguments.values(), stfem.fluxes.flux_rusanov, None, rule)
    nodes = iter(Recorder(_run(solution, arguments["step_control"], rule), False, Interruption()))
    run = estimator.begin(solution.semidiscretization, nodes, solution.stepper.order)
    found, before = set(), None
    while run.advance():
        now = {}
        print_of(run, set(), now)
        assert len(now) > 50  # it does see something
        for key, (kind, value) in now.items():
            if before is not None and key in before and before[key][1] != value:
                found.add((kind, key[1]))
        before = now
    return found


@pytest.mark.parametrize(
    "name",
    [
        "linear 2D",
        "Burgers 1D",
        "forced Burgers",
        "shallow water",
        "paper",
        "controlled",
        "switching",
        "front",
        "layer",
    ],
)
def test_all_that_changes_is_saved(name):
    changed = {(kind, entry) for kind, entry in learnt(*CASES[name]) if not belongs_to_a_slab(kind)}
    assert any(issubclass(kind, Resumable) and entry in kind.PAST for kind, entry in changed)
    missing = sorted(f"{kind.__name__}.{entry}" for kind, entry in changed if not known(kind, entry))
    assert missing == []


def test_an_attribute_left_out_is_found(monkeypatch):
    monkeypatch.setattr(stfem.estimators.errors.TrueError, "PAST", ("supremum", "gradient_sq", "_started"))
    changed = learnt(*CASES["linear 2D"])
    assert [entry for kind, entry in changed if kind.__name__ == "TrueError" and not known(kind, entry)] == [
        "final"
    ]
    assert Stencils not in {kind for kind, _ in changed if not known(kind, _)}
