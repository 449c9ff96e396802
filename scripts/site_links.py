"""Checks the links of a built site: each page, picture, style and heading that a page names is there."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page points to, and the places in it that others can point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name in ("href", "src"):
                self.targets.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)


def broken_links(folder: Path) -> list[str]:
    """One line for each link inside the site that leads nowhere."""
    folder = folder.resolve()
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.parts
    }
    wrong = []
    for path, page in pages.items():
        for target in dict.fromkeys(page.targets):
            link = urlsplit(target)
            if link.scheme or link.netloc:
                continue
            where = (path.parent / unquote(link.path)).resolve() if link.path else path
            if where.is_dir():
                where = where / "index.html"
            name = path.relative_to(folder)
            if not where.is_relative_to(folder):
                continue  # another version's folder, beside this one
            if not where.exists():
                wrong.append(f"{name}: {target} is not there")
            elif link.fragment and where in pages and unquote(link.fragment) not in pages[where].places:
                wrong.append(f"{name}: {target} names no place of that page")
    return wrong


if __name__ == "__main__":
    found = broken_links(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
