"""Links of the pages to other sites: are they written well, and are they those of the list?

    python scripts/external_links.py            # syntax, and the list docs/site/external-links.txt
    python scripts/external_links.py --record   # writes the list, for a diff to be read
    python scripts/external_links.py --try      # asks each, where there is a network: the nightly run does

The build of the site asks nobody: it must work without a network.
"""

import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "site" / "external-links.txt"
# Addresses in Markdown and reStructuredText; not those in code, which are examples.
ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]]+")
WITHOUT_HTTPS = {"gaussianprocess.org"}
# What stands in BibTeX and headers is no link of the site.
PAGES = ("*.md", "docs/*.md", "docs/site/*.md", "examples/*.py", "packaging/*.md")


def external_links() -> dict[str, str]:
    """Each address with the first page that has it."""
    found: dict[str, str] = {}
    for pattern in PAGES:
        for page in sorted(ROOT.glob(pattern)):
            text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            for address in ADDRESS.findall(text):
                found.setdefault(address.rstrip(".,;:"), page.relative_to(ROOT).as_posix())
    return dict(sorted(found.items()))


def why_wrong(address: str) -> str:
    """What is wrong with how an address is written; empty: nothing."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        return str(error)
    host = parts.hostname or ""
    if parts.scheme != "https" and host not in WITHOUT_HTTPS:
        return "not https"
    if not re.fullmatch(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}", host):
        return f"no name of a host: '{host}'"
    if port or parts.username:
        return "a port or a name of a user"
    if re.search(r"%(?![0-9A-Fa-f]{2})|[^\x21-\x7e]|//", parts.path):
        return "a path that must be quoted"
    return ""


def why_not_there(address: str) -> str:
    request = urllib.request.Request(address, headers={"User-Agent": "Mozilla/5.0 (link check)"})
    try:
        with urllib.request.urlopen(request, timeout=30):
            return ""
    except urllib.error.HTTPError as error:
        return "" if error.code in (403, 429) else str(error)  # refused to programs, not gone
    except OSError as error:
        return str(error)


def main() -> int:
    links = external_links()
    if "--record" in sys.argv:
        LIST.write_text("".join(f"{address}\n" for address in links))
    recorded = set(LIST.read_text().split())
    wrong = [
        f"{page}: {address}: {why_wrong(address)}" for address, page in links.items() if why_wrong(address)
    ]
    wrong += [
        f"{page}: {address} is not in {LIST.name}"
        for address, page in links.items()
        if address not in recorded
    ]
    wrong += [f"{LIST.name}: {address} is on no page" for address in sorted(recorded - links.keys())]
    if "--try" in sys.argv:
        wrong += [
            f"{page}: {address}: {why}" for address, page in links.items() if (why := why_not_there(address))
        ]
    print("\n".join([*wrong, f"{len(links)} links to other sites, {len(wrong)} complaints"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
