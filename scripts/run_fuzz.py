"""Runs the fuzzing programs of build/fuzz one after the other, and fails when one found something.

Inputs that were new stay in build/fuzz/corpus/TARGET and are where the next run starts. What was found is in
build/fuzz/found/TARGET; once it is mended it belongs into fuzz/finds/TARGET, where the tests try it for ever.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
PROGRAMS = BUILD / "fuzz"
# No input of a few kilobytes needs that much at once, nor that long.
LIMITS = ("-malloc_limit_mb=512", "-rss_limit_mb=2048", "-timeout=1", "-report_slow_units=1")
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


def command(name: str, seconds: int, jobs_seed: int) -> list[str]:
    corpus, found = BUILD / "corpus" / name, BUILD / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    words = [str(PROGRAMS / f"fuzz_{name}"), str(corpus), str(BUILD / "seeds" / name)]
    finds = ROOT / "fuzz" / "finds" / name
    if finds.is_dir():
        words.append(str(finds))
    words += [f"-max_total_time={seconds}", f"-artifact_prefix={found}/", "-print_final_stats=1", *LIMITS]
    words += [f"-max_len={LONGEST.get(name, 4096)}", f"-seed={jobs_seed}"]
    return words + dictionary_option(name)


def last_number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run(name: str, seconds: int, seed: int) -> tuple[str, bool]:
    """(a row of the table, whether nothing was found)"""
    found = BUILD / "found" / name
    before = set(found.glob("*"))
    start = time.monotonic()
    log = BUILD / f"{name}.log"
    with log.open("w") as file:
        status = subprocess.run(command(name, seconds, seed), cwd=BUILD, stderr=file, stdout=file).returncode
    spent = time.monotonic() - start
    text = log.read_text(errors="replace")
    executions = last_number(r"number_of_executed_units: (\d+)", text) or last_number(r"#(\d+)\t", text)
    edges = last_number(r"cov: (\d+)", text)
    finds = {
        path for path in set((BUILD / "found" / name).glob("*")) - before if "slow-unit" not in path.name
    }
    row = f"{name:17} {executions:12,} {spent:8.0f} {edges:8,} {len(finds):6}"
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
    given = parser.parse_args()
    subprocess.run([PROGRAMS / "make_seeds", BUILD / "seeds"], check=True)
    print(f"{'target':17} {'executions':>12} {'seconds':>8} {'edges':>8} {'finds':>6}", flush=True)
    good = True
    for name in given.targets or target_names():
        row, fine = run(name, given.seconds, given.seed)
        print(row, flush=True)
        good = good and fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
