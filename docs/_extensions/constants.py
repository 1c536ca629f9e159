"""Constants of the package on the page that derives them, with the values they have in the code.

``{constant}`residual.split.LOSS` `` writes the name and the value; a name that is not there is a warning, and
so an error of the build. `tests/test_constants.py` checks the other direction: no constant is left out.
"""

import pkgutil
from collections.abc import Iterable
from math import log2

from docutils import nodes


def shown(value: object) -> str:
    """A number, or several, as one would write them; large powers of two as such."""
    if isinstance(value, Iterable):
        return ", ".join(map(shown, value))
    number = float(value)
    exponent = log2(number) if number > 0.0 else 0.5
    if exponent == int(exponent) and not 0.01 < number < 100.0:
        return "2" + str(int(exponent)).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))
    return f"{value}" if isinstance(value, int) else f"{number:.15g}"


def constant(name, rawtext, text, lineno, inliner, options=None, content=()):
    """Role: name and value of a constant of the package."""
    try:
        value = pkgutil.resolve_name(f"stfem.{text}")
    except (ImportError, AttributeError):
        message = inliner.reporter.warning(f"stfem.{text} does not exist", line=lineno)
        return [inliner.problematic(rawtext, rawtext, message)], [message]
    return [nodes.literal(text, text), nodes.Text(f" = {shown(value)}")], []


def setup(app) -> dict[str, object]:
    app.add_role("constant", constant)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
