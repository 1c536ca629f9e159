"""Studies: many certified runs of one problem as a table with orders of convergence and effectivities."""

from stfem.studies.study import Study
from stfem.studies.sweeps import StudyError, convergence, sweep

__all__ = ["Study", "StudyError", "convergence", "sweep"]
