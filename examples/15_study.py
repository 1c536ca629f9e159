"""
A study: table, picture, and a store that survives a kill
=========================================================

How does the bound behave over a range of diffusions, grids and degrees? A study runs all combinations and
returns them as rows, with orders of convergence.
"""

import stfem
from stfem.studies import convergence, sweep

# %%
# The arguments of the factory and those of ``certify`` go into one call; a list means "all of these". With
# ``store=`` every finished case is a file in a folder.

call = {
    "factory": stfem.problems.linear_advection_diffusion,
    "dim": 1,
    "final_time": 0.2,
    "eps": [1e-2, 1e-6, 0],
    "cells": [8, 16, 32],
    "degree": [1, 2],
    "store": "cases",
}
study = sweep(**call)
print(study)

# %%
# The same call goes on where the last one stopped, be it by an exception, by Ctrl-C or by ``kill -9``. Here
# all is there already. A finer grid adds its own cases only. ``workers=4`` would run them in processes.

assert sweep(**call).reused == 18
larger = sweep(**{**call, "cells": [8, 16, 32, 64]})
print(f"{larger.reused} of {len(larger.rows)} cases were there")
assert (larger.reused, len(larger.rows)) == (18, 24)

# %%
# For a paper: the columns of your choice, with the rules of the package ``booktabs``.

print(study.to_latex(["eps", "degree", "cells", "bound", "eoc_bound", "effectivity"]))

# %%
# The picture has the parameter on its axis that is varied first and has numbers, here the diffusion;
# :math:`\varepsilon=0` stands beyond a break of the axis. Only the two new diffusions are computed.

picture = sweep(**{**call, "eps": [1e-1, 1e-2, 1e-4, 1e-6, 0], "cells": [16, 32]})
assert picture.reused == 12
sweep_figure = picture.plot()

# %%
# ``convergence`` has the grids there. The number :math:`p` at a triangle says that its side is parallel to
# :math:`h^p`; we expect :math:`2q+1`, for the bound as for the error of the reconstruction.

problem = stfem.problems.linear_advection_diffusion(dim=1, eps=1e-6, final_time=0.2)
refined = convergence(problem, cells=[8, 16, 32, 64], degree=[1, 2, 3])
convergence_figure = refined.plot()

# %%
# ``rows`` holds every number: errors, bounds, parts, times.

for row in refined.rows:
    assert row["guaranteed"]
    assert row["effectivity"] >= 1.0
    if row["cells"] == 32:
        assert 2 * row["degree"] + 0.3 < row["eoc_error"] < 2 * row["degree"] + 1.8
parts = {name: refined.rows[-1][name] for name in ("initial", "hyperbolic", "parabolic", "temporal")}
print(parts)
