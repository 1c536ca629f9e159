"""Table of callables: pictures and studies."""

import numpy as np
from fuzz_entry import Entry
from fuzz_files import FOLDER
from fuzz_solving import estimate, problem, solution
from fuzz_strategies import choice, made, mesh
from hypothesis import strategies as st
from matplotlib import pyplot

import stfem
from stfem import plotting, studies

ROWS = [
    {
        "cells": n,
        "h": 1.0 / n,
        "eps": 1e-3,
        "bound": 1.0 / n,
        "error": 0.5 / n,
        "effectivity": 2.0,
        "degree": 1,
    }
    for n in (4, 8, 16)
]
paths = choice(None, FOLDER / "picture.png", str(FOLDER / "picture.pdf"))


def drawn(function):
    """Draws, and closes what it drew."""

    def draw(**given):
        try:
            return function(**given) and None
        finally:
            pyplot.close("all")

    return draw


def picture(function, required, optional=None):
    return Entry(drawn(function), required, {"path": paths, **(optional or {})})


estimates = {"estimate": choice("torus", "burgers").map(estimate)}
TABLE = {
    "plotting.plot_solution": picture(
        plotting.plot_solution,
        {"solution": choice("torus", "mesh").map(solution)},
        {"points": choice(None, 5), "reconstruction": st.none(), "slices": st.none()},
    ),
    "plotting.plot_bound": picture(plotting.plot_bound, {"estimates": choice("torus").map(estimate)}),
    "plotting.plot_estimate": picture(plotting.plot_estimate, estimates),
    "plotting.plot_growth": picture(plotting.plot_growth, estimates),
    "plotting.plot_residual": picture(plotting.plot_residual, estimates),
    "plotting.plot_shares": picture(plotting.plot_shares, estimates),
    "plotting.bound_parts": Entry(plotting.bound_parts, estimates),
    "plotting.plot_indicators": picture(
        plotting.plot_indicators, estimates, {"mesh": st.none(), "slices": st.none()}
    ),
    "plotting.plot_cells": picture(
        plotting.plot_cells,
        {"values_sq": made(lambda: np.arange(8.0), lambda: [1] * 8), "mesh": made(lambda: mesh("triangle"))},
        {"label": choice("value"), "slices": st.none()},
    ),
    "plotting.plot_mesh": picture(
        plotting.plot_mesh,
        {
            "given": made(
                lambda: stfem.Domain(mesh("triangle"), stfem.Dirichlet(0.0)), lambda: solution("mesh")
            )
        },
        {"cells": st.none()},
    ),
    "plotting.plot_fields": picture(
        plotting.plot_fields,
        {"fields": made(lambda: {"u": solution("torus").field})},
        {"points": choice(None, 5), "slices": st.none(), "title": choice("", "u")},
    ),
    "plotting.plot_convergence": picture(
        plotting.plot_convergence,
        {"rows": made(lambda: ROWS)},
        {"varied": choice(("cells",)), "orders": choice(None, (1.0, 2)), "refined": choice("cells")},
    ),
    "plotting.plot_effectivity": picture(
        plotting.plot_effectivity,
        {"rows": made(lambda: [{**row, "eps": row["eps"] * n} for n, row in enumerate(ROWS, 1)])},
        {"varied": choice(("eps",)), "axis": choice("eps")},
    ),
    "plotting.PaperFigure": Entry(
        drawn(plotting.PaperFigure),
        {},
        {"width": choice(3.4, 5), "height": choice(2.0, 3), "fixed": st.booleans()},
    ),
    "studies.convergence": Entry(
        lambda **given: studies.convergence(problem("torus"), **given),
        {"cells": choice([3, 4], [2, 4]), "degree": choice(0, [1, 2])},
        {
            "axis": choice(None, "cells"),
            "progress": st.just(False),
            "workers": choice(1),
            "executor": st.none(),
            "store": st.none(),
            "raise_failures": st.booleans(),
        },
    ),
    "studies.sweep": Entry(
        lambda **given: studies.sweep(
            lambda eps: stfem.problems.linear_advection_diffusion(1, eps, 0.01), **given
        ),
        {"eps": choice([1e-3, 0.01]), "cells": choice([3]), "degree": choice([1])},
        {"axis": choice(None, "eps"), "raise_failures": st.booleans()},
    ),
}
#: Drawn from what other functions of the package make.
LEFT_OUT = {
    "plotting.plot_demo": "draws the rows of the demo",
    "plotting.plot_study": "draws a Study",
    "plotting.plot_sweep": "draws the rows of a Study",
}
