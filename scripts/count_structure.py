"""Counts what the shape of the code promises: loops over rows and tiles, chains of decisions, headers, sizes.

`python scripts/count_structure.py` counts the tree that the script is in, `--root DIR` another one, and
`--before DIR` puts both side by side: an older commit is counted by the same rules. `--files` lists what was
counted. Comments never count. The rules:

row loops    Calls of `next` or `rewind` of a row source, outside the folders named `data`. A loop counts
             once, together with a `rewind` at most 12 lines above it. A source that forwards to another one
             does not count: a call in the body of a function named `next` or `rewind` that has no loop.
tile loops   Calls of a map's `prepare` or `tile`, outside the folders named `features`; calls at most 12
             lines apart count once.
decisions    Lines that compare an approximation or a solver with a word or a value of the type, outside the
             table of ways (models/ways*) and the task that it reads (models/fit_task*). A chain is a file
             with at least two such lines.
couplings    Enumerations, and variants, that say how outputs go together.
headers      What cmake/CarminaInstall.cmake installs.
to add       Files of code that name an existing thing of the kind; those that name it in comments or
             docstrings alone are given after a plus sign. The name may have other uses (Cauchy is also a
             distribution), and a new thing may need less than an old one: read the list (`--files`).
"""

import argparse
import io
import re
import statistics
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

TOGETHER = 12  # lines
WORDS = "auto|direct|cg|lsmr|idr|sgd|adam|newton|lbfgs|fourier|exact"
DECISION = re.compile(
    rf"\b(?:approximation|solver)(?:\(\))?_?\s*[!=]=|[!=]=\s*[\"'](?:{WORDS})[\"']|[!=]=\s*(?:Solver|Approximation)::"
)
COUPLING = re.compile(
    r"enum(?:\s+class)?\s+(\w+)?\s*\{[^}]*\b(?:curl_free|divergence_free)\b[^}]*\}"
    r"|using\s+(\w*Coupling)\s*=\s*std::variant"
)
# Things that exist, by the pattern of their names in the code.
EXAMPLES = {
    "a kernel (Cauchy)": r"cauchy",
    "a kernel with a parameter (RationalQuadratic)": r"rational_?quadratic",
    "a loss (Huber)": r"huber",
    "a sketch (CountSketch)": r"count_?sketch",
    "a map (SketchedMap)": r"sketched_?map",
    "a solver (lsmr)": r"lsmr",
    "an option of a fit (validation_fraction)": r"validation[_-]fraction",
    "a coupling of outputs (curl-free)": r"curl[_-]?free",
}


def without_cpp_comments(text: str) -> str:
    """The text with spaces in the place of comments, so that lines keep their numbers."""
    pattern = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/'

    def blank(found: re.Match) -> str:
        return found[0] if found[0][0] in "\"'" else re.sub(r"[^\n]", " ", found[0])

    return re.sub(pattern, blank, text, flags=re.DOTALL)


def without_python_comments(text: str) -> str:
    """The same for Python: comments, and strings that are statements."""
    lines = [list(line) for line in text.splitlines(keepends=True)]
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        statement = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and statement):
            (first, start), (last, end) = token.start, token.end
            for row in range(first, last + 1):
                line = lines[row - 1]
                # (Python 3.12.1 counts the bytes of some lines.)
                for column in range(
                    start if row == first else 0, min(end, len(line)) if row == last else len(line)
                ):
                    if line[column] != "\n":
                        line[column] = " "
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    return "".join("".join(line) for line in lines)


