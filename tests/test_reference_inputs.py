"""Every input of the reference that users will bring (R4, items 1 to 30) has a test that names its item."""

import re
from pathlib import Path

ITEMS = range(1, 31)
NAMED = re.compile(r"def test_(\d\d)_|R4 item (\d+)")


def test_every_item_has_a_test():
    others = [path for path in Path(__file__).parent.rglob("*.py") if path != Path(__file__)]
    found = [
        int(number)
        for path in others
        for pair in NAMED.findall(path.read_text("utf-8"))
        for number in pair
        if number
    ]
    assert sorted(set(found)) == list(ITEMS)
