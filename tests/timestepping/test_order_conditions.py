"""Order conditions: the generated trees, exact residuals of the shipped methods, negative controls."""

from dataclasses import replace
from fractions import Fraction

import pytest

from stfem.timestepping import (
    ARK324L2SA,
    ARK548L2SA,
    DORMAND_PRINCE5,
    FEHLBERG7,
    RK4,
    SSPRK22,
    SSPRK33,
    AdditiveTableau,
    ButcherTableau,
)
from stfem.timestepping.order_conditions import order_residuals, rooted_trees

EXPLICIT = [SSPRK22, SSPRK33, RK4, DORMAND_PRINCE5, FEHLBERG7]
PAIRS = [ARK324L2SA, ARK548L2SA]


def test_number_of_rooted_trees():
    # OEIS A000081, and with two colours (root colour fixed) half of A038055.
    assert [len(rooted_trees(n)) for n in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]
    assert [len(rooted_trees(n, 2)) for n in range(1, 6)] == [1, 2, 7, 26, 107]


def test_densities_and_labels_of_order_four():
    found = {tree.label(): tree.density for tree in rooted_trees(4)}
    assert found == {"t(t, t, t)": 4, "t(t, t(t))": 8, "t(t(t, t))": 12, "t(t(t(t)))": 24}


@pytest.mark.parametrize("tableau", EXPLICIT, ids=repr)
def test_rational_methods_are_exact(tableau):
    residuals = list(order_residuals([tableau.a], tableau.b, tableau.order + 1))
    assert all(residual == 0 for tree, residual in residuals if tree.order <= tableau.order)
    assert any(residual != 0 for tree, residual in residuals if tree.order > tableau.order)
    assert tableau.c == tuple(sum(row) for row in tableau.a)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_published_pairs_are_far_below_the_tolerance(pair):
    # Rounded at 25 digits in the publication.  Coefficients rounded to decimals keep the fractions short.
    matrices = [
        [[Fraction(round(x * 10**40), 10**40) for x in row] for row in part.a]
        for part in (pair.explicit, pair.implicit)
    ]
    order = min(pair.order, 4)
    largest = max(abs(r) for _, r in order_residuals(matrices, pair.b, order))
    assert 0 < largest < Fraction(1, 10**25)


@pytest.mark.parametrize("tableau", EXPLICIT, ids=repr)
def test_claiming_one_order_more_is_refused(tableau):
    with pytest.raises(
        ValueError, match=rf"expected order {tableau.order + 1}, .* of order {tableau.order + 1}"
    ):
        replace(tableau, order=tableau.order + 1)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_claiming_one_order_more_is_refused_for_pairs(pair):
    with pytest.raises(ValueError, match=rf"expected order {pair.order + 1}"):
        replace(pair, order=pair.order + 1)


@pytest.mark.parametrize("tableau", EXPLICIT, ids=repr)
def test_every_perturbed_coefficient_is_found(tableau):
    for j in range(tableau.stages):
        b = list(tableau.b)
        b[j] += Fraction(1, 10**12)
        with pytest.raises(ValueError, match="of order 1 of the tree t is violated"):
            replace(tableau, b=tuple(b))
    for i in range(1, tableau.stages):
        if not any(tableau.a[k][i] for k in range(tableau.stages)) and not tableau.b[i]:
            continue  # an unused stage (the FSAL stage) enters no condition of the main weights
        a = [list(row) for row in tableau.a]
        a[i][0] += Fraction(1, 10**9)
        with pytest.raises(ValueError, match="of the tree t"):
            replace(tableau, a=tuple(map(tuple, a)), c=(), embedded=())


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_perturbed_implicit_part_is_found(pair):
    for i in range(1, pair.stages):
        a = [list(row) for row in pair.implicit.a]
        a[i][0] += Fraction(1, 10**9)
        with pytest.raises(ValueError, match="of the tree t"):
            replace(pair.implicit, a=tuple(map(tuple, a)), c=(), embedded=())


def test_coupling_conditions_are_checked():
    """An explicit part of order 4 and an implicit one of order 3 make a pair of order 3, not 4."""
    rows = "0; 1/4 1/4; 1/4 0 1/4; 1/4 1/2 0 1/4"
    implicit = ButcherTableau.from_text("part", rows, "1/6 1/3 1/3 1/6", order=3)
    assert AdditiveTableau("pair", RK4, implicit, order=3).stages == 4
    with pytest.raises(ValueError, match=r"order 4 of the tree .*I.* is violated: got .*, expected 1/"):
        AdditiveTableau("pair", RK4, implicit, order=4)


@pytest.mark.parametrize("tableau", [DORMAND_PRINCE5, ARK324L2SA.explicit, ARK548L2SA.implicit], ids=repr)
def test_embedded_weights_are_checked(tableau):
    assert tableau.embedded_order == tableau.order - 1
    with pytest.raises(ValueError, match=r"\(embedded\): expected order"):
        replace(tableau, embedded_order=tableau.order)