@dataclass(frozen=True)
class Source:
    path: str  # from the root, with slashes
    text: str

    @cached_property
    def code(self) -> str:
        return (without_python_comments if self.path.endswith(".py") else without_cpp_comments)(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def inside(self, *folders: str) -> bool:
        return any(folder in self.path.split("/")[:-1] for folder in folders)

    def place(self, at: int) -> str:
        return f"{self.path}:{self.code.count(chr(10), 0, at) + 1}"


def closing(text: str, at: int) -> int:
    """The place behind the bracket that closes the one at `at`."""
    pairs, depth = {"(": ")", "{": "}"}, 0
    opened, closed = text[at], pairs[text[at]]
    for i in range(at, len(text)):
        depth += (text[i] == opened) - (text[i] == closed)
        if depth == 0:
            return i + 1
    return len(text)


def forwarding(code: str) -> list[tuple[int, int]]:
    """Bodies of functions named next or rewind that contain no loop."""
    bodies = []
    for found in re.finditer(r"(?<![.>\w])(?:\w+::|\w+<\w+>::)?(?:next|rewind)\(", code):
        parameters = closing(code, found.end() - 1)
        body = re.compile(r"[\s\w]*\{").match(code, parameters)
        if body:
            end = closing(code, body.end() - 1)
            if not re.search(r"\b(?:for|while|do)\b", code[body.end() : end]):
                bodies.append((found.start(), end))
    return bodies


def places(source: Source, calls: list[tuple[int, int]]) -> list[str]:
    """Of calls (from, to), those at most TOGETHER lines apart being one."""
    found: list[str] = []
    last = None
    for at, end in sorted(calls):
        line = source.code.count("\n", 0, at)
        if last is None or line - last > TOGETHER:
            found.append(source.place(at))
        last = source.code.count("\n", 0, end)
    return found


def row_loops(source: Source) -> list[str]:
    if source.inside("data") or source.path.endswith(".py"):
        return []
    ignored = forwarding(source.code)
    loops, rewinds = [], []
    for found in re.finditer(r"(?:\.|->)(next\(|rewind\(\))", source.code):
        if any(first <= found.start() < last for first, last in ignored):
            continue
        (loops if found[1] == "next(" else rewinds).append(found.span())
    # The calls in the head of one `for` are one loop.
    heads = [(m.start(), closing(source.code, m.end() - 1)) for m in re.finditer(r"\bfor\s*\(", source.code)]
    counted: set[int] = set()
    for first, _ in loops:
        counted.add(next((head for head, end in heads if head < first < end), first))
    lines = [source.code.count("\n", 0, at) for at in counted]
    for first, _ in rewinds:
        line = source.code.count("\n", 0, first)
        if not any(line <= other <= line + TOGETHER for other in lines):
            counted.add(first)
    return [source.place(at) for at in sorted(counted)]


def tile_loops(source: Source) -> list[str]:
    if source.inside("features") or source.path.endswith(".py"):
        return []
    calls = re.finditer(r"(?:\.|->)(?:prepare|tile)\((?!\s*\))", source.code)
    return places(source, [found.span() for found in calls])


def decisions(source: Source) -> list[str]:
    if re.search(r"models/(?:\w+/)*(?:ways|fit_task)\w*\.", source.path):
        return []
    lines = source.code.splitlines()
    return [f"{source.path}:{i}" for i, line in enumerate(lines, start=1) if DECISION.search(line)]


def couplings(source: Source) -> list[str]:
    if source.path.endswith(".py"):
        return []
    return [f"{source.place(m.start())} {m[1] or m[2] or ''}" for m in COUPLING.finditer(source.code)]


@dataclass
class Row:
    what: str
    value: str
    files: list[str] = field(default_factory=list)


class Tree:
    def __init__(self, root: Path):
        self.root = root
        self.library = self.read("include", "src")
        self.border = self.read("cli", "python/src")
        self.package = self.read("python", ends=("py",))
        self.tests = self.read("tests", ends=("cpp", "hpp", "py"))
        if not self.library:
            raise SystemExit(f"count_structure: {root} has no include/ and src/ with C++ in them")

    def read(self, *folders: str, ends: tuple[str, ...] = ("cpp", "hpp")) -> list[Source]:
        paths = [
            path for folder in folders for end in ends for path in (self.root / folder).rglob(f"*.{end}")
        ]
        return [Source(path.relative_to(self.root).as_posix(), path.read_text()) for path in sorted(paths)]

    @property
    def cpp(self) -> list[Source]:
        return self.library + self.border

    def found(self, rule: Callable[[Source], list[str]], sources: list[Source] | None = None) -> list[str]:
        return [place for source in (self.cpp if sources is None else sources) for place in rule(source)]

    def installed_headers(self) -> list[str]:
        text = re.sub(r"#[^\n]*", "", (self.root / "cmake" / "CarminaInstall.cmake").read_text())
        headers: set[str] = set()
        for folder in re.findall(r"install\(DIRECTORY\s+(\S+)", text):
            headers |= {p.relative_to(self.root).as_posix() for p in (self.root / folder).rglob("*.hpp")}
        for files in re.findall(r"install\(FILES\s+([^)]*?)\s+DESTINATION", text):
            headers |= set(re.findall(r"\S+\.hpp\b", files))
        return sorted(headers)

    def naming(self, pattern: str) -> tuple[list[str], list[str]]:
        """Files whose code has the name, and files where comments or docstrings alone have it."""
        name = re.compile(rf"(?<![A-Za-z]){pattern}", re.IGNORECASE)
        sources = self.cpp + self.package
        code = [source.path for source in sources if name.search(source.code)]
        return code, [s.path for s in sources if s.path not in code and name.search(s.text)]

    def rows(self) -> Iterator[Row]:
        for what, rule in (
            ("row loops outside the door", row_loops),
            ("tile loops outside the door", tile_loops),
        ):
            found = self.found(rule)
            yield Row(what, str(len(found)), found)
        for language, sources in (("C++", self.cpp), ("Python", self.package)):
            found = self.found(decisions, sources)
            chains = [s.path for s in sources if len(decisions(s)) >= 2]
            yield Row(
                f"decisions by approximation or solver outside the table, {language}", str(len(found)), found
            )
            yield Row(f"files with a chain of them, {language}", str(len(chains)), chains)
        found = self.found(couplings)
        yield Row("types for how outputs go together", str(len(found)), found)
        headers = self.installed_headers()
        yield Row("installed headers", str(len(headers)), headers)
        sizes = [source.lines for source in self.library]
        largest = max(self.library, key=lambda source: source.lines)
        yield Row("files of the library", f"{len(sizes):,}")
        yield Row("median lines of a file of the library", f"{statistics.median(sizes):.0f}")
        yield Row("largest", f"{largest.lines}", [largest.path])
        for what, sources in (
            ("lines of C++: library, program, extension", self.cpp),
            ("lines of Python: the package", self.package),
            ("lines of tests", self.tests),
        ):
            yield Row(what, f"{sum(source.lines for source in sources):,}")
        for what, pattern in EXAMPLES.items():
            code, text = self.naming(pattern)
            value = f"{len(code)}" + (f" + {len(text)}" if text else "")
            yield Row(f"files to add {what}", value, code + [f"{path} (text alone)" for path in text])


def table(columns: dict[str, list[Row]]) -> str:
    first = next(iter(columns.values()))
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for i, row in enumerate(first):
        values = [rows[i].value for rows in columns.values()]
        lines.append(f"| {row.what} | {' | '.join(values)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=Path, default=here, metavar="DIR", help="the tree to count [this one]")
    parser.add_argument("--before", type=Path, metavar="DIR", help="another tree, for a column before")
    parser.add_argument("--files", action="store_true", help="list what was counted, below the table")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 unless there are no loops outside the door"
    )
    given = parser.parse_args()
    columns = {}
    if given.before:
        columns["before"] = list(Tree(given.before).rows())
    columns["now" if given.before else "count"] = now = list(Tree(given.root).rows())
    print(table(columns))
    if given.files:
        for name, rows in columns.items():
            for row in rows:
                if row.files:
                    print(f"\n{row.what}, {name}: {row.value}", *row.files, sep="\n  ")
    return int(given.check and any(row.value != "0" for row in now if "loops" in row.what))


if __name__ == "__main__":
    sys.exit(main())
