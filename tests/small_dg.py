"""Linear DG scheme by brute force: upwind convection and interior penalty, as dense tables of all bases."""

import numpy as np
from scipy.sparse import block_array, coo_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from stfem.reconstruction.unstructured.fluxes import gradient_traces
from stfem.timestepping import Node


class SmallDG:
    """du/dt = load − A u for ∂_t u + ∇·(bu) − ∇·D∇u = g, b and D constant, u = u_D on the whole boundary."""

    def __init__(self, space, velocity, diffusion, penalty=4.0):
        self.space, mesh, q = space, space.mesh, space.degree
        self.b, self.D = np.asarray(velocity, float), np.asarray(diffusion, float)
        self.order = 2 * q + 2
        self.count, self.inner = mesh.facets.count, np.arange(mesh.facets.interior)
        everywhere, boundary = np.arange(self.count), mesh.facets.boundary
        self.s, self.w = mesh.reference.on_facet.quadrature(self.order)
        normals, self.density = mesh.facet_normals(self.s)
        self.n = np.broadcast_to(normals, (mesh.dim, len(self.w), self.count))
        self.density = np.broadcast_to(self.density, (len(self.w), self.count))
        units = np.eye(space.modes)[:, :, None] * np.ones(mesh.size)  # every basis function a component
        sides = [everywhere, self.inner]
        phi = [space.traces(units, k, self.s, f) for k, f in enumerate(sides)]
        slopes = [gradient_traces(space, units, k, self.s, f) for k, f in enumerate(sides)]
        along = [
            np.einsum("iqf,ij,jmqf->mqf", self.n[:, :, f], self.D, s)
            for f, s in zip(sides, slopes, strict=True)
        ]
        measure = mesh.cell_measures
        size = mesh.facet_measures / measure[mesh.facets.cells[0]]
        size[self.inner] = np.maximum(
            size[self.inner], mesh.facet_measures[self.inner] / measure[mesh.facets.cells[1, self.inner]]
        )
        self.sigma = penalty * (q + 1) * (q + mesh.dim) * size
        self.sigma = self.sigma * np.einsum("iqf,ij,jqf->qf", self.n, self.D, self.n)
        bn = np.einsum("iqf,i->qf", self.n, self.b)
        half = np.where(everywhere < mesh.facets.interior, 0.5, 1.0)
        # coefficients of the traces of every basis function in the fluxes out of the minus cell
        convective = [np.maximum(bn, 0.0) * phi[0], np.minimum(bn, 0.0)[:, self.inner] * phi[1]]
        diffusive = [
            half * along[0] - self.sigma * phi[0],
            0.5 * along[1] + self.sigma[:, self.inner] * phi[1],
        ]
        jumps = [half * phi[0], -0.5 * phi[1]]
        self.tables = {"convective": convective, "diffusive": diffusive, "jumps": jumps}
        # of boundary values: incoming flow, penalty, symmetry
        self.of_data = {
            "convective": np.minimum(bn, 0.0)[:, boundary],
            "diffusive": self.sigma[:, boundary],
            "jumps": -np.ones((len(self.w), len(boundary))),
        }
        self.phi, self.along = phi, along
        self._assemble(units)

    def _assemble(self, units):
        space, mesh = self.space, self.space.mesh
        points, weights = mesh.reference.quadrature(self.order)
        density = mesh.cell_map(points).determinant / mesh.cell_measures
        phi, slopes = space.values(units, points), space.gradients(units, points)
        cell = np.einsum(
            "jqc,i,ikqc,q,qc->kjc", phi, self.b, slopes, weights, density * np.ones((1, mesh.size))
        )
        cell -= np.einsum(
            "ijqc,il,lkqc,q,qc->kjc",
            slopes,
            self.D,
            slopes,
            weights,
            density * np.ones((1, mesh.size)),
            optimize=True,
        )
        rows, columns, entries = [], [], []

        def add(block, to, of):
            at = np.arange(space.modes)
            shape = block.shape
            rows.append(np.broadcast_to(at[:, None, None] * mesh.size + to, shape).ravel())
            columns.append(np.broadcast_to(at[None, :, None] * mesh.size + of, shape).ravel())
            entries.append(block.ravel())

        every = np.arange(mesh.size)
        add(cell, every, every)
        weight = self.w[:, None] * self.density
        for to in (0, 1):
            for of in (0, 1):
                f = self.inner if to or of else np.arange(self.count)
                flux = self.tables["diffusive"][of] - self.tables["convective"][of]
                block = np.einsum(
                    "kqf,jqf,qf->kjf", (-1.0) ** to * self.phi[to][..., f], flux[..., f], weight[:, f]
                )
                jump = self.tables["jumps"][of][..., f]
                block += np.einsum("kqf,jqf,qf->kjf", self.along[to][..., f], jump, weight[:, f])
                cells = mesh.facets.cells
                add(block / mesh.cell_measures[cells[to, f]], cells[to, f], cells[of, f])
        total = space.modes * mesh.size
        places = (np.concatenate(rows), np.concatenate(columns))
        self.rate = csr_array(coo_array((np.concatenate(entries), places), shape=(total, total)))

    def boundary_load(self, data):
        """What boundary values (m, Q, boundary F) add to the rate."""
        space, mesh, boundary = self.space, self.space.mesh, self.space.mesh.facets.boundary
        result = np.zeros((1, space.modes, mesh.size))
        weight = self.w[:, None] * self.density[:, boundary]
        flux = (self.of_data["diffusive"] - self.of_data["convective"]) * data[0]
        moments = np.einsum("kqf,qf,qf->kf", self.phi[0][..., boundary], flux, weight)
        jump = self.of_data["jumps"] * data[0]
        moments += np.einsum("kqf,qf,qf->kf", self.along[0][..., boundary], jump, weight)
        for k in range(space.modes):
            cells = mesh.facets.cells[0, boundary]
            result[0, k] += np.bincount(cells, moments[k], minlength=mesh.size) / mesh.cell_measures
        return result

    def rates(self, u, data):
        """Convective plus diffusive rate (1, modes, C)."""
        return (self.rate @ u.ravel()).reshape(u.shape) + self.boundary_load(data)

    def facet_data(self, name, u, data):
        """Flux (or weighted jump) on the facets, (1, Q, F), without ds/d(parameter)."""
        cells = self.space.mesh.facets.cells
        tables = self.tables[name]
        result = np.einsum("jqf,jf->qf", tables[0], u[0][:, cells[0]])
        result[:, self.inner] += np.einsum("jqf,jf->qf", tables[1], u[0][:, cells[1, self.inner]])
        result[:, self.space.mesh.facets.boundary] += self.of_data[name] * data[0]
        return result[None]

    def boundary_points(self):
        return self.space.mesh.facet_points(self.s, self.space.mesh.facets.boundary)

    def implicit_matrix(self, shift):
        """I + shift L."""
        return (eye_array(self.rate.shape[0]) - shift * self.rate).tocsc()

    # what `SchemeFluxes` asks for, with zero boundary values

    @property
    def cell_order(self):
        return self.order

    @property
    def facet_order(self):
        return self.order

    @property
    def _zero(self):
        return np.zeros((1, len(self.w), len(self.space.mesh.facets.boundary)))

    def convective_rate(self, t, u, change):
        return self.convective(t, change, True)

    def convective(self, t, u, rate):
        values = self.space.values(u, self.space.mesh.reference.quadrature(self.order)[0])
        cells = self.b[:, None, None, None] * values
        return cells, self.facet_data("convective", u, self._zero) * self.density

    def diffusive(self, t, u, rate):
        slopes = self.space.gradients(u, self.space.mesh.reference.quadrature(self.order)[0])
        jumps = self.facet_data("jumps", u, self._zero)
        facets = self.facet_data("diffusive", u, self._zero) * self.density
        return np.einsum("ij,jmqc->imqc", self.D, slopes), facets, jumps, -jumps[..., self.inner]


def radau_steps(dg, u, source, final_time, steps):
    """Nodes of the two-stage Radau IIA method (order 3) with zero boundary values; source(t) like u."""
    dt, one = final_time / steps, eye_array(u.size)
    stages, nodes = np.array([[5.0, -1.0], [9.0, 3.0]]) / 12.0, np.array([1.0 / 3.0, 1.0])
    system = block_array([[(i == j) * one - dt * stages[i, j] * dg.rate for j in (0, 1)] for i in (0, 1)])
    solve = splu(system.tocsc()).solve
    for n in range(steps + 1):
        t = final_time * n / steps
        yield Node(t, u, (dg.rate @ u.ravel()).reshape(u.shape) + source(t))
        loads = [dg.rate @ u.ravel() + source(t + c * dt).ravel() for c in nodes]
        slopes = solve(np.concatenate(loads)).reshape(2, *u.shape)
        u = u + dt * (0.75 * slopes[0] + 0.25 * slopes[1])
