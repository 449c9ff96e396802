"""Software that the project's environment does not hold, each in one of its own, from a requirements file."""

import argparse
import subprocess
import venv
from pathlib import Path

import harness


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--environment",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="a Python that has what requirements-NAME.txt asks for; else it is installed",
    )


def python_of(name: str, asked: list[str], out: Path) -> tuple[str | None, str]:
    """The Python that has what requirements-NAME.txt asks for, or None and why it could not be installed."""
    given = dict(one.split("=", 1) for one in asked)
    if name in given:
        return given[name], ""
    folder = out / f"{name}-venv"
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"  installing {name} into an environment of its own", flush=True)
        venv.create(folder, with_pip=True)
    wanted = str(harness.HERE / f"requirements-{name}.txt")
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
        wanted,
    ]
    child = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if child.returncode == 0:
        return str(python), ""
    return None, (child.stderr.strip().splitlines() or ["no message"])[-1]
