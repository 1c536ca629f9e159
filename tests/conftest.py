"""Settings of the whole test suite.

The environment is set before anything imports numpy: the test processes share the machine's cores, and a
threaded BLAS on small matrices would only make them wait for each other.
"""

import os
import signal

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")  # no display is needed

import pytest  # noqa: E402  (after the environment)
from hypothesis import settings  # noqa: E402

# Deadlines measure the machine, not the code; on CI the examples are the same in every run.
settings.register_profile("stfem", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("stfem")


@pytest.fixture(autouse=True)
def keyboard():
    """As in a shell: programs in the background ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
