"""
Killed, and gone on
===================

A long run keeps its state in a file. However it is stopped, the same call goes on from there, to the same
bound, bit for bit.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import stfem

folder = tempfile.TemporaryDirectory()  # removed at the end
checkpoint = Path(folder.name) / "burgers"

# %%
# Another process certifies a wave of Burgers' equation; ``every=0`` writes after each slab, where 60 seconds
# are the default. It is killed as soon as there is a checkpoint.

program = """
import sys
import stfem
problem = stfem.problems.viscous_burgers(dim=1, eps=1e-2, final_time=0.4)
stfem.certify(problem, cells=24, degree=2, checkpoint=sys.argv[1], every=0.0)
"""
source = str(Path(stfem.__file__).parents[1])
environment = {**os.environ, "PYTHONPATH": source}
with subprocess.Popen([sys.executable, "-c", program, str(checkpoint)], env=environment) as process:
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.01)
    process.kill()
print("left behind:", sorted(path.name for path in checkpoint.parent.iterdir()))

# %%
# The same call goes on, here in this process.

problem = stfem.problems.viscous_burgers(dim=1, eps=1e-2, final_time=0.4)
resumed = stfem.certify(problem, cells=24, degree=2, checkpoint=checkpoint)
whole = stfem.certify(problem, cells=24, degree=2)
print(resumed)
assert resumed.bound == whole.bound
assert resumed.enclosure == whole.enclosure
assert (resumed.indicators_sq == whole.indicators_sq).all()
assert (resumed.solution.values == whole.solution.values).all()

# %%
# What differs is a sentence, never a wrong number: the file of another run is refused.

try:
    stfem.certify(problem, cells=32, degree=2, checkpoint=checkpoint)
except ValueError as error:
    refused = str(error).partition(": ")[2]
print(refused)
assert "cells: expected (24,), got (32,)" in refused

# %%
# A run that is done has left its result, which the same call returns at once.

started = time.perf_counter()
again = stfem.certify(problem, cells=24, degree=2, checkpoint=checkpoint)
print(f"{time.perf_counter() - started:.2f} s")
assert again.bound == whole.bound

folder.cleanup()
