"""Fits on a busy machine, beside spinning neighbours and with half a processor; no variable is set."""

import argparse
import multiprocessing
import os
import signal
import statistics
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import friedman
import harness

FITS = {
    "300 rows, all chosen": (300, {}),
    "exact, 940 rows": (940, {"approximation": "exact"}),
    "exact, 3,000 rows": (3_000, {"approximation": "exact"}),
    "5,000 rows × 512": (5_000, {"n_components": 512}),
    "50,000 rows × 1,024": (50_000, {"n_components": 1024}),
    "50,000 rows × 2,048, cg": (50_000, {"n_components": 2048, "solver": "cg"}),
}
NEIGHBOURS = 8


def spin() -> None:
    while True:
        pass


@contextmanager
def neighbours(count: int):
    """Processes that never wait."""
    running = [multiprocessing.Process(target=spin, daemon=True) for _ in range(count)]
    for one in running:
        one.start()
    time.sleep(0.5)
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.join()


@contextmanager
def half_a_processor(pid: int, period: float = 0.1):
    """What a quota of half a processor does to a process with two threads: in each tenth of a second it runs
    for a quarter of it. (A control group does this where one may make it; here the process is stopped.)"""
    done = threading.Event()

    def hold() -> None:
        while not done.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.75 * period)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.25 * period)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        os.kill(pid, signal.SIGCONT)


def child(connection, threads: int) -> None:
    """Fits what it is sent a name of, and answers with the seconds."""
    from carmina import KernelRegressor

    tables = {rows: friedman.arrays(rows, 16, 1, 1, "float32") for rows, _ in FITS.values()}
    while (name := connection.recv()) is not None:
        rows, options = FITS[name]
        given = {"kernel": "gaussian", "gamma": friedman.gamma(16), "alpha": 1.0} if options else {}
        X, Y = tables[rows]
        start = time.perf_counter()
        KernelRegressor(random_state=0, n_jobs=threads, **given | options).fit(X, Y)
        connection.send(time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    args = parser.parse_args()
    names = list(FITS)[:2] if args.quick else list(FITS)
    machine = harness.machine(args.threads)
    here, there = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=child, args=(there, args.threads), daemon=True)
    worker.start()

    def seconds(name: str) -> float:
        seen = []
        for _ in range(1 if args.quick else args.repeats):
            here.send(name)
            seen.append(here.recv())
        return statistics.median(seen)

    quiet = {name: seconds(name) for name in names for _ in range(2)}  # the second time counts
    with neighbours(NEIGHBOURS):
        busy = {name: seconds(name) for name in names}
    with half_a_processor(worker.pid):
        held = {name: seconds(name) for name in names}
    here.send(None)
    worker.join()
    # Processors that fall to this process, of all that want them.
    share = args.threads / (args.threads + NEIGHBOURS)
    rows = []
    for name in names:
        times = [quiet[name], busy[name], busy[name] / quiet[name], held[name], held[name] / quiet[name]]
        rows.append([name, *(f"{time:.3g}" for time in times)])
    header = ["", "quiet, s", f"beside {NEIGHBOURS} spinning, s", f"times quiet (fair: {1 / share:.1f})"]
    header += ["half a processor, s", "times quiet (fair: 4.0)"]
    result = {"machine": machine, "quiet": quiet, "busy": busy, "half": held}
    harness.write(args.out, "busy", result, harness.markdown(header, rows))


if __name__ == "__main__":
    main()
