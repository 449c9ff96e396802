"""Runs the parts of `make check`, each within its budget; goes on after a failure and says what each took."""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Minutes on two cores, compilers included, from nothing.
PARTS = {
    "test-long": (["test-long"], 60),
    "test-sanitized": (["test-sanitized"], 120),
    "fuzz": (["fuzz", "SECONDS=60"], 30),
    "compile-clang": (["compile-clang"], 25),
    "lint": (["lint"], 60),
    "cuda": (["compile-cuda"], 5),
    "playground": (["test-playground"], 15),
    "docs": (["docs"], 15),
}


def run(words: list[str], minutes: float) -> str:
    """ "" when it went well, else what was wrong."""
    print("$ make", *words, flush=True)
    process = subprocess.Popen(["make", *words], cwd=ROOT, start_new_session=True)
    try:
        return "" if process.wait(60 * minutes) == 0 else "failed"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        return f"took longer than its {minutes} minutes"
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGTERM)
        raise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which of {', '.join(PARTS)}; all if none")
    names = parser.parse_args().parts or list(PARTS)
    rows, good = [], True
    for name in names:
        words, budget = PARTS[name]
        start = time.monotonic()
        trouble = run(words, budget)
        minutes = (time.monotonic() - start) / 60
        rows.append(f"{name:15} {minutes:6.1f} of {budget:3} minutes  {trouble or 'passed'}")
        good = good and not trouble
    print("\n" + "\n".join(rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
