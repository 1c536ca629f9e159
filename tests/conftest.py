"""Settings of the whole test suite.

The environment is set before anything imports numpy: the test processes share the machine's cores, and a
threaded BLAS on small matrices would only make them wait for each other.
"""

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")  # no display is needed

from hypothesis import settings  # noqa: E402  (after the environment)

# Deadlines measure the machine, not the code; on CI the examples are the same in every run.
settings.register_profile("stfem", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("stfem")
