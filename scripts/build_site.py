"""Builds the site: brings its sources together in build/site-source, runs Doxygen and Sphinx, checks links.

    python scripts/build_site.py [--out build/docs]

Pages stay where they are, and their relative links are those of the site: README.md is the front page.
Generated beside them: a list of the Python package's public names, a page for each folder of C++ headers, and
what the program prints as its help.
"""

import argparse
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from external_links import external_links, why_wrong
from site_links import broken_links
from site_names import missing_names

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "build" / "site-source"
SITE = ROOT / "docs" / "site"
LINK = re.compile(r"(?:\]\(|^\[[^\]]+\]: )(?!https?:|mailto:|#)([^)\s#]+)", re.MULTILINE)
COMMANDS = ("", "fit", "tune", "predict", "evaluate", "info")
MODULES = ("kernels", "sketches", "losses", "outputs", "metrics", "datasets", "theory", "plot")


def write(path: Path, text: str) -> None:
    """Only what changed, so that Sphinx reads only that again."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if not to.exists() or to.stat().st_mtime < path.stat().st_mtime:
        shutil.copy2(path, to)


def gather_pages() -> None:
    """The pages at the places they have in the repository, and each file that one of them links to."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    for page in pages:
        text = page.read_text()
        for target in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)):
            linked = (page.parent / target).resolve()
            if linked.is_file() and linked.suffix != ".md":
                copy(linked, SOURCE / linked.relative_to(ROOT))
        text = re.sub(r"\]\(((?:\.\./)?)README\.md", r"](\1index.md", text)
        text = re.sub(r"\]\(examples/(?!demo)(\w+)\.py\)", r"](examples/\1.rst)", text)  # the gallery's page
        name = page.relative_to(ROOT)
        if name == Path("README.md"):
            name, text = Path("index.md"), text + (SITE / "contents.md").read_text()
        write(SOURCE / name, text)
    for page in SITE.glob("*.md"):
        if page.name not in ("contents.md", "playground.md"):
            write(SOURCE / page.name, page.read_text())


def add_playground() -> None:
    """Its page, and the playground itself where `make playground` has built it."""
    text = (SITE / "playground.md").read_text()
    if (ROOT / "build" / "playground" / "playground.html").exists():
        text += (
            '\n<a href="_static/playground.html">Open it as a page of its own</a>\n\n'
            '<iframe src="_static/playground.html" title="Field, curve and approximation"></iframe>\n'
        )
    else:
        text += "\nThis copy of the site was built without it: `make playground` compiles it.\n"
    write(SOURCE / "playground.md", text)


def list_python() -> None:
    """`reference/python`: each name in an `__all__`, with a page of its own."""
    package = importlib.import_module("carmina")

    def table(module: str, names: list[str]) -> str:
        lines = "".join(f"   {name}\n" for name in names)
        head = f".. currentmodule:: {module}\n\n.. autosummary::\n"
        return f"{head}   :toctree: {module}\n   :nosignatures:\n\n{lines}"

    own = [name for name in package.__all__ if name not in MODULES and not name.startswith("__")]
    pages = "".join(f"   {module}\n" for module in MODULES)
    write(
        SOURCE / "reference" / "python.rst",
        "Python\n======\n\n``import carmina``. :doc:`/docs/python` shows how it goes together.\n\n"
        + table("carmina", own)
        + "\nModules\n-------\n\n.. toctree::\n   :maxdepth: 1\n\n"
        + pages,
    )
    for name in MODULES:
        module = importlib.import_module(f"carmina.{name}")
        title = f"carmina.{name}"
        text = f"{title}\n{'=' * len(title)}\n\n.. automodule:: {title}\n   :no-members:\n\n"
        write(SOURCE / "reference" / f"{name}.rst", text + table(title, sorted(module.__all__)))


def list_cpp() -> None:
    """`reference/cpp`: a page for each folder of the headers that are installed."""
    headers = ROOT / "include" / "carmina"
    folders = sorted(folder for folder in headers.iterdir() if folder.is_dir())
    for folder in folders:
        text = f"{folder.name}\n{'=' * len(folder.name)}\n\n"
        for header in sorted(folder.glob("*.hpp")):
            name = header.relative_to(ROOT / "include").as_posix()
            text += (
                f"{name}\n{'-' * len(name)}\n\n{first_comment(header)}\n\n.. doxygenfile:: {header.name}\n\n"
            )
        write(SOURCE / "reference" / "cpp" / f"{folder.name}.rst", text)
    pages = "".join(f"   {folder.name}\n" for folder in folders)
    write(
        SOURCE / "reference" / "cpp" / "index.rst",
        "C++\n===\n\n``#include <carmina/carmina.hpp>``, or single headers.\n\n"
        ".. toctree::\n   :maxdepth: 2\n\n" + pages,
    )


def first_comment(header: Path) -> str:
    lines = []
    for line in header.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    text = " ".join(lines).split(" -- ", 1)[-1]
    return re.sub(r"([*|_`\\])", r"\\\1", text[:1].upper() + text[1:])


def capture_help() -> None:
    program = Path(sys.executable).parent / "carmina"
    text = "# Command line\n\nWhat the program says; [this page](../docs/command-line.md) explains it.\n"
    for command in COMMANDS:
        words = [command] if command else []
        environment = {**os.environ, "COLUMNS": "100"}
        done = subprocess.run(
            [program, *words, "--help"], capture_output=True, text=True, check=True, env=environment
        )
        text += f"\n## carmina {command or '--help'}\n\n```text\n{done.stdout.rstrip()}\n```\n"
    write(SOURCE / "reference" / "command-line.md", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs", help="where the site goes")
    out = parser.parse_args().out
    gather_pages()
    add_playground()
    list_python()
    list_cpp()
    capture_help()
    (ROOT / "build" / "doxygen").mkdir(exist_ok=True)
    subprocess.run(["doxygen", "scripts/Doxyfile"], cwd=ROOT, check=True)
    # For an example that compiles a program.
    installed = ROOT / "build" / "install" / "lib" / "pkgconfig"
    os.environ["PKG_CONFIG_PATH"] = os.pathsep.join(
        filter(None, [str(installed), os.getenv("PKG_CONFIG_PATH")])
    )
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", SITE]
    done = subprocess.run([*command, "-d", ROOT / "build" / "site-cache", SOURCE, out], cwd=ROOT)
    if done.returncode:
        return done.returncode
    broken, missing = broken_links(out), missing_names(out, "carmina", MODULES, ROOT / "build" / "doxygen")
    outside = external_links()
    bad = [
        f"{page}: {address}: {why_wrong(address)}" for address, page in outside.items() if why_wrong(address)
    ]
    wrong = [*broken, *missing, *bad]
    for line in wrong:
        print(line, file=sys.stderr)
    pages = len(list(out.rglob("*.html")))
    print(f"{pages} pages in {out}; {len(broken)} broken links, {len(missing)} names without a place")
    print(
        f"{len(outside)} links to other sites, {len(bad)} written wrongly; external_links.py --try asks them"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
