"""Check the links inside built pages: every file and every anchor that a page points to has to exist."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Anchors and targets of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        self.targets.update(given[name] for name in ("href", "src") if name in given)


def broken_links(folder: Path) -> list[str]:
    """One sentence for each link to nowhere among the pages of a folder."""
    files = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]  # no templates
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    found = []
    for path, page in pages.items():
        for target in sorted(page.targets):
            link = urlsplit(target)
            if link.scheme or link.netloc:
                continue
            place = (path.parent / unquote(link.path)).resolve() if link.path else path.resolve()
            place = place / "index.html" if place.is_dir() else place
            anchor = unquote(link.fragment)
            if not place.exists():
                found.append(f"{path.relative_to(folder)}: {target} does not exist")
            elif anchor and place in pages and anchor not in pages[place].anchors:
                found.append(f"{path.relative_to(folder)}: {target} has no such anchor")
    return found


if __name__ == "__main__":
    root = Path(sys.argv[1]).resolve()
    broken = broken_links(root)
    print(*broken, sep="\n", end="\n" if broken else "")
    sys.exit(1 if broken or not any(root.rglob("*.html")) else 0)
