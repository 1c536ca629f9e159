"""Pictures; the only room that imports matplotlib. Figures are built without a display."""

from stfem.plotting.cells import plot_cells, plot_indicators
from stfem.plotting.convergence import plot_convergence
from stfem.plotting.demo import plot_demo
from stfem.plotting.effectivity import plot_effectivity, plot_sweep
from stfem.plotting.fields import plot_fields, plot_solution
from stfem.plotting.history import plot_bound, plot_growth, plot_residual
from stfem.plotting.meshes import plot_mesh
from stfem.plotting.parts import bound_parts, plot_estimate, plot_shares
from stfem.plotting.study import plot_study
from stfem.plotting.style import PICTURE_ENDINGS, PaperFigure

__all__ = [
    "PICTURE_ENDINGS",
    "PaperFigure",
    "bound_parts",
    "plot_bound",
    "plot_cells",
    "plot_convergence",
    "plot_demo",
    "plot_effectivity",
    "plot_estimate",
    "plot_fields",
    "plot_growth",
    "plot_indicators",
    "plot_mesh",
    "plot_residual",
    "plot_shares",
    "plot_solution",
    "plot_study",
    "plot_sweep",
]
