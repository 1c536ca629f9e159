"""Table of callables: files, pictures, studies, meshes, checks; and what is left out, with the reasons."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from fuzz_entry import Entry
from fuzz_solving import estimate, problem, solution, solutions, stationary
from fuzz_strategies import choice, made, mesh
from hypothesis import strategies as st

import stfem
from stfem import equations, fluxes, io, meshes, reconstruction, testing, timestepping

FOLDER = Path(tempfile.mkdtemp(prefix="stfem-fuzz-"))
_TORUS = {"given": choice("torus", "burgers").map(solution)}
npz = choice(FOLDER / "a.npz", str(FOLDER / "b.npz"))
vtu = choice(FOLDER / "a.vtu", str(FOLDER / "b.vtu"))


@cache
def saved():
    path = FOLDER / "saved.npz"
    io.save_solution(solution("torus"), path)
    return path


@cache
def solved_stationary():
    return stfem.solve_stationary(stationary(), cells=3, degree=1)


@cache
def saved_stationary():
    path = FOLDER / "stationary.npz"
    io.save_stationary(solved_stationary(), path)
    return path


@cache
def saved_estimate():
    path = FOLDER / "estimate.npz"
    io.save_estimate(estimate("torus"), path)
    return path


def same_solution(given, found):
    assert np.array_equal(found.values, solution("torus").values)


def cells(**changed):
    return {
        "shape": choice(io.LINE),
        "degree": choice(1),
        "points": made(lambda: np.zeros((3, 2, 1)), lambda: np.ones((3, 2, 1), np.float32)),
        **changed,
    }


def field_of(name="torus"):
    return solution(name).semidiscretization


TABLE = {
    "io.save_solution": Entry(io.save_solution, {"solution": solutions, "path": npz}),
    "io.save_estimate": Entry(io.save_estimate, {"estimate": choice("torus").map(estimate), "path": npz}),
    "io.load_solution": Entry(
        io.load_solution,
        {"path": made(saved)},
        {
            "problem": choice(None, "torus").map(lambda name: name and problem(name)),
            "flux": choice(None, fluxes.flux_rusanov),
            "penalty": choice(None, fluxes.InteriorPenalty()),
            "stepper": st.none(),
        },
        oracle=same_solution,
    ),
    "io.save_stationary": Entry(
        io.save_stationary, {"solution": made(lambda: solved_stationary()), "path": npz}
    ),
    "io.load_stationary": Entry(
        io.load_stationary,
        {"path": made(lambda: saved_stationary())},
        {"problem": st.none(), "flux": choice(None, fluxes.flux_rusanov), "penalty": st.none()},
    ),
    "io.load_estimate": Entry(io.load_estimate, {"path": made(saved_estimate)}),
    "io.write_vtk": Entry(
        io.write_vtk,
        {"path": vtu, "solution": choice("torus", "mesh").map(solution)},
        {
            "estimate": st.none(),
            "reconstruction": st.none(),
            "names": choice(None, ["u"], "u"),
            "degree": choice(None, 1, 2),
            "compressed": st.booleans(),
        },
    ),
    "io.write_vtk_series": Entry(
        lambda **given: io.write_vtk_series(**given),
        {"path": choice(FOLDER / "series.pvd"), "solution": choice("torus").map(solution)},
        {
            "every": choice(None, 1),
            "reconstruction": st.none(),
            "names": choice(None, ["u"]),
            "degree": choice(None, 1),
            "compressed": st.booleans(),
        },
    ),
    "io.write_vtk_series.times": Entry(
        lambda times: io.write_vtk_series(FOLDER / "times.pvd", solution("torus"), times=times),
        {"times": choice([0.0], (0, 0.01), np.array([0.005]))},
    ),
    "io.write_cells": Entry(
        io.write_cells,
        {"path": vtu, "cells": made(lambda: io.Cells(io.LINE, 1, np.zeros((3, 2, 1))))},
        {"compressed": st.booleans()},
    ),
    "io.Cells": Entry(
        io.Cells,
        cells(),
        {
            "point_data": made(dict, lambda: {"u": np.zeros((3, 2))}),
            "cell_data": made(dict, lambda: {"eta": np.zeros(3)}),
        },
    ),
    "io.to_skfem": Entry(io.to_skfem, {"solution": solutions}, {"history": st.booleans()}),
    "io.from_skfem": Entry(
        lambda **given: io.from_skfem(problem("torus"), io.to_skfem(solution("torus")).mesh, **given),
        {
            "element": made(lambda: io.to_skfem(solution("torus")).element),
            "coefficients": made(lambda: np.stack([io.to_skfem(solution("torus")).coefficients] * 2)),
            "degree": choice(1),
        },
        {
            "order": choice(1, 3, np.int64(2)),
            "flux": choice(fluxes.flux_rusanov),
            "penalty": st.none(),
        },
    ),
    "io.RecordedLevels": Entry(
        io.RecordedLevels, {"levels": made(lambda: np.zeros((2, 1, 2, 4)))}, {"order": choice(1, 2)}
    ),
    "io.LegendreElement": Entry(
        lambda degree: io.LegendreElement(mesh("line").elem.refdom, degree), {"degree": choice(0, 1, 3)}
    ),
    "meshes.TensorGrid": Entry(
        meshes.TensorGrid, {"lengths": choice((1.0,), [2], np.ones(1)), "cells": choice(3, (4,), [2], 5.0)}
    ),
    "meshes.from_skfem": Entry(
        meshes.from_skfem,
        {"mesh": made(lambda: mesh("triangle"), lambda: mesh("line"), lambda: mesh("quad"))},
        {"periodic": choice((), [])},
    ),
    "meshes.UnstructuredMesh.locate": Entry(
        lambda x: meshes.from_skfem(mesh("triangle")).locate(x),
        {"x": made(lambda: np.array([[0.2, 0.5], [0.1, 0.2]]))},
        receivers=("x",),
    ),
    "testing.jacobian_defect": Entry(testing.jacobian_defect, {"equation": choice(equations.Burgers(1))}),
    "testing.entropy_defects": Entry(
        testing.entropy_defects, {"equation": choice(equations.Acoustics(), equations.ShallowWater())}
    ),
    "testing.flux_consistency_defect": Entry(
        testing.flux_consistency_defect,
        {"flux": choice(fluxes.flux_rusanov), "equation": choice(equations.Burgers(1))},
        oracle=lambda given, found: _small(found),
    ),
    "testing.flux_conservation_defect": Entry(
        testing.flux_conservation_defect,
        {"flux": choice(fluxes.flux_rusanov), "equation": choice(equations.Burgers(1))},
        oracle=lambda given, found: _small(found),
    ),
    "testing.conservation_defect": Entry(
        testing.conservation_defect,
        {"equation": choice(equations.Burgers(1), equations.AdvectionDiffusion(1.0))},
        {"flux": choice(fluxes.flux_rusanov), "cells": choice(3, 4), "degree": choice(0, 1)},
        oracle=lambda given, found: _small(found),
    ),
    "testing.moment_defect": Entry(
        testing.moment_defect,
        {"coefficients": made(lambda: reconstruction.kernel_coefficients(1, 2)), "order": choice(2)},
        oracle=lambda given, found: _small(found),
    ),
    "testing.reproduction_defect": Entry(
        testing.reproduction_defect,
        {"degree": choice(1), "order": choice(2, 3), "power": choice(0, 1, 2)},
        {"cells": choice(24, 16)},
        oracle=lambda given, found: _small(found),
    ),
    "testing.reconstruction_defects": Entry(
        testing.reconstruction_defects,
        {
            "reconstruction": choice(stfem.Siac()),
            "problem": choice("torus").map(problem),
            "cells": choice(4),
            "degree": choice(1),
        },
        oracle=lambda given, found: _small(max(found.values())),
    ),
    "testing.stepper_order": Entry(
        testing.stepper_order,
        {"stepper": made(lambda: timestepping.ExplicitRungeKutta(timestepping.RK4))},
        {"steps": choice(8, 16)},
        oracle=lambda given, found: _near(found, 4.0),
    ),
    "testing.guarantee_cases": Entry(
        lambda **given: [case.violated for case in testing.guarantee_cases(**given)],
        {"problems": choice(("linear_advection_diffusion",)), "eps": choice((0.0, 1e-3), [0.1])},
        {"estimator": st.none(), "cells": choice(3), "degree": choice(1), "dim": choice(1)},
        oracle=lambda given, found: _none(found),
    ),
}


def _small(defect):
    assert abs(defect) < 1e-10


def _near(found, expected):
    assert abs(found - expected) < 0.5


def _none(violated):
    assert not any(violated)


#: Names that no hostile input is made for, and why.
_RECORDS = "made by the library, which hands it out: it holds what it was given"
_PROTOCOL = "a protocol, an abstract class or the name of a type: nothing to call"
_INNER = "a step within an estimate, between two others that check: takes what the library made"
_ERROR = "an error or a warning, raised by the library"
_VALUE = "a constant"
LEFT_OUT = {
    **dict.fromkeys(
        (
            *("Certificate", "Estimate", "Solution", "StabilityFactor", "StationarySolution"),
            *("StationaryCertificate", "adaptivity.StationaryAttempt", "adaptivity.StationarySearch"),
            "adaptivity.StationaryToleranceCertificate",
            *("ToleranceCertificate", "adaptivity.Attempt", "adaptivity.Search", "adaptivity.MeshChange"),
            *("adaptivity.MarchedSolution", "adaptivity.WindowAttempt"),
            *("adaptivity.AdaptedDomain", "data.Projection", "data.RowProjection", "data.Separated"),
            *("equations.CellStates", "equations.GrowthForm", "equations.Stability"),
            *("estimators.BoundState", "io.SkfemField", "io.OrthonormalElement", "io.Shape"),
            *("meshes.CellMap", "meshes.Facets", "meshes.ReferenceCell", "meshes.UnstructuredMesh"),
            *("reconstruction.NodeReconstruction", "reconstruction.ReconstructedSlab"),
            *("residual.DissipativeRates", "residual.SlabNorms", "semidiscretization.SteadyState"),
            *("studies.Study", "testing.GuaranteeCase", "timestepping.Node", "timestepping.StepLimits"),
        ),
        _RECORDS,
    ),
    **dict.fromkeys(
        (
            *(
                "adaptivity.Marking",
                "adaptivity.Strategy",
                "data.Data",
                "equations.Entropy",
                "equations.EntropySystem",
            ),
            *("equations.Equation", "fluxes.ConvectiveFlux", "problems.Region"),
            *("reconstruction.AnyRule", "reconstruction.BoundReconstruction"),
            *("reconstruction.Reconstruction", "reconstruction.RowReconstruction"),
            *("semidiscretization.AnySemidiscretization", "semidiscretization.LinearSolver"),
            *("timestepping.ODE", "timestepping.DrivenODE", "timestepping.ImplicitODE"),
            *("timestepping.InPlaceODE", "timestepping.Stepper"),
        ),
        _PROTOCOL,
    ),
    **dict.fromkeys(
        (
            *("reconstruction.BoundSiac", "reconstruction.combine", "reconstruction.initial_corrected"),
            *("reconstruction.initial_projection", "reconstruction.prolong", "reconstruction.restrict"),
            *("reconstruction.reconstructed_slabs", "reconstruction.reconstructor"),
            *("residual.ResidualSplit", "semidiscretization.Diffusion", "semidiscretization.Factorisation"),
            *("semidiscretization.steady_state", "semidiscretization.checked_solver"),
            *("estimators.stationary_estimate", "timestepping.node_at", "timestepping.ControlledSteps"),
            *("timestepping.repeat", "timestepping.temporal_defect", "timestepping.times_of"),
            *("timestepping.diagnosed", "timestepping.require_admissible"),
            *("reconstruction.corrected_start", "reconstruction.defect_norm", "reconstruction.Stencils"),
            *("reconstruction.slab_of", "estimators.SlabRun", "timestepping.Integration"),
            *("timestepping.loaded_node", "timestepping.saved_nodes"),
            *(
                "adaptivity.MeshSearch",
                "testing.continuity_defect",
                "testing.flux_continuity_defect",
                "testing.scheme_flux_defect",
            ),
            "testing.time_continuity_defect",
        ),
        _INNER,
    ),
    **dict.fromkeys(
        (
            *(
                "io.CheckpointWarning",
                "CflError",
                "DataError",
                "InadmissibleStateError",
                "InterruptedRunError",
                "SolverError",
            ),
            *(
                "timestepping.StepSizeError",
                "NonFiniteError",
                "SolveError",
                "ToleranceError",
                "UnfinishedSolveWarning",
            ),
            *("UnsupportedDomainError", "studies.StudyError"),
        ),
        _ERROR,
    ),
    **dict.fromkeys(
        (
            *("io.LINE", "io.TRIANGLE", "io.QUADRILATERAL", "io.TETRAHEDRON", "io.HEXAHEDRON"),
            *("plotting.PICTURE_ENDINGS", "problems.BOUNDED", "problems.CATALOGUE", "problems.STATIONARY"),
            *("residual.FLUX_FAMILY", "timestepping.ARK324L2SA", "timestepping.ARK548L2SA"),
            *("timestepping.DORMAND_PRINCE5", "timestepping.FEHLBERG7", "timestepping.RADAU3"),
            *("timestepping.RADAU5", "timestepping.RK4", "timestepping.SSPRK22", "timestepping.SSPRK33"),
            "timestepping.MOST_STEPS",
        ),
        _VALUE,
    ),
}
