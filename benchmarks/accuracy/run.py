"""Accuracy on real tables: every model asked for on every set and split, one JSON record a line.

    CARMINA_DATA=FOLDER python run.py --sets reported --models carmina lightgbm --out results.jsonl

What is in the file already is not computed again, so a run that was stopped goes on where it was. Each model
works in processes of its own, one for each set, with a thread for each core; with --jobs so many at a time,
each on --threads cores that are its own. table.py makes tables and a figure of such files. sets.py says which
sets there are and which of them choices are made on.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue

import sets

import data
import models

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "versus"))
import harness  # noqa: E402


def key(record: dict) -> tuple:
    return record["set"], record["split"], record["model"]


def read(path: Path) -> dict[tuple, dict]:
    """The records of a file, the last one of each set, split and model. A line that was not written to its
    end does not count."""
    found = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[key(record)] = record
    return found


def fit(spec: dict, python: str, limit: float, cores: list[int] | None = None):
    """Yields the records of a process that fits one model to some splits of a set. `limit`: most seconds
    between two records; then the process is ended. `cores`: those that are its own."""
    command = [python, str(HERE / "fit_one.py"), json.dumps(spec | {"cores": cores})]
    environment = harness.environment(spec["threads"])
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    waiting = list(spec["splits"])
    late = threading.Event()

    def end() -> None:
        late.set()
        child.kill()

    try:
        while waiting:
            timer = threading.Timer(limit, end)
            timer.start()
            line = child.stdout.readline()
            timer.cancel()
            if not line:
                break
            yield json.loads(line)
            waiting.pop(0)
        status = child.wait()
    finally:  # also when nobody asks for the rest
        child.kill()
        child.wait()
    if waiting:  # the split it was at; a process that ended takes the later ones with it
        why = f"longer than {limit:g} s" if late.is_set() else f"the process ended with exit status {status}"
        yield {"set": spec["set"], "model": spec["model"], "split": waiting[0], "error": why}


def append(path: Path, record: dict) -> None:
    """Adds a line, after the end of a line that was not written to its end."""
    torn = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a") as file:
        file.write("\n" * torn + json.dumps(record) + "\n")


def line_of(record: dict) -> str:
    shown = ("rmse", "arrmse", "accuracy", "log_loss", "coverage", "seconds")
    text = ", ".join(f"{name} {record[name]:.4g}" for name in shown if name in record)
    why = record.get("error") or record.get("missing") or text
    return f"{record['set']:22} {record['split']:2}  {record['model']:24} {why}"


def splits_of(text: str) -> list[int]:
    """ "0-2,5" is 0, 1, 2 and 5."""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


@cache
def rows_of(name: str) -> int:
    try:
        split = data.split(name, 0)
    except data.Missing:  # which the process that fits will report
        return 0
    return len(split.X) + len(split.X_test)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--sets",
        nargs="+",
        default=["all"],
        help=f"all, names of sets, or of {', '.join(sets.KINDS)}; chosen+uci_gp is what both name",
    )
    parser.add_argument("--splits", type=splits_of, default=list(range(10)), help="0-9 (all), 0-2,5, ...")
    parser.add_argument("--models", nargs="+", default=["carmina", "hist_gradient_boosting"])
    parser.add_argument("--out", type=Path, required=True, help="JSON lines are added to this file")
    parser.add_argument("--label", help="kept with each record; otherwise the commit of this checkout")
    parser.add_argument("--limit", type=float, default=3600.0, help="most seconds of a fit (3600)")
    parser.add_argument("--most-rows", type=int, help="leave out sets with more rows than that")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time, each on its own cores (1)")
    parser.add_argument("--retry", action="store_true", help="fit again what ended with an error")
    parser.add_argument(
        "--environment",
        action="append",
        default=[],
        metavar="MODEL=PYTHON",
        help="the Python that a model runs in, where this one does not have its package",
    )
    args = parser.parse_args()
    if unknown := set(args.models) - set(models.MODELS):
        parser.error(f"--models: unknown {', '.join(sorted(unknown))}; there are {', '.join(models.MODELS)}")
    try:
        args.sets = sets.named(args.sets)
    except ValueError as error:
        parser.error(str(error))
    if args.jobs < 1 or args.jobs * args.threads > max(args.threads, len(os.sched_getaffinity(0))):
        parser.error("--jobs: expected no more than there are cores for, --threads each; or give --threads")
    if not os.environ.get("CARMINA_DATA"):
        parser.error("CARMINA_DATA is not set: it names the folder with the data, see docs/accuracy.md")
    return args


def tasks_of(args: argparse.Namespace, done: dict[tuple, dict]):
    """What is left to do: the set, and what a process is to be asked for."""
    for chosen in args.sets:
        if args.most_rows and rows_of(chosen.name) > args.most_rows:
            continue
        for name in args.models:
            if chosen.task not in models.MODELS[name].tasks:
                continue
            wanted = [number for number in args.splits if number < chosen.splits]
            old = {number: done.get((chosen.name, number, name)) for number in wanted}
            left = [n for n in wanted if old[n] is None or (args.retry and "error" in old[n])]
            alone = args.jobs > 1 and rows_of(chosen.name) > 2000  # a process for each split, for even shares
            for splits in [[n] for n in left] if alone else [left]:
                if splits:
                    yield (
                        chosen,
                        {"set": chosen.name, "model": name, "splits": splits, "threads": args.threads},
                    )


def main() -> None:
    args = arguments()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    label = args.label or harness.commit()
    pythons = dict(one.split("=", 1) for one in args.environment)
    writing = threading.Lock()
    cores = sorted(os.sched_getaffinity(0))
    free = SimpleQueue()
    for job in range(args.jobs):
        free.put(cores[job * args.threads : (job + 1) * args.threads] if args.jobs > 1 else None)

    def run(chosen: sets.Set, spec: dict) -> None:
        own = free.get()
        load = os.getloadavg()[0]
        for record in fit(spec, pythons.get(spec["model"], sys.executable), args.limit, own):
            with writing:
                print(line_of(record), flush=True)
                if "missing" in record:  # is no result: another machine may have it
                    break
                described = {"group": chosen.group, "task": chosen.task, "label": label}
                described |= {"date": time.strftime("%Y-%m-%d"), "threads": args.threads, "load": load}
                append(args.out, record | described | {"jobs": args.jobs})
        free.put(own)

    with ThreadPoolExecutor(args.jobs) as pool:
        tasks = list(tasks_of(args, read(args.out)))
        if args.jobs > 1:  # the longest first
            tasks.sort(key=lambda task: -rows_of(task[0].name))
        for future in [pool.submit(run, *task) for task in tasks]:
            future.result()


if __name__ == "__main__":
    main()
