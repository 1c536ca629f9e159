"""Values of the experiments of arXiv 2604.01200 to compare with: data, not results of this library.

Giesselmann, Kwon, Krumscheid (2026), A posteriori error analysis of Runge–Kutta discontinuous Galerkin
schemes with SIAC post-processing for nonlinear convection–diffusion systems. "program": values of the authors' public
program; "independent": computed once with a separate program (direct solves, 6 Gauss points per cell).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """One run of the paper's estimator; the final time is that of the experiment where None."""

    source: str
    experiment: str
    degree: int
    cells: int
    eps: float
    steps: int
    E_rec: float
    E: float
    e0: float
    R1: float
    E_r2: float
    final_time: float | None = None


PAPER, OTHER = "program", "independent"

REFERENCES = (
    Reference(OTHER, "linear", 1, 16, 0.0, 480, 4.1336e-3, 8.4716e-3, 2.9386e-4, 4.2307e-3, 2.3619e-3),
    Reference(OTHER, "linear", 1, 32, 0.0, 960, 5.0862e-4, 1.0778e-3, 1.8545e-5, 5.3874e-4, 2.8721e-4),
    Reference(OTHER, "linear", 1, 16, 1e-4, 480, 4.0577e-3, 8.3341e-3, 2.9386e-4, 4.1618e-3, 2.3217e-3),
    Reference(OTHER, "linear", 1, 16, 1e-3, 480, 3.5971e-3, 7.5267e-3, 2.9386e-4, 3.7573e-3, 2.0560e-3),
    Reference(OTHER, "linear", 1, 16, 1e-2, 480, 3.4933e-3, 8.8825e-3, 2.9386e-4, 4.4355e-3, 1.2808e-3),
    Reference(OTHER, "linear", 1, 16, 1e-1, 480, 4.1454e-3, 1.3112e-2, 2.9386e-4, 6.5521e-3, 4.4141e-4),
    Reference(OTHER, "linear", 1, 32, 1e-1, 960, 1.0070e-3, 3.2292e-3, 1.8545e-5, 1.6145e-3, 5.0463e-5),
    Reference(OTHER, "linear", 2, 16, 0.0, 800, 1.7929e-5, 2.1766e-5, 1.1922e-5, 6.8827e-6, 3.2842e-5),
    Reference(OTHER, "linear", 2, 16, 1e-2, 800, 1.6286e-5, 3.1861e-5, 1.1922e-5, 1.3416e-5, 2.3377e-5),
    Reference(OTHER, "linear", 2, 16, 1e-1, 800, 1.7888e-5, 4.3909e-5, 1.1922e-5, 2.0187e-5, 8.2900e-6),
    Reference(PAPER, "linear", 1, 16, 0.0, 480, 4.13360e-3, 8.47163e-3, 2.9386e-4, 4.23072e-3, 2.36056e-3),
    Reference(PAPER, "linear", 1, 32, 0.0, 960, 5.08619e-4, 1.07780e-3, 1.8545e-5, 5.38740e-4, 2.87164e-4),
    Reference(PAPER, "linear", 1, 32, 1e-2, 960, 7.37011e-4, 1.88560e-3, 1.8545e-5, 9.42656e-4, 1.43893e-4),
    Reference(PAPER, "linear", 2, 16, 1e-4, 800, 1.80296e-5, 2.21085e-5, 1.1923e-5, 7.14622e-6, 3.27637e-5),
    Reference(PAPER, "linear", 2, 32, 1e-4, 160, 2.09756e-7, 2.72962e-7, 1.9040e-7, 2.23709e-8, 1.72478e-7,
              final_time=0.1),
    Reference(PAPER, "burgers", 1, 16, 0.0, 106, 2.23733e-4, 1.59828e-3, 5.8772e-5, 2.39989e-4, 1.48928e-4),
    Reference(PAPER, "burgers", 1, 16, 1e-2, 106, 2.20653e-4, 1.58919e-3, 5.8772e-5, 2.38457e-4, 1.21652e-4),
    Reference(PAPER, "burgers", 1, 32, 1e-4, 212, 2.55236e-5, 1.89538e-4, 3.7089e-6, 2.86042e-5, 1.78813e-5),
    Reference(PAPER, "burgers", 1, 32, 1e-2, 212, 3.19289e-5, 2.35114e-4, 3.7089e-6, 3.54964e-5, 1.33377e-5),
    Reference(PAPER, "burgers", 2, 16, 0.0, 176, 2.58840e-6, 2.83621e-5, 2.3845e-6, 4.12024e-6, 2.08051e-6),
    Reference(PAPER, "burgers", 2, 16, 1e-2, 176, 2.77678e-6, 2.89006e-5, 2.3845e-6, 4.20236e-6, 2.09089e-6),
)  # fmt: skip
