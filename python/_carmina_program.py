"""The program `carmina` of an installed package: a file in it, started in the place of this Python."""

import importlib.util
import os
import sys


def main() -> None:
    """Found without importing the package, which takes longer than the program does."""
    spec = importlib.util.find_spec("carmina")
    folder = spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else ""
    program = os.path.join(folder, "bin", "carmina")
    if not os.access(program, os.X_OK):
        sys.exit("carmina: this package was built without the program; `make build` makes it")
    os.execv(program, ["carmina", *sys.argv[1:]])
