"""How a fit behaves in a process: it borrows arrays, lets other threads run, and stops at Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time

import carmina
import numpy as np
import pytest
from carmina import FourierFeatures
from given_numbers import regressor

# Environment variables that limit the threads of a process that is one of several workers.
WORKERS = {"OMP_NUM_THREADS", "PYTEST_XDIST_WORKER_COUNT"}
# A process started in the background may have been told to ignore Ctrl-C.
LONG_FIT = """
import signal
import numpy as np
from carmina import KernelRegressor
signal.signal(signal.SIGINT, signal.default_int_handler)
X = np.random.default_rng(0).normal(size=(400_000, 8)).astype(np.float32)
print("ready", flush=True)
try:
    KernelRegressor(n_components=3000, gamma=0.5, {options}).fit(X, X[:, :2])
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize(
    "options", ["solver='direct', alpha=1.0", "solver='cg', tol=1e-15, alpha=1e-9"], ids=["direct", "cg"]
)
def test_ctrl_c_stops_a_long_fit(options):
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_FIT.format(options=options)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.stdout.readline() == "stopped\n"
        assert time.monotonic() - start < 5
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()


BORROWING = """
import resource
import numpy as np
from carmina import FourierFeatures, KernelRegressor
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
whole = np.random.default_rng(0).random((120_000, 120), dtype={dtype!r})
X = whole{part}
model = KernelRegressor(n_components=8, gamma=0.5, alpha=1.0, random_state=0)
model.fit(X[:2000].copy(), X[:2000, 0])
before = peak()
model.fit(X, X[:, 0].copy())
model.predict(X)
FourierFeatures(n_components=8).fit(X)
print((peak() - before) / X.nbytes)
"""


@pytest.mark.parametrize(
    ("dtype", "part"),
    [("float32", ""), ("float64", "[:, :100]")],
    ids=["whole", "columns of a larger array"],
)
def test_row_major_input_is_not_copied(dtype, part):
    run = subprocess.run(
        [sys.executable, "-c", BORROWING.format(dtype=dtype, part=part)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(run.stdout) < 0.5


def test_read_only_arrays_are_taken():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X.setflags(write=False)
    model = regressor(n_components=10).fit(X, X[:, 0])
    assert model.predict(X).shape == (50,)
    assert FourierFeatures(n_components=10).fit_transform(X).flags.writeable


def test_other_threads_run_during_a_fit():
    X = np.random.default_rng(0).normal(size=(60_000, 8))
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.005):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.monotonic()
    regressor(n_components=1000).fit(X, X[:, 0])
    seconds = time.monotonic() - start
    done.set()
    ticker.join()
    longest = np.diff([start, *ticks, start + seconds]).max()
    assert longest < max(0.5 * seconds, 0.05)


def test_two_fits_at_once_give_what_one_gives():
    X = np.random.default_rng(0).normal(size=(4000, 5))
    model = regressor(n_components=200, random_state=0)
    expected = model.fit(X, X[:, :2]).predict(X)
    results = [None, None]

    def fit(index):
        own = regressor(n_components=200, random_state=0)
        results[index] = own.fit(X, X[:, :2]).predict(X)

    threads = [threading.Thread(target=fit, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_fit():
    script = """
import os, signal, sys
import numpy as np
from carmina import KernelRegressor
X = np.random.default_rng(0).normal(size=(2000, 5))
model = KernelRegressor(n_components=100, gamma=0.5, alpha=1.0, random_state=0)
fit = lambda: model.fit(X, X[:, 0]).predict(X)
expected = fit()
child = os.fork()
if child == 0:
    signal.alarm(30)
    os._exit(0 if np.allclose(fit(), expected, atol=1e-12) else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("name", sorted(WORKERS))
def test_one_of_many_workers_takes_its_share_of_threads(name):
    code = "import carmina; print(carmina.describe_machine()['threads'])"
    others = {key: value for key, value in os.environ.items() if key not in WORKERS}
    many = "1" if name == "OMP_NUM_THREADS" else "100000"
    child = subprocess.run([sys.executable, "-c", code], env={**others, name: many}, stdout=subprocess.PIPE)
    assert int(child.stdout) == 1
    child = subprocess.run([sys.executable, "-c", code], env=others, stdout=subprocess.PIPE)
    assert 1 <= int(child.stdout) <= len(os.sched_getaffinity(0))


def test_the_machine_is_described():
    seen = carmina.describe_machine()
    assert seen["processor"]
    assert 0 < seen["double_products"] < 2 * seen["double_limit"]
    assert seen["quota"] > 0


AT_THE_END = """
import threading, time
import numpy as np
from carmina import KernelRegressor, kernels
X = np.random.default_rng(0).normal(size=({rows}, 4))
model = KernelRegressor({options})
began = threading.Event()
def fit():
    began.set()
    while True:
        model.fit(X, X[:, 0])
threading.Thread(target=fit, daemon=True).start()
began.wait()
time.sleep({seconds})
"""


@pytest.mark.parametrize(
    ("options", "rows", "seconds"),
    [
        ("n_components=1000, gamma=0.5, alpha=1.0, verbose=True", 50_000, 0.0),
        ("n_components=1000, gamma=0.5, alpha=1.0, verbose=True", 50_000, 0.4),
        ("n_components=10, gamma=0.5, alpha=1.0", 20, 0.1),
        ("kernels.Callable(lambda X, Z: X @ Z.T), approximation='exact', alpha=1.0", 400, 0.1),
    ],
    ids=["at once", "long", "short", "callable"],
)
def test_python_may_end_while_a_daemon_thread_fits(options, rows, seconds):
    ended = subprocess.run(
        [sys.executable, "-c", AT_THE_END.format(options=options, rows=rows, seconds=seconds)],
        capture_output=True,
        timeout=30,
    )
    assert ended.returncode == 0, ended.stderr
    assert b"terminate" not in ended.stderr
    assert b"Fatal" not in ended.stderr
