"""The ``stfem`` command."""

from __future__ import annotations

import argparse
import codecs
import inspect
import io
import os
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stfem import __version__
from stfem.adaptivity import ToleranceError
from stfem.adaptivity.certifying import certify
from stfem.demo import FILES, QUICK, DemoParameters, run_demo
from stfem.estimators import Estimate, MeshEstimator
from stfem.failures import SolverError
from stfem.plotting import PICTURE_ENDINGS
from stfem.problems import BOUNDED, CATALOGUE, STATIONARY, Domain, Problem, StationaryProblem
from stfem.solving import estimate
from stfem.stationary import solve_stationary

#: Everything that can be certified by name.
_PROBLEMS: dict[str, Callable[..., Problem | StationaryProblem]] = {**CATALOGUE, **BOUNDED, **STATIONARY}
#: Cells per direction, degree and diffusion where nothing is said.
_CELLS, _DEGREE, _EPS = 16, 2, 1e-3
#: What a terminal that knows fewer characters shows in their place; letters of Greek appear by their names.
_ASCII = {
    "‖": "||",
    "û": "u_hat",
    "−": "-",
    "–": "-",
    "·": ".",
    "…": "...",
    "∇": "grad",
    "√": "sqrt",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "∞": "inf",
    "∂": "d",
    "∫": "int",
    "×": "x",
    "²": "^2",
    "½": "1/2",
    "ε": "eps",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (2 for arguments that do not fit, 1 for a run that failed)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="stfem.readable")
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        result: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has gone; what is still buffered goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError) as error:
        print(f"stfem: {error}", file=sys.stderr)
        return 2
    except (SolverError, ToleranceError, OSError) as error:
        print(f"stfem: {error}", file=sys.stderr)
        return 1
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stfem", description="Guaranteed error bounds for convection–diffusion problems."
    )
    parser.add_argument("--version", action="version", version=f"stfem {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="certify one problem for diffusions from 1 down to 0")
    demo.add_argument("--quick", action="store_true", help="a coarser problem and fewer diffusions")
    demo.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="folder for the JSON file and the picture"
    )
    demo.set_defaults(run=_demo)

    one = commands.add_parser("certify", help="solve a problem of the catalogue and bound its error")
    one.add_argument("problem", metavar="PROBLEM", help="a name that `stfem problems` lists")
    one.add_argument(
        "--eps", type=float, help=f"diffusion, default {_EPS:g}, without time that of the problem"
    )
    one.add_argument("--dim", type=int, help="space dimension, default that of the problem")
    one.add_argument("--cells", type=int, help=f"cells per direction, default {_CELLS}")
    one.add_argument("--degree", type=int, help=f"polynomial degree, default {_DEGREE}")
    one.add_argument(
        "--tol", type=float, help="in place of cells and degree: what the bound is to be at most"
    )
    one.add_argument("--norm", choices=("l2", "energy", "l1"), help="norm of the tolerance, default l2")
    one.add_argument("--max-dofs", type=int, metavar="N", help="largest number of unknowns for the tolerance")
    one.add_argument("--max-seconds", type=float, metavar="S", help="longest time for the tolerance")
    one.add_argument(
        "--unproved", action="store_true", default=None, help="let bounds do that are not guaranteed"
    )
    one.add_argument("--final-time", type=float, metavar="T", help="default that of the problem")
    one.add_argument(
        "--growth", type=float, metavar="RATE", help="sup(−∇·b − 2c) where the coefficients vary"
    )
    one.add_argument("--json", type=Path, metavar="FILE", help="write the estimate as JSON")
    one.add_argument(
        "--plot", type=Path, metavar="FILE", help="write a picture of where the bound comes from"
    )
    one.add_argument("--progress", action="store_true", help="show a progress bar")
    one.set_defaults(run=_certify)

    listing = commands.add_parser("problems", help="list the catalogue")
    listing.set_defaults(run=_problems)
    return parser


def _demo(options: argparse.Namespace) -> int:
    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--output: expected a folder, got {options.output} ({error.strerror})") from None
    for name in FILES:
        _check_file("--output", options.output / name)
    run_demo(QUICK if options.quick else DemoParameters(), options.output, print)
    return 0


