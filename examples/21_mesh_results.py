r"""
Results on a mesh
=================

What a run on a mesh leaves behind is used like that on a torus: as functions of points, in pictures, in files
for ParaView and for later, in scikit-fem, and in studies. Here a pulse that turns round the corner of an
L-shaped domain.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import skfem

import stfem
from stfem import plotting
from stfem.problems import rotating_pulse, transient_wave
from stfem.reconstruction import VertexPatches

# %%
# The mesh, and what is given where.

lshape = skfem.MeshTri.init_lshaped().refined(3)
problem = rotating_pulse(eps=1e-2, final_time=0.5, mesh=lshape)
result = stfem.certify(problem, degree=2)
print(result)
assert result.error <= result.bound
figure = plotting.plot_mesh(result.solution)

# %%
# Functions of points
# -------------------
#
# ``solution(x)`` is :math:`u_h(x,T)`, and ``reconstruct()`` gives :math:`\hat u(T)`, which the bounds are
# about. On a facet :math:`u_h` has the value of the cell with the smallest number, whatever else is asked
# for. Here both are compared with the exact solution on a ray out of the corner.

solution, smooth = result.solution, result.solution.reconstruct(VertexPatches())
ray = np.outer([-1.0, 0.2], np.linspace(0.0, 0.99, 300))
exact = problem.exact(ray, solution.time)[0]
distances = [float(np.abs(field(ray) - exact).max()) for field in (solution, smooth)]
print("largest difference on the ray: u_h {:.1e}, û {:.1e}".format(*distances))
assert max(distances) < 0.05

# %%
# Points outside are an error that names the first of them.

message = ""
try:
    solution([0.5, 0.5])
except ValueError as error:
    message = str(error)
print(message)
assert "[0.5, 0.5]" in message

# %%
# Pictures
# --------
#
# Every triangle is drawn by itself, up to both limits at a facet. The indicators tell which cells the bound
# comes from.

figure = solution.plot(reconstruction=VertexPatches())

# %%

figure = plotting.plot_indicators(result)

# %%
# Files
# -----
#
# A file holds the mesh, the names of its boundaries and their conditions. Functions cannot be stored: this
# problem has some, and is given again. ``write_vtk`` is for ParaView.

with tempfile.TemporaryDirectory() as folder:
    path = solution.save(Path(folder) / "pulse.npz")
    loaded = stfem.Solution.load(path, problem)
    stfem.io.write_vtk(Path(folder) / "pulse.vtu", loaded, result, reconstruction=VertexPatches())
    print(*sorted(file.name for file in Path(folder).iterdir()))
assert np.array_equal(loaded.values, solution.values)

# %%
# scikit-fem
# ----------
#
# ``to_skfem`` gives mesh, element and vector; indicators are arrays per element, as ``adaptive_theta`` takes
# them.

mesh, element, vector = stfem.io.to_skfem(solution)
mass = skfem.Functional(lambda w: w["u"]).assemble(skfem.Basis(mesh, element), u=vector)
marked = skfem.adaptive_theta(np.sqrt(result.indicators_sq), theta=0.5)
print(f"mass {mass:.4f}; {len(marked)} of {mesh.nelements} cells have half of the largest indicator or more")
assert 0 < len(marked) < mesh.nelements

# %%
# Studies
# -------
#
# A function that makes the problem from a number takes the place of ``cells``: the mesh is refined by it.
# Orders are those in h, the largest diameter of a cell.


def wave(n, eps):
    """A wave on n × n squares of two triangles each, whose inner vertices are moved."""
    mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2)
    inner = ((mesh.p > 1e-9) & (mesh.p < 1.0 - 1e-9)).all(axis=0)
    moves = np.random.default_rng(0).uniform(-0.2 / n, 0.2 / n, mesh.p.shape)
    return transient_wave(2, eps, 0.1, mesh=skfem.MeshTri(mesh.p + moves * inner, mesh.t))


study = stfem.studies.convergence(wave, axis="n", n=[4, 8, 16], eps=[1e-2, 0.0], degree=1)
print(study)
assert all(row["error"] <= row["bound"] for row in study.rows)
figure = study.plot()
plt.show()
