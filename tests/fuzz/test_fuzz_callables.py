"""Valid and hostile arguments for every public callable: a few hundred by default, the rest marked slow."""

import pytest
from fuzz_entry import Entry, Input, inputs
from fuzz_tables import LEFT_OUT, TABLE, public_names
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

#: Per callable: in the default suite, and in the long one.
QUICK, LONG = 6, 150
_SETTINGS = settings(
    deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), print_blob=False
)


def run(name: str, count: int) -> None:
    @seed(20261130)
    @settings(_SETTINGS, max_examples=count)
    @given(inputs(TABLE[name]))
    def check(drawn):
        result = drawn.run()
        assert result.fine, f"{name}: {result.kind}, {result.detail}"

    check()


def test_no_public_callable_is_missing():
    known = {*TABLE, *LEFT_OUT}
    missing = [names for names in public_names() if not known.intersection(names)]
    assert missing == []
    assert not {*TABLE} & {*LEFT_OUT}


@pytest.mark.parametrize("name", TABLE)
def test_a_few_inputs(name):
    run(name, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_many_inputs(name):
    run(name, LONG)


def test_what_is_wrong_is_noticed():
    """Negative control: an entry whose call breaks its promises in one way each."""

    def never(given, found):
        raise AssertionError(found)

    def outcome_of(call, **more):
        return Input(Entry(call, {"x": st.none()}, **more), {"x": None}, {"x": "None"}).run().kind

    assert outcome_of(lambda x: x.a) == "unexpected"
    assert outcome_of(lambda x: [][0]) == "unexpected"
    assert outcome_of(lambda x: float("a")) == "unclear"
    assert outcome_of(lambda x: 1, always=never) == "wrong"
    assert outcome_of(lambda x: 1) == "accepted"
