"""Runs the fuzzing programs of build/fuzz one after the other, and fails when one found something.

Inputs that were new stay in build/fuzz/corpus/TARGET and are where the next run starts. What was found is in
build/fuzz/found/TARGET; once it is mended it belongs into fuzz/finds/TARGET, where the tests try it for ever.
The table: seconds of the processor; edges of the program that were seen, those seen first in the last third;
the most memory and the most processor time that an input took.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
PROGRAMS = BUILD / "fuzz"
# A program ends at an input that takes a second of the processor, or more memory than fuzz/engine_limits.cpp
# allows. Here: blocks that are too large to be made at all. The clock says nothing on a busy machine.
LIMITS = ("-malloc_limit_mb=132", "-rss_limit_mb=2048", "-timeout=3600", "-report_slow_units=3600")
# Where blocks were allocated is of use once there is a finding: fuzz_TARGET FILE tells.
OPTIONS = {
    "ASAN_OPTIONS": "malloc_context_size=2:quarantine_size_mb=32:detect_stack_use_after_return=0",
}
LONGEST = {"model": 16384}  # bytes; of the others 4096
DICTIONARIES = {"gzip": ("csv", "arff", "npy", "libsvm", "idx"), "model": ("header", "description")}


def target_names() -> list[str]:
    text = (ROOT / "fuzz" / "targets.cpp").read_text()
    return re.findall(r'Target\{"([a-z_]+)"', text)


def dictionary_option(name: str) -> list[str]:
    parts = [ROOT / "fuzz" / "dictionaries" / f"{part}.dict" for part in DICTIONARIES.get(name, (name,))]
    text = "".join(part.read_text() for part in parts if part.is_file())
    together = BUILD / f"{name}.dict"
    together.write_text(text)
    return [f"-dict={together}"] if text else []


def command(name: str, seconds: int, executions: int, seed: int) -> list[str]:
    corpus, found = BUILD / "corpus" / name, BUILD / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    words = [str(PROGRAMS / f"fuzz_{name}"), str(corpus), str(BUILD / "seeds" / name)]
    finds = ROOT / "fuzz" / "finds" / name
    if finds.is_dir():
        words.append(str(finds))
    words += [f"-max_total_time={seconds}", f"-artifact_prefix={found}/", "-print_final_stats=1", *LIMITS]
    words += [f"-max_len={LONGEST.get(name, 4096)}", f"-seed={seed}"]
    if executions:
        words.append(f"-runs={executions}")
    return words + dictionary_option(name)


def last_number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def new_in_last_third(text: str, executions: int) -> int:
    """How many edges were first seen in the last third of the executions."""
    seen = [(int(count), int(edges)) for count, edges in re.findall(r"#(\d+)\t\w+ +cov: (\d+)", text)]
    if not seen:
        return 0
    return seen[-1][1] - max([edges for count, edges in seen if count <= executions * 2 / 3], default=0)


def run(name: str, seconds: int, executions: int, seed: int) -> tuple[str, bool]:
    """(a row of the table, whether nothing was found)"""
    found = BUILD / "found" / name
    before = set(found.glob("*"))
    start = seconds_of_children()
    log = BUILD / f"{name}.log"
    with log.open("w") as file:
        status = subprocess.run(
            command(name, seconds, executions, seed),
            cwd=BUILD,
            stderr=file,
            stdout=file,
            env=os.environ | OPTIONS,
        ).returncode
    spent = seconds_of_children() - start
    text = log.read_text(errors="replace")
    executions = last_number(r"number_of_executed_units: (\d+)", text) or last_number(r"#(\d+)\t", text)
    edges = last_number(r"cov: (\d+)", text)
    finds = {
        path for path in set((BUILD / "found" / name).glob("*")) - before if "slow-unit" not in path.name
    }
    largest = last_number(r"largest_memory_bytes: (\d+)", text) / 1e6
    slowest = last_number(r"slowest_input_milliseconds: (\d+)", text)
    row = f"{name:17} {executions:12,} {spent:8.0f} {edges:8,} {new_in_last_third(text, executions):5,}"
    row += f" {len(finds):6} {largest:6.1f} {slowest:5}"
    if status != 0:
        lines = [
            line for line in text.splitlines() if "ERROR" in line or "what():" in line or "error:" in line
        ]
        row += "".join(f"\n    {line.strip()[:110]}" for line in lines[:4])
        row += f"\n    {log.relative_to(ROOT)}" + "".join(
            f"\n    {path.relative_to(ROOT)}" for path in sorted(finds)
        )
    return row, status == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help=f"which of {', '.join(target_names())}; all if none")
    parser.add_argument("--seconds", type=int, default=60, help="for each target [60]")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations; 0: another each time [0]")
    parser.add_argument(
        "--executions", type=int, default=0, help="of each target, if that is sooner [any number]"
    )
    given = parser.parse_args()
    subprocess.run([PROGRAMS / "make_seeds", BUILD / "seeds"], check=True)
    heads = f"{'target':17} {'executions':>12} {'seconds':>8} {'edges':>8} {'new':>5}"
    print(f"{heads} {'finds':>6} {'MB':>6} {'ms':>5}", flush=True)
    good = True
    for name in given.targets or target_names():
        row, fine = run(name, given.seconds, given.executions, given.seed)
        print(row, flush=True)
        good = good and fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
