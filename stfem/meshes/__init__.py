"""Meshes: uniform tensor grids."""

from stfem.meshes.grid import TensorGrid

__all__ = ["TensorGrid"]
