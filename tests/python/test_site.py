"""What of the site needs no Sphinx: every page is in its contents, what people come for is near the front."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
SECTIONS = [page for page in SITE.glob("*.md") if page.name != "contents.md"]


def toctree(page: Path) -> list[str]:
    """The documents that a page's tables of contents list, in their order."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def links(page: Path) -> set[str]:
    """Documents that a page links to, as the site names them: with a section, where the link has one."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    start = Path("docs") if page.parent == ROOT / "docs" else Path()
    found = set()
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|mailto:|#", target):
            continue
        path, _, section = target.partition("#")
        name = (start / path).as_posix().removesuffix(".md")
        found |= {name, f"{name}#{section}"} if section else {name}
    return found


def source(name: str) -> Path | None:
    """The file of a document of the site; None for those that are generated."""
    for path in (ROOT / f"{name}.md", SITE / f"{name}.md"):
        if path.exists():
            return path
    return None


def test_every_page_is_in_the_contents():
    listed = [name for page in (SITE / "contents.md", *SECTIONS) for name in toctree(page)]
    assert len(listed) == len(set(listed)), "a page is listed twice"
    pages = {f"docs/{page.stem}" for page in (ROOT / "docs").glob("*.md")}
    pages |= {page.stem for page in ROOT.glob("*.md") if page.name != "README.md"}
    assert pages - set(listed) == set(), "pages that no toctree in docs/site/*.md lists"
    gone = {name for name in listed if name.startswith("docs/")} - pages
    assert gone == set(), "a toctree in docs/site/*.md lists pages that are not there"


def test_every_section_is_reached_from_the_front_page():
    assert {page.stem for page in SECTIONS} <= set(toctree(SITE / "contents.md"))


@pytest.mark.parametrize("page", SECTIONS, ids=lambda page: page.stem)
def test_a_section_says_what_each_of_its_pages_is_for(page):
    """The table of a section links to every page that its contents list."""
    linked = {name.removesuffix(".rst") for name in links(page)}
    assert set(toctree(page)) <= linked


# The heading under which a reader finds it, and the page.
NEAR = {
    "install": ("README", "## Install"),
    "first fit": ("docs/guide", "# From a table of data to a saved model"),
    "intervals": ("docs/python", "### Intervals"),
    "C++ use": ("docs/guide", "## In C++"),
}


@pytest.mark.parametrize("what", NEAR)
def test_what_people_come_for_is_within_two_clicks(what):
    name, heading = NEAR[what]
    assert heading in source(name).read_text().splitlines()
    reached, front = {"README"}, {"README"}
    for _ in range(2):
        known = [source(document.partition("#")[0]) for document in front]
        front = {link for page in known if page for link in links(page)} - reached
        if "README" in reached:
            front |= set(toctree(SITE / "contents.md")) - reached
        reached |= front
    assert name in reached, f"{what} is further than two clicks from the front page"


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


@pytest.fixture
def site_links():
    yield from script("site_links")


@pytest.fixture
def external_links():
    yield from script("external_links")


def test_links_to_other_sites_are_those_of_the_list(external_links):
    found = external_links.external_links()
    recorded = external_links.LIST.read_text().split()
    assert len(found) > 10
    assert list(found) == recorded, "`python scripts/external_links.py --record` writes the list"
    assert {address: why for address in found if (why := external_links.why_wrong(address))} == {}
    for address in ("http://example.org", "https://example", "https://a b.org", "https://example.org/a//b"):
        assert external_links.why_wrong(address), address
    for address in ("https://example.org:99999/", "https://example.org/%zz", "https://me@example.org/"):
        assert external_links.why_wrong(address), address


def test_versions_of_the_site_begin_with_this_one():
    version = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
    versions = json.loads((SITE / "versions.json").read_text())
    assert versions[0]["version"] == version
    assert all(set(one) == {"name", "version"} for one in versions)


def test_links_that_lead_nowhere_are_found(site_links, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "picture.png").write_bytes(b"")
    (tmp_path / "index.html").write_text(
        '<h1 id="top">A</h1><img src="picture.png"><a href="folder/other.html#here"></a><a href="#top"></a>'
        '<a href="https://example.org/gone"></a><a href="../0.0.1/index.html"></a>'
    )
    (tmp_path / "folder" / "other.html").write_text('<p id="here"></p><a href="../index.html#top">back</a>')
    assert site_links.broken_links(tmp_path) == []
    (tmp_path / "picture.png").unlink()
    (tmp_path / "folder" / "other.html").write_text('<a href="../index.html#nowhere">back</a>')
    assert site_links.broken_links(tmp_path) == [
        "folder/other.html: ../index.html#nowhere names no place of that page",
        "index.html: picture.png is not there",
        "index.html: folder/other.html#here names no place of that page",
    ]
