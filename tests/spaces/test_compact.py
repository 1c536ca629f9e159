import numpy as np
import pytest

from stfem.spaces.compact import CompactOperator
from stfem.spaces.interval import interior_penalty, transport


@pytest.mark.parametrize("cells", [(7,), (1,), (5, 4), (2, 1), (3, 2, 4)])
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_equals_the_sum_of_its_stencils(cells: tuple[int, ...], degree: int) -> None:
    dim = len(cells)
    rng = np.random.default_rng(3)
    terms = [(i, transport(degree, 0.7 - i, 0.2)) for i in range(dim)]
    terms += [(i, interior_penalty(degree, 3.0 + i)) for i in range(dim)]
    field = rng.standard_normal((2, *(degree + 1,) * dim, *cells))
    expected = sum(stencil.apply(field, i, dim) for i, stencil in terms)
    result = CompactOperator(terms, degree, dim).apply(field)
    scale = np.abs(field).max() * max(np.abs(stencil.matrices).max() for _, stencil in terms)
    assert np.abs(result - expected).max() <= 1e-13 * scale
    if cells[0] > 1:  # a constant on one periodic cell does not move
        short = CompactOperator(terms[1:], degree, dim).apply(field)
        assert np.abs(short - expected).max() > 1e-3 * scale


def test_keeps_only_what_crosses_a_face() -> None:
    # upwinding sends one trace per face, the interior penalty a value and a slope to either side
    upwind = CompactOperator([(0, transport(3, 1.0, 0.0))], 3, 1)
    penalty = CompactOperator([(0, interior_penalty(3, 20.0))], 3, 1)
    assert upwind._couplings[0]._sent.shape == (1, 4)
    assert penalty._couplings[0]._sent.shape == (4, 4)


def test_no_terms_give_zero() -> None:
    assert not CompactOperator([], 1, 1).apply(np.ones((1, 2, 5))).any()
