"""What the comparisons share: measuring a child, describing the machine, writing tables and JSON."""

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIRST_SEED = 300


def environment(threads: int) -> dict[str, str]:
    """Every BLAS and OpenMP runtime in a child takes the same number of threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    return os.environ | dict.fromkeys(names, str(threads))


class Failed(SystemExit):
    """A contender ended without a result; unless somebody catches it, that ends the run with its message."""


def contend(spec: dict) -> dict:
    """Runs contender.py on a specification, in the Python it names, and returns what it measured."""
    command = [spec.get("python", sys.executable), str(HERE / "contender.py"), json.dumps(spec)]
    child = subprocess.run(command, env=environment(spec["threads"]), capture_output=True, text=True)
    sys.stderr.write(child.stderr)
    if child.returncode != 0:
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        raise Failed(f"{spec['contender']} ended with exit status {child.returncode}: `{last}`")
    return json.loads(child.stdout.splitlines()[-1])


def contend_in_turns(specs: list[dict], repeats: int, notes: list[str] | None = None) -> list[dict]:
    """Each specification in a fresh process, all of them in turn, `repeats` times with other seeds.

    Seconds are medians over the repeats, memory is the largest seen, errors are means over the seeds.
    Software of others that fails is left out, and a sentence in `notes` says so; where there are no notes,
    and for ours, a failure ends the run.
    """
    runs: list[list[dict]] = [[] for _ in specs]
    failed: set[int] = set()
    for repeat in range(repeats):
        for k, spec in enumerate(specs):
            if k in failed:
                continue
            try:
                runs[k].append(contend(spec | {"seed": FIRST_SEED + repeat}))
            except Failed as failure:
                if notes is None or spec["contender"].startswith("Carmina"):
                    raise
                notes.append(f"{failure} ({spec['n']:,} rows).")
                failed.add(k)
                continue
            fit = runs[k][-1]["fit_seconds"]
            print(f"  {spec['contender']:20} n = {spec['n']:<8} fit {fit:8.2f} s", flush=True)
    seen = [(spec, run) for k, (spec, run) in enumerate(zip(specs, runs)) if k not in failed]
    return [spec | summary(run) | {"runs": run} for spec, run in seen]


def summary(runs: list[dict]) -> dict:
    choose = {"bytes": max, "seconds": statistics.median}
    numbers = [key for key, value in runs[0].items() if isinstance(value, (int, float))]
    found = {
        key: choose.get(key.split("_")[-1], statistics.mean)(run[key] for run in runs) for key in numbers
    }
    return found | {"versions": runs[0]["versions"]}


def gemm_rate(threads: int, dtype: str, order: int = 4096, products: int = 5) -> float:
    """Flops per second of the fastest of some products of NumPy's BLAS, in a process of its own."""
    code = (
        "import numpy as np, timeit\n"
        f"A = np.random.default_rng(0).random(({order}, {order})).astype({dtype!r})\n"
        "A @ A\n"
        f"print(2 * {order}**3 / min(timeit.repeat(lambda: A @ A, number=1, repeat={products})))"
    )
    child = subprocess.run(
        [sys.executable, "-c", code], env=environment(threads), stdout=subprocess.PIPE, text=True, check=True
    )
    return float(child.stdout)


def run_program(command: list[str], threads: int) -> dict:
    """Seconds and peak memory of a program. Linux counts a child's peak from its parent's size at the start:
    whoever calls this stays small."""
    start = time.perf_counter()
    child = subprocess.Popen(command, env=environment(threads))
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}")
    return {"seconds": seconds, "peak_bytes": usage.ru_maxrss * 1024}


def machine(threads: int) -> dict:
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    installed = {str(package.name).lower() for package in metadata.distributions()}
    names = ("carmina", "numpy", "scikit-learn", "scipy")  # the program alone serves some benchmarks
    versions = {name: metadata.version(name) for name in names if name in installed}
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "threads": threads,
        "memory_bytes": memory,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": versions,
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d"),
        "load_before": os.getloadavg()[0],
    }


def commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.strip()

    changed = "" if not git("status", "--porcelain") else ", with changes"
    return (git("rev-parse", "--short", "HEAD") or "none") + changed


def caption(seen: dict) -> str:
    """One line under a table that says where its figures come from."""
    versions = ", ".join(f"{name} {version}" for name, version in seen["versions"].items())
    return (
        f"{seen['cpu']}, {seen['cores']} cores, {gigabytes(seen['memory_bytes'])} of memory; "
        f"{seen['threads']} threads; "
        f"Python {seen['python']}, {versions}; commit {seen['commit']}; {seen['date']}; "
        f"load average before the run {seen['load_before']:.1f}."
    )


def gigabytes(count: float) -> str:
    return f"{count / 1e9:.2f} GB"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table whose first column is text and the others numbers."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def write(out: Path, name: str, result: dict, table: str) -> None:
    """NAME.json with everything, NAME.md with the table; the table also on the screen."""
    out.mkdir(parents=True, exist_ok=True)
    text = f"{table}\n{caption(result['machine'])}\n"
    (out / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    (out / f"{name}.md").write_text(text)
    print(f"\n{text}\nwrote {out / name}.json and .md", flush=True)


def publish(page: Path, part: str, text: str) -> None:
    """Puts a text between the marks of its part in a page, so that no figure there is typed by hand."""
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    pattern = re.compile(f"{begin}.*?{end}", re.DOTALL)
    written, count = pattern.subn(lambda _: f"{begin}\n{text}{end}", page.read_text())
    if count != 1:
        sys.exit(f"{page}: expected the marks '{begin}' and '{end}' once, found {count}")
    page.write_text(written)


def below_picture(page: Path, picture: Path, caption: str, text: str) -> str:
    """The text below a picture that is copied to the page's folder of figures; alone where there is none."""
    if not picture.exists():
        return text
    shutil.copyfile(picture, page.parent / "figures" / picture.name)
    return f"![{caption}](figures/{picture.name})\n\n{text}"
