"""Runs every check of `make test` on what is built, goes on after a failure, and counts them at the end."""

import argparse
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
VENV = ROOT / ".venv" / "bin"
CPP_FOLDERS = (
    "include",
    "src",
    "arrow",
    "c",
    "cli",
    "mpi",
    "python",
    "tests",
    "fuzz",
    "benchmarks",
    "papers",
    "playground",
)
CLANG_FORMAT = "clang-format-19"


def run(*command: str | Path) -> bool:
    print("$", *command, flush=True)
    try:
        return subprocess.run(command, cwd=ROOT).returncode == 0
    except FileNotFoundError as error:
        print(error)
        return False


def one(ok: bool) -> tuple[int, int]:
    """(passed, failed) of a check that is one step."""
    return (1, 0) if ok else (0, 1)


def counted(ok: bool, report: Path) -> tuple[int, int]:
    """(passed, failed) by a JUnit report; a runner that failed without saying why is itself a failure."""
    if not report.exists():
        return one(False)
    suites = xml.parse(report).getroot().iter("testsuite")
    sums = [
        [int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")] for suite in suites
    ]
    tests, failures, errors, skipped = (sum(column) for column in zip(*sums))
    failed = failures + errors
    if tests == 0 or (failed == 0 and not ok):
        failed += 1
    return tests - failures - errors - skipped, failed


def cpp_tests() -> tuple[int, int]:
    report = BUILD / "ctest.xml"
    report.unlink(missing_ok=True)
    jobs = str(os.cpu_count() or 1)
    command = ["ctest", "--test-dir", BUILD / "release", "--output-on-failure", "-j", jobs]
    return counted(run(*command, "--output-junit", report, "--progress"), report)


def outside_project() -> tuple[int, int]:
    """Strangers' projects that find the installed library: one that fits, one that predicts alone."""

    def built(source: str, build: Path) -> bool:
        configure = ["cmake", "-S", source, "-B", build, "-G", "Ninja", "--fresh", "--log-level=WARNING"]
        return run(*configure, f"-DCMAKE_PREFIX_PATH={BUILD / 'install'}") and run("cmake", "--build", build)

    fits, predicts = BUILD / "outside", BUILD / "outside_predict"
    model = fits / "outside.safetensors"
    return one(
        built("tests/outside", fits)
        and run(fits / "outside", model)
        and built("tests/outside/predict", predicts)
        and run(predicts / "predict", model, f"{model}.numbers")
        and is_small(predicts / "predict")
    )


def is_small(program: Path) -> bool:
    """That the stripped program has 1.5 MB at most and needs the language's own libraries alone."""
    shown = subprocess.run(
        ["readelf", "--dynamic", program], capture_output=True, text=True, check=True
    ).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", shown))
    size = program.stat().st_size
    own = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}
    print(f"{program.name}: {size} bytes, needs {' '.join(sorted(needed))}", flush=True)
    return size < 1_500_000 and needed <= own


def formats() -> tuple[int, int]:
    files = [
        path
        for folder in CPP_FOLDERS
        for kind in ("*.[ch]pp", "*.cu", "*.cuh")
        for path in sorted((ROOT / folder).rglob(kind))
        if path.is_file()
    ]
    print(f"$ {CLANG_FORMAT} --dry-run -Werror ({len(files)} files)", flush=True)
    checks = [
        subprocess.run([CLANG_FORMAT, "--dry-run", "-Werror", *files], cwd=ROOT).returncode == 0,
        run(VENV / "ruff", "check", "--quiet"),
        run(VENV / "ruff", "format", "--check", "--quiet"),
    ]
    return sum(checks), len(checks) - sum(checks)


def python_tests() -> tuple[int, int]:
    report = BUILD / "pytest.xml"
    report.unlink(missing_ok=True)
    command = [VENV / "python", "-m", "pytest", "--quiet", "-n", "auto", "--dist", "worksteal"]
    return counted(run(*command, f"--junit-xml={report}"), report)


STEPS = {"cpp": cpp_tests, "outside": outside_project, "formats": formats, "python": python_tests}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"which of {', '.join(STEPS)}; all if none")
    names = parser.parse_args().steps or list(STEPS)
    results = {name: STEPS[name]() for name in names}
    print()
    for name, (passed, failed) in results.items():
        print(f"{name:8} {passed:5} passed, {failed} failed")
    passed, failed = (sum(column) for column in zip(*results.values()))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
