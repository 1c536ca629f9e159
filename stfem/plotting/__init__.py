"""Pictures; the only room that imports matplotlib. Figures are built without a display."""

from stfem.plotting._old import PARTS, bound_parts, plot_demo, plot_estimate, plot_indicators, plot_solution
from stfem.plotting.convergence import plot_convergence
from stfem.plotting.effectivity import plot_effectivity, plot_sweep
from stfem.plotting.study import plot_study
from stfem.plotting.style import PICTURE_ENDINGS, PaperFigure

__all__ = [
    "PARTS",
    "PICTURE_ENDINGS",
    "PaperFigure",
    "bound_parts",
    "plot_convergence",
    "plot_demo",
    "plot_effectivity",
    "plot_estimate",
    "plot_indicators",
    "plot_solution",
    "plot_study",
    "plot_sweep",
]
