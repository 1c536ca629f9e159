"""Files: solutions and estimates to be read again."""

from stfem.io.saving import load_estimate, load_solution, save_estimate, save_solution

__all__ = ["load_estimate", "load_solution", "save_estimate", "save_solution"]
