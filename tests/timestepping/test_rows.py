"""Rows that rates of stages share."""

import numpy as np
import pytest

from stfem.timestepping import ExplicitRungeKutta, ImplicitExplicitRungeKutta
from stfem.timestepping.methods import ARK548L2SA, DORMAND_PRINCE5, RK4
from stfem.timestepping.rows import StageRows

SIZE = 140_001  # several chunks


@pytest.mark.parametrize("seed", range(5))
def test_shared_rows_combine_like_rows_of_their_own(seed):
    rng = np.random.default_rng(seed)
    count = 9
    weights = np.tril(rng.uniform(-1.0, 1.0, (count + 1, count)) * (rng.random((count + 1, count)) < 0.4), -1)
    rows = StageRows(weights, [(), *((i,) for i in range(1, count)), ()])
    assert rows.count < count - 1
    rows.fit(SIZE)
    rate, base = rng.uniform(-1.0, 1.0, (2, SIZE))
    quantities = [rate]
    for i in range(1, count + 1):
        out = base.copy() if i % 2 else np.empty(SIZE)
        rows.combine(i, 0.3, rate, out if i % 2 else base, out)
        expected = base + 0.3 * weights[i, :i] @ np.array(quantities)
        np.testing.assert_allclose(out, expected, atol=1e-14)
        if i < count:
            quantities.append(rng.uniform(-1.0, 1.0, SIZE))
            rows.of(i, (SIZE,))[...] = quantities[-1]


def test_a_combination_may_take_the_place_of_what_it_needs_last():
    weights = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    rows = StageRows(weights, [(1,), (2,), ()])
    assert rows.count == 1
    rows.fit(2)
    rows.of(1, (2,))[...] = 5.0
    rows.combine(1, 0.5, np.ones(2), np.ones(2), rows.of(2, (2,)))
    np.testing.assert_array_equal(rows.of(2, (2,)), 1.0 + 0.5 * (1.0 + 2.0 * 5.0))


def test_steps_hold_as_few_arrays_as_they_can():
    assert ExplicitRungeKutta(RK4)._rows.count == 3
    assert ExplicitRungeKutta(DORMAND_PRINCE5)._rows.count == 4
    assert ImplicitExplicitRungeKutta(ARK548L2SA)._rows.count == 10
