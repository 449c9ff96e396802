"""All threads beside as many copies of one, and `auto` beside each solver: what carmina_scaling prints."""

import argparse
import subprocess
from pathlib import Path

import harness

PROGRAM = harness.ROOT / "build" / "release" / "benchmarks" / "scaling" / "carmina_scaling"


def rows_of(text: str) -> tuple[str, list[list[str]]]:
    """The line about the machine, and the table."""
    lines = [line.split("\t") for line in text.splitlines() if line]
    if not lines or lines[0][0] != "machine":
        raise SystemExit("scaling: expected the output of carmina_scaling, which begins with its machine")
    return ", ".join(lines[0][1:]), lines[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["scaling", "choices"])
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--threads", type=int, help="those of the machine, always")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that everything runs")
    parser.add_argument("--printed", type=Path, help="what the program printed, perhaps on another machine")
    args = parser.parse_args()
    if args.printed:
        printed = args.printed.read_text()
    else:
        words = ["choices"] if args.part == "choices" else ["20000", "1024"] if args.quick else []
        printed = subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    machine, (header, *rows) = rows_of(printed)
    table = harness.markdown(header, rows)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / f"{args.part}.md").write_text(f"{table}\n{machine}.\n")
    print(table, machine, sep="\n", flush=True)


if __name__ == "__main__":
    main()
