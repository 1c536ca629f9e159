"""Data of a problem: mesh-independent scalar fields with exact or remainder-bounded projections (T4.6)."""

from stfem.data.approximated import Approximated
from stfem.data.base import Data, Projection, RowProjection, Separated, Slab
from stfem.data.bernstein import PolynomialRange, cell_ranges, polynomial_range
from stfem.data.callables import CallableData, checked_function
from stfem.data.constant import Constant
from stfem.data.interval import Interval
from stfem.data.normalise import as_data
from stfem.data.polynomial import Polynomial
from stfem.data.ranges import data_range
from stfem.data.trigonometric import Trigonometric, cosine, sine

__all__ = [
    "Approximated",
    "CallableData",
    "Constant",
    "Data",
    "Interval",
    "Polynomial",
    "PolynomialRange",
    "Projection",
    "RowProjection",
    "Separated",
    "Slab",
    "Trigonometric",
    "as_data",
    "cell_ranges",
    "checked_function",
    "cosine",
    "data_range",
    "polynomial_range",
    "sine",
]