def _certify(options: argparse.Namespace) -> int:
    if options.problem not in _PROBLEMS:
        raise ValueError(f"problem: expected one of {', '.join(_PROBLEMS)}, got {options.problem!r}")
    factory = _PROBLEMS[options.problem]
    eps = _EPS if options.eps is None and options.problem not in STATIONARY else options.eps
    given = {"dim": options.dim, "eps": eps, "final_time": options.final_time}
    chosen = {name: value for name, value in given.items() if value is not None}
    accepted = inspect.signature(factory).parameters
    for name in chosen:
        if name not in accepted:
            raise ValueError(
                f"--{name}: expected only {', '.join(accepted)}, since {options.problem} has no {name}, "
                f"got {name} {chosen[name]}"
            )
    for name, path in (("--json", options.json), ("--plot", options.plot)):
        if path is not None:
            _check_file(name, path)
    if options.plot is not None and options.plot.suffix.lower() not in PICTURE_ENDINGS:
        endings = ", ".join(PICTURE_ENDINGS)
        raise ValueError(f"--plot: expected a file that ends in one of {endings}, got {options.plot}")
    if options.plot is not None and options.plot == options.json:
        raise ValueError(f"--plot: expected another file than --json, got {options.plot}")
    result = _certified(factory(**chosen), options)
    print(result)
    if options.json is not None:
        result.to_json(options.json)
    if options.plot is not None:
        result.plot(options.plot)
    return 0


def _certified(problem: Problem | StationaryProblem, options: argparse.Namespace) -> Estimate:
    """The estimate, after a line about the solution."""
    estimator = None if options.growth is None else MeshEstimator(growth=options.growth)
    limits = {name: getattr(options, name) for name in ("norm", "max_dofs", "max_seconds", "unproved")}
    if options.tol is not None:
        return _within_tolerance(problem, estimator, limits, options)
    for name, value in limits.items():
        if value is not None:
            raise ValueError(f"--{name.replace('_', '-')}: expected only with --tol, got {value}")
    cells, degree = options.cells, _DEGREE if options.degree is None else options.degree
    if isinstance(problem.domain, Domain):
        if cells is not None:
            raise ValueError(f"--cells: expected none, since {options.problem} has its mesh, got {cells}")
    else:
        cells = _CELLS if cells is None else cells
    if isinstance(problem, StationaryProblem):
        if options.plot is not None:
            raise ValueError(f"--plot: expected none for a problem without time, got {options.plot}")
        solution = solve_stationary(problem, cells=cells, degree=degree)
        print(f"{options.problem}, {solution}")
        return estimate(solution, estimator)
    result = certify(problem, cells=cells, degree=degree, estimator=estimator, progress=options.progress)
    print(f"{options.problem}, {result.solution}")
    return result


def _within_tolerance(
    problem: Problem | StationaryProblem,
    estimator: MeshEstimator | None,
    limits: dict[str, Any],
    options: argparse.Namespace,
) -> Estimate:
    """The estimate, after the runs that led to it; those and the best one too where none was good enough."""
    for name in ("cells", "degree"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name}: expected none beside --tol, got {getattr(options, name)}")
    if not isinstance(problem, Problem) or isinstance(problem.domain, Domain):
        raise ValueError(
            f"--tol: expected a problem with time on a Torus or Box, got {options.problem}; give --degree"
        )
    try:
        result = certify(problem, tol=options.tol, estimator=estimator, progress=options.progress, **limits)
    except ToleranceError as error:
        print(error.search)
        if error.certificate is not None:
            print(error.certificate)
        raise
    print(f"{options.problem}, {result.solution}\n{result.search}")
    return result


def _check_file(option: str, path: Path) -> None:
    """Raise ValueError unless a file can be written there: better now than after the run."""
    if path.is_dir():
        raise ValueError(f"{option}: expected a file, got the folder {path}")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: expected a file in an existing folder, got {path}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option}: expected a place that may be written to, got {path}")


def _problems(options: argparse.Namespace) -> int:
    width = max(map(len, _PROBLEMS))
    for name, factory in _PROBLEMS.items():
        lines = (inspect.getdoc(factory) or "").splitlines()
        print(f"{name:{width}}  {lines[0] if lines else ''}")
    return 0


def _readable(error: UnicodeError) -> tuple[str, int]:
    """Handler of characters that the encoding of a stream does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(character: str) -> str:
    name = unicodedata.name(character, "")
    if unicodedata.combining(character):  # a sign on the letter before
        return ""
    if character in _ASCII:
        return _ASCII[character]
    if name.startswith("GREEK"):
        return name.split()[-1].lower()
    return unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode() or "?"


codecs.register_error("stfem.readable", _readable)


if __name__ == "__main__":
    sys.exit(main())
