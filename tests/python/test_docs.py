"""Every example in README.md and docs/*.md runs and prints what the page says; what pages point to is there.

The blocks of a page run in their order in one folder: `python` in one namespace, `sh` with bash. A block of
another language whose first line is a comment with a file's name (`// wind.cpp -- ...`, `# CMakeLists.txt`)
is written to that file, for the `sh` blocks to use. A `text` block right behind one that runs is what it
prints, `...` standing for anything. Above a block that must not run stands `<!-- not run: reason -->`.
"""

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = Path(sys.executable).parent
INSTALLED = ROOT / "build" / "install"
FILE_NAME = re.compile(r"^(?://|#|%) ([\w.-]+\.[a-z]+)\b")
NOT_RUN = re.compile(r"<!-- not run: \S.* -->")


@dataclass
class Block:
    place: str
    language: str
    text: str
    runs: bool
    output: str | None = None  # what the page says that it prints

    @property
    def file(self) -> str | None:
        found = FILE_NAME.match(self.text) if self.language not in ("python", "sh", "text") else None
        return found[1] if found else None


def blocks_of(page: Path) -> list[Block]:
    blocks: list[Block] = []
    opened: Block | None = None
    above = ""  # the last line that is not blank
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        fence = re.match(r"```(\w*)$", line)
        if opened is None and fence:
            place = f"{page.relative_to(ROOT)}:{number}"
            opened = Block(place, fence[1], "", runs=NOT_RUN.fullmatch(above) is None)
            answers = fence[1] == "text" and above == "```" and blocks and blocks[-1].runs
        elif opened is not None and line == "```":
            if answers:
                blocks[-1].output = opened.text
            else:
                blocks.append(opened)
            opened, above = None, line
        elif opened is not None:
            opened.text += line + "\n"
        elif line.strip():
            above = line.strip()
    assert opened is None, f"{page}: the block opened at {opened.place} is never closed"
    return blocks


def run_python(block: Block, namespace: dict) -> str:
    # As many empty lines as stand above it, so that a traceback shows the page's own line.
    page, line = block.place.split(":")
    code = compile("\n" * int(line) + block.text, ROOT / page, "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    return printed.getvalue()


def run_shell(block: Block, environment: dict[str, str]) -> str:
    command = ["bash", "-euo", "pipefail", "-c", block.text]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, f"{block.place}: exit {done.returncode}\n{done.stdout}"
    return done.stdout


def shell_environment() -> dict[str, str]:
    environment = {
        **os.environ,
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "CMAKE_PREFIX_PATH": str(INSTALLED),
        "CMAKE_GENERATOR": "Ninja",
        "MPLBACKEND": "Agg",
    }
    if ccache := shutil.which("ccache"):
        environment["CMAKE_CXX_COMPILER_LAUNCHER"] = ccache
    return environment


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict = {"__name__": "__main__"}
    for block in blocks_of(page):
        if not block.runs:
            continue
        printed = ""
        if block.language == "python":
            printed = run_python(block, namespace)
        elif block.language == "sh":
            printed = run_shell(block, shell_environment())
        elif block.file:
            package = INSTALLED / "lib" / "cmake" / "Carmina"
            assert block.language != "cpp" or package.is_dir(), f"{package} is missing: `make build` makes it"
            Path(block.file).write_text(block.text)
        if block.output is not None:
            checker = doctest.OutputChecker()
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert checker.check_output(block.output, printed, flags), (
                f"{block.place} prints\n{printed}\nand not\n{block.output}"
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_program_in_a_page_is_run_or_says_why_not(page):
    for block in blocks_of(page):
        runs = block.language in ("python", "sh") or block.file
        program = block.language in ("python", "sh", "bash", "console", "shell", "cpp", "c++", "cmake")
        assert runs or not block.runs or not program, f"{block.place}: this block would never run"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"https?:|mailto:|#", target):
            assert (page.parent / target.split("#")[0]).exists(), f"{page.name}: {target} is not there"


def cited_keys() -> set[str]:
    folders = ("include", "src", "cli", "python", "tests", "benchmarks", "papers", "docs", "examples")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*")]
    sources = [file for file in files if file.suffix in (".hpp", ".cpp", ".py", ".md")]
    pattern = re.compile(r"\[([A-Z][A-Za-z]*[0-9]{4}[a-z]?)\b[^\[\]]*\]")
    return {key for file in sources for key in pattern.findall(file.read_text())}


def test_every_key_cited_stands_in_the_references():
    references = (ROOT / "docs" / "references.bib").read_text()
    entries = dict(re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", references, flags=re.DOTALL | re.MULTILINE))
    keys = cited_keys()
    assert keys, "no key was found: the pattern is wrong"
    assert keys <= entries.keys()
    for key, entry in entries.items():
        for field in ("author", "title", "year"):
            assert re.search(rf"^  {field} *= \{{", entry, flags=re.MULTILINE), f"{key} has no {field}"


def help_options(*command: str) -> set[str]:
    text = subprocess.run([PROGRAMS / "carmina", *command, "--help"], capture_output=True, text=True).stdout
    return set(re.findall(r"--[a-z][a-z0-9-]*", text))


def test_the_command_line_page_lists_the_options_that_there_are():
    text = (ROOT / "docs" / "command-line.md").read_text()
    for command in ("fit", "tune", "predict", "evaluate", "info"):
        section = re.search(rf"^## carmina {command}\n(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE)
        assert section, f"there is no section for {command}"
        listed = set(re.findall(r"^\| `(--[a-z][a-z0-9-]*)", section[1], flags=re.MULTILINE))
        there_are = help_options(command) - {"--help"}
        if command == "tune":  # the section names its own options, and those of fit all together
            there_are -= help_options("fit")
        assert listed == there_are


def test_the_demo_runs(tmp_path):
    command = [sys.executable, ROOT / "examples" / "demo.py", "--rows", "800", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "bit-equal" in done.stdout
    assert (tmp_path / "out" / "demo.png").stat().st_size > 50_000
    assert (tmp_path / "out" / "friedman.safetensors").exists()
