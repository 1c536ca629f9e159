"""What a record of numbers depends on."""

from __future__ import annotations

import platform

import numpy
import scipy

from stfem import __version__


def versions() -> dict[str, str]:
    """Versions of stfem and of what it computes with, and the kind of machine."""
    return {
        "stfem": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
    }
