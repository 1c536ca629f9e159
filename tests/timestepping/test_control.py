"""The controller of step sizes as pure numbers."""

import pickle
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stfem.timestepping import StepControl, StepSizeError

CONTROL = StepControl(1e-6)
positive = st.floats(1e-200, 1e200)
orders = st.integers(1, 9)


@given(
    dt=st.floats(1e-30, 1e30),
    defect=positive,
    allowed=positive,
    order=orders,
    flags=st.tuples(*[st.booleans()] * 2),
)
def test_ratios_stay_within_their_limits(dt, defect, allowed, order, flags):
    implicit, rejected = flags
    after = CONTROL.propose(dt, defect, allowed, order, implicit=implicit, rejected=rejected)
    assert CONTROL.shrink * dt <= after * (1 + 1e-12)
    assert after <= (1.0 if rejected else CONTROL.growth) * dt
    if defect > allowed:  # rejected: the next trial is smaller
        assert after <= CONTROL.safety * dt


@given(defect=positive, allowed=positive, order=orders, rejected=st.booleans())
def test_implicit_steps_change_by_powers_of_the_ratio_or_not_at_all(defect, allowed, order, rejected):
    factor = CONTROL.propose(1.0, defect, allowed, order, implicit=True, rejected=rejected)
    assert factor in {2.0**k for k in range(-3, 2)}
    if defect <= allowed:
        assert factor >= 1.0
    else:
        assert factor <= 0.5


@given(dt=st.floats(1e-6, 1e3), ratio=st.floats(0.2, 1.2), order=orders)
def test_the_step_aimed_at_has_the_defect_that_is_allowed(dt, ratio, order):
    """With defect = C dt^order the next defect is safety^order times the allowed one, wherever dt was."""
    defect = ratio**order
    after = CONTROL.propose(dt, defect, 1.0, order)
    if CONTROL.shrink < after / dt < CONTROL.growth:
        assert (after / dt) ** order * defect == pytest.approx(CONTROL.safety**order)


def test_dead_band_holds_implicit_steps_and_not_explicit_ones():
    for defect in (0.99, 0.5, 0.1):
        assert CONTROL.propose(1.0, defect, 1.0, 3, implicit=True) == 1.0
        assert CONTROL.propose(1.0, defect, 1.0, 3) != 1.0
    assert CONTROL.propose(1.0, 0.4**3, 1.0, 3, implicit=True) == 2.0


@pytest.mark.parametrize("implicit", [False, True])
def test_no_defect_grows_as_far_as_allowed_and_a_failure_shrinks(implicit):
    assert CONTROL.propose(0.5, 0.0, 1.0, 4, implicit=implicit) == 1.0
    assert CONTROL.propose(0.5, 0.0, 1.0, 4, implicit=implicit, rejected=True) == 0.5
    assert CONTROL.propose(0.5, 5e-324, 1e300, 4, implicit=implicit) == 1.0
    failed = CONTROL.propose(0.5, inf, 1.0, 4, implicit=implicit)
    assert failed == (0.0625 if implicit else 0.05)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"tol": 0.0}, "tol: expected a positive number"),
        ({"tol": -1.0}, "tol: expected a positive number"),
        ({"tol": nan}, "tol: expected a positive number"),
        ({"tol": inf}, "tol: expected a positive number"),
        ({"safety": 1.0}, r"safety: expected a number in \(0, 1\)"),
        ({"growth": 1.5}, "shrink, ratio, growth: expected"),
        ({"ratio": 1.0}, "shrink, ratio, growth: expected"),
        ({"shrink": 0.6}, "shrink, ratio, growth: expected"),
        ({"smallest": 0.1}, "smallest: expected less than"),
        ({"smallest": 0.0}, "smallest: expected a positive number"),
    ],
)
def test_bad_numbers_are_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        StepControl(**{"tol": 1e-3, **arguments})


@pytest.mark.parametrize("given_tol", ["1e-3", None, True, [1e-3]])
def test_what_is_no_number_is_refused(given_tol):
    with pytest.raises(TypeError, match="tol: expected a number"):
        StepControl(given_tol)


def test_the_error_names_what_it_knows_and_can_be_pickled():
    error = pickle.loads(pickle.dumps(StepSizeError(0.25, 7, 1e-9, 2.0, 0.5, 1e-6)))
    assert (error.time, error.step, error.dt, error.defect) == (0.25, 7, 1e-9, 2.0)
    for text in ("step 7", "time 0.25", "1e-09", "got 2 ", "at most 0.5", "tolerance 1e-06"):
        assert text in str(error)
