"""All benchmarks, one after the other: JSON and a table each, on request also in the documents."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "versus"))
import environments  # noqa: E402
import harness  # noqa: E402

PAGE = harness.ROOT / "docs" / "benchmarks.md"
# The script in versus/ of each part, and its argument.
SCRIPTS = {
    "fourier": ("scikit_learn.py", "fourier"),
    "nystroem": ("scikit_learn.py", "nystroem"),
    "prediction": ("scikit_learn.py", "prediction"),
    "exact": ("scikit_learn.py", "exact"),
    "quantile": ("scikit_learn.py", "quantile"),
    "svr": ("peers.py", "svr"),
    "process": ("peers.py", "process"),
    "peers": ("peers.py", "peers"),
    "growth": ("growth.py",),
    "big": ("against_gram.py", "big"),
    "mnist": ("against_gram.py", "mnist"),
    "out_of_core": ("out_of_core.py",),
    "mixture": ("gpytorch_mixture.py",),
    "sketched": ("sketched_numpy.py",),
    "path": ("alpha_path.py",),
    "busy": ("busy.py",),
    "scaling": ("scaling.py", "scaling"),
    "choices": ("scaling.py", "choices"),
    "grid": ("grid.py",),
    "serving": ("serving.py",),
}
PARTS = ("micro", *SCRIPTS)
PICTURES = {"growth": "Seconds of a fit against rows, inputs, outputs and components"}


def micro(args: argparse.Namespace) -> None:
    machine = harness.machine(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    raw = args.out / "micro-raw.json"
    command = [args.micro, f"--benchmark_out={raw}", f"--threads={args.threads}"]
    subprocess.run(command + ["--quick"] * args.quick, check=True)
    seen = json.loads(raw.read_text())
    raw.unlink()
    rows = []
    for run in seen["benchmarks"]:
        name, limit = run["name"].split("/")[0], run["name"].startswith("limit")
        cells = [f"{run['real_time']:.2f}", rate(run), rate(run, "limit"), f"{run['of_limit']:.0%}"]
        rows.append([name, *(["", rate(run), "", ""] if limit else cells)])
    header = ["", "ms", "rate", "the machine's limit", "reached"]
    harness.write(args.out, "micro", {"machine": machine, **seen}, harness.markdown(header, rows))


def rate(run: dict, key: str = "rate") -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if run[key] >= factor:
            return f"{run[key] / factor:.3g} {prefix}{run['label']}"
    return f"{run[key]:.3g} {run['label']}"


def versus(script: str, *arguments: str, args: argparse.Namespace) -> None:
    command = [sys.executable, str(HERE / "versus" / script), *arguments, "--out", str(args.out)]
    command += ["--threads", str(args.threads), *["--quick"] * args.quick]
    if script in ("peers.py", "gpytorch_mixture.py"):
        command += [word for one in args.environment for word in ("--environment", one)]
    subprocess.run(command, check=True)


def publish(part: str, out: Path) -> None:
    """The table of a part in the page, and above it its picture, if it has one."""
    table = (out / f"{part}.md").read_text()
    text = harness.below_picture(PAGE, out / f"{part}.png", PICTURES.get(part, part), table)
    harness.publish(PAGE, part, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which of {', '.join(PARTS)}; all if none")
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that everything runs")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--publish", action="store_true", help=f"also write the tables into docs/{PAGE.name}")
    default = harness.ROOT / "build" / "release" / "benchmarks" / "micro" / "carmina_micro"
    parser.add_argument("--micro", default=str(default), help="the program of benchmarks/micro")
    environments.add_option(parser)
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if args.quick and args.publish:
        parser.error("figures of --quick mean nothing and are not published")
    for part in args.parts or PARTS:
        print(f"== {part}", flush=True)
        if part == "micro":
            micro(args)
        else:
            versus(*SCRIPTS[part], args=args)
        if args.publish and (args.out / f"{part}.md").exists():
            publish(part, args.out)


if __name__ == "__main__":
    main()
