"""What a record of numbers depends on."""

from __future__ import annotations

import json
import platform
import subprocess
import tomllib
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy
import scipy

_PACKAGE = Path(__file__).resolve().parent
_TREE = _PACKAGE.parent


def installed_version() -> str:
    """Version that the installation of stfem declares."""
    try:
        return distribution("stfem").version
    except PackageNotFoundError:  # a source tree that is not installed
        return "0+unknown"


def version(code: Sequence[str] = ("stfem",)) -> str:
    """Version of stfem with its commit, where that is known: from a git tree, or an installation from one.

    Parameters
    ----------
    code
        Paths of the tree, as git takes them; where they differ from the commit, it is marked as ``dirty``.
    """
    if not (_TREE / "pyproject.toml").is_file():
        return installed_version() + _installed_commit()
    declared: str = tomllib.loads((_TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    if not (_TREE / ".git").exists():
        return declared
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--", *code)
    except (OSError, subprocess.CalledProcessError):  # no git, or no commit
        return declared
    return f"{declared}+g{commit}{'.dirty' if changed else ''}"


def versions() -> dict[str, str]:
    """Versions of stfem and of what it computes with, and the kind of machine."""
    return {
        "stfem": installed_version(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
    }


@cache
def code_digest() -> str:
    """Digest of the source files of stfem: the same code in every tree and installation, with any version."""
    digest = sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(_TREE), "-c", f"safe.directory={_TREE}", *arguments],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def _installed_commit() -> str:
    """Commit that pip has installed from, "" where it was no repository."""
    try:
        record = json.loads(distribution("stfem").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return ""
    commit = record.get("vcs_info", {}).get("commit_id", "")
    return f"+g{commit[:7]}" if commit else ""
