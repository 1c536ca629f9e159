"""The examples of the documentation run, page by page, and print what the pages say they print."""

import doctest
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILT = {"_build", "gallery"}  # folders that Sphinx writes
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if not BUILT & set(path.relative_to(ROOT).parts) and "```python\n" in path.read_text(encoding="utf-8")
]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def run_page(text: str, name: str) -> int:
    """Run all Python blocks in one namespace, those with prompts as doctests; returns the number of blocks.

    Lines are numbered as in the page.
    """
    names: dict[str, object] = {"__name__": name}
    count = 0
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        block, line = match[1], text[: match.start(1)].count("\n")
        count += 1
        if not block.startswith(">>>"):
            exec(compile("\n" * line + block, name, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, name, name, line)
        report = io.StringIO()
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.write, clear_globs=False)
        names.update(test.globs)  # the test works on a copy
        assert not report.getvalue(), report.getvalue()
    return count


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_the_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert run_page(text, str(page)) == text.count("```python\n") > 0


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_to_files(page):
    """What the pages that no builder checks point to is there."""
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_guaranteed_in_the_readme(capsys):
    """Printed by its two examples, a bare function first and then exact data."""
    run_page((ROOT / "README.md").read_text(encoding="utf-8"), "README.md")
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line in ("True", "False")] == ["False", "True"]


@pytest.mark.parametrize("block", [">>> 1 + 1\n3\n", "raise AssertionError\n", ">>> unknown\n"])
def test_wrong_examples_are_seen(block):
    with pytest.raises(AssertionError):
        run_page(f"```python\nvalue = 2\n```\n\n```python\n{block}```\n", "page")


def test_names_live_on_between_blocks():
    page = "```python\na = 1\n```\n```python\n>>> b = a + 1\n```\n```python\n>>> a + b\n3\n```\n"
    assert run_page(page, "page") == 3
