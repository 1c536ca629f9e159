"""What a table says of a callable, and how inputs are drawn for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fuzz_run import Outcome, outcome
from fuzz_values import HOSTILE
from hypothesis import strategies as st

Strategies = Mapping[str, st.SearchStrategy[Any]]

#: How many arguments are replaced by hostile ones, with weights.
_SPOILED = (0, 1, 1, 1, 1, 2)


@dataclass(frozen=True)
class Entry:
    """A callable and the arguments that it should accept.

    Attributes
    ----------
    call
        Takes all arguments by keyword.
    required, optional
        Strategies of valid values by name.
    oracle
        Asserts what is known of the result of valid arguments.
    always
        Asserts what must hold of whatever was accepted, hostile arguments or not.
    receivers
        Arguments whose methods are called: never hostile.
    operators
        Whether Python itself refuses operands.
    may_refuse
        Whether the strategies are not all valid.
    """

    call: Callable[..., Any]
    required: Strategies = field(default_factory=dict)
    optional: Strategies = field(default_factory=dict)
    oracle: Callable[[Mapping[str, Any], Any], None] | None = None
    always: Callable[[Mapping[str, Any], Any], None] | None = None
    receivers: tuple[str, ...] = ()
    operators: bool = False
    may_refuse: bool = False


@dataclass(frozen=True)
class Input:
    """Arguments of a call; `spoiled` names the hostile values among them."""

    entry: Entry
    arguments: Mapping[str, Any]
    spoiled: Mapping[str, str]

    def run(self) -> Outcome:
        """Call; valid arguments must be accepted."""
        result = outcome(self.entry.call, self.arguments, self._oracle())
        if result.kind == "unclear" and self.entry.operators:
            return Outcome("refused", result.detail)
        if not self.spoiled and result.kind != "accepted" and not self.entry.may_refuse:
            return Outcome(
                "wrong" if result.kind == "refused" else result.kind, f"valid, but {result.detail}"
            )
        return result

    def _oracle(self) -> Callable[[Mapping[str, Any], Any], None] | None:
        return self.entry.always if self.spoiled else self.entry.oracle or self.entry.always

    def __repr__(self) -> str:
        valid = {name: value for name, value in self.arguments.items() if name not in self.spoiled}
        return f"valid {valid!r}, hostile {dict(self.spoiled)!r}"


@st.composite
def inputs(draw: st.DrawFn, entry: Entry) -> Input:
    """Valid arguments, up to two of which give way to hostile ones."""
    arguments = {name: draw(strategy) for name, strategy in entry.required.items()}
    if entry.optional:
        names = draw(st.lists(st.sampled_from(sorted(entry.optional)), max_size=3, unique=True))
        arguments |= {name: draw(entry.optional[name]) for name in names}
    spoiled: dict[str, str] = {}
    names = sorted({*entry.required, *entry.optional} - {*entry.receivers})
    for _ in range(min(draw(st.sampled_from(_SPOILED)), len(names))):
        name = draw(st.sampled_from(names))
        spoiled[name] = draw(st.sampled_from(sorted(HOSTILE)))
        arguments[name] = HOSTILE[spoiled[name]]()
    return Input(entry, arguments, spoiled)
