"""Initial values U_0 whose reconstruction meets u_0 (T2.0a, T2.0b)."""

from __future__ import annotations

import numpy as np

from stfem.data import Data
from stfem.reconstruction.node import BoundReconstruction, RowReconstruction
from stfem.reconstruction.transfer import restrict
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import derivative_matrix
from stfem.spaces.rows import row_blocks
from stfem.spaces.stencil import Array, apply_matrix, cell_rows

EXPLICIT_REPEATS = 2
IMPLICIT_REPEATS = 3


def initial_projection(semidiscretization: Semidiscretization) -> Array:
    """U_0 = P_h u_0, the L² projection."""
    return semidiscretization.project(semidiscretization.problem.initial)


def initial_corrected(
    semidiscretization: Semidiscretization, reconstruction: BoundReconstruction, implicit: bool
) -> Array:
    """U_0 with S U_0 close to u_0: the filter's own error is taken out of the bound.

    Parameters
    ----------
    semidiscretization, reconstruction
        Scheme and bound reconstruction S.
    implicit
        Whether diffusion is stepped implicitly. Then F_0 = εL_hU_0 is stiff and
        (I − TεL_h) δ = P_h( w − Tε∇·A∇w ), w = u_0 − S U_0, T the final time, is solved three times from
        U_0 = 0 (T2.0b); otherwise U_0 ← U_0 + P_h( u_0 − S U_0 ) twice from the projection (T2.0a). Data
        whose second derivatives are not known exactly always take T2.0a.
    """
    target = initial_projection(semidiscretization)
    diffusive = (
        _projected_diffusion(semidiscretization) if implicit and semidiscretization.has_diffusion else None
    )
    if diffusive is None:
        u = target
        for _ in range(EXPLICIT_REPEATS):
            u = u + target - _restricted(u, semidiscretization, reconstruction, False)[0]
        return u
    # weighs w against the rate ε∇·A∇w: any time does, the final one makes the bound independent of units
    weight = semidiscretization.problem.final_time
    u = np.zeros(semidiscretization.shape)
    for _ in range(IMPLICIT_REPEATS):
        field, rate = _restricted(u, semidiscretization, reconstruction, True)
        u = u + semidiscretization.solve_parabolic(target - field - weight * (diffusive - rate), weight)
    return u


def _restricted(
    u: Array, semidiscretization: Semidiscretization, reconstruction: BoundReconstruction, diffused: bool
) -> list[Array]:
    """P_h S u, and P_h ∇·D∇S u where it is wanted, by rows of cells where S works on these."""
    grid, degree = semidiscretization.grid, semidiscretization.degree
    results = [np.empty(u.shape) for _ in range(1 + diffused)]
    values = len(u) * (reconstruction.degree + 1) ** grid.dim
    if isinstance(reconstruction, RowReconstruction):
        state = reconstruction.field_rows(u)
        blocks = [rows for rows, _ in row_blocks(grid, reconstruction.grid, values)]
    else:
        state, blocks = (lambda rows: reconstruction.field(u)), [slice(0, grid.cells[0])]
    for rows in blocks:
        fields = [state(rows)]
        if diffused:
            fields.append(_diffused(fields[0], semidiscretization, reconstruction))
        cells = (rows.stop - rows.start, *grid.cells[1:])
        for result, field in zip(results, fields, strict=True):
            cell_rows(result, rows, grid.dim)[...] = restrict(field, cells, degree)
    return results


def _projected_diffusion(semidiscretization: Semidiscretization) -> Array | None:
    """P_h ∇·D∇u_0, or None where u_0 cannot be differentiated exactly."""
    problem = semidiscretization.problem
    matrix, dim = problem.equation.diffusion, semidiscretization.grid.dim
    fields = []
    for u, weight in zip(problem.initial, problem.equation.diffused, strict=True):
        total = np.zeros(semidiscretization.shape[1:])
        for i in range(dim):
            for j in range(dim):
                if weight and matrix[i, j] != 0.0:
                    second = _second_derivative(u, i, j)
                    if second is None:
                        return None
                    projection = second.project(semidiscretization.grid, semidiscretization.degree, 0.0)
                    total += weight * matrix[i, j] * projection.coefficients
        fields.append(total)
    return np.stack(fields)


def _second_derivative(u: Data, i: int, j: int) -> Data | None:
    try:
        return u.derivative(i).derivative(j)
    except TypeError:
        return None


def _diffused(
    field: Array, semidiscretization: Semidiscretization, reconstruction: BoundReconstruction
) -> Array:
    """∇·D∇ of a modal field of the reconstruction, on the components that diffuse."""
    equation, dim = semidiscretization.problem.equation, reconstruction.grid.dim
    slope = derivative_matrix(reconstruction.degree)
    spacing = reconstruction.grid.spacing
    gradient = [apply_matrix(slope / h, field, i, dim) for i, h in enumerate(spacing)]
    total = np.zeros_like(field)
    for i, h in enumerate(spacing):
        flux = sum(equation.diffusion[i, j] * gradient[j] for j in range(dim))
        total += apply_matrix(slope / h, np.asarray(flux), i, dim)
    return np.asarray(total * np.reshape(equation.diffused, (-1, *(1,) * (2 * dim))))
