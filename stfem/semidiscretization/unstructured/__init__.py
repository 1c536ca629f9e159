"""Discontinuous Galerkin right-hand sides and their matrices on unstructured meshes."""
