"""Several hosts: four network namespaces of one machine, joined by a switch; nothing but TCP is between them.

Where namespaces may be made (as root, with iproute2); MPI where the program was built with it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from carmina import KernelRegressor, datasets

PROGRAM = Path(sys.executable).parent / "carmina"
NAMES = [f"carmina-{os.getpid()}-{k}" for k in range(5)]  # the first one is the switch
ADDRESSES = [f"10.77.0.1{k}" for k in range(1, 5)]
DATA = datasets.friedman(900, outputs=2, noise=0.3, random_state=0)

# What mpirun calls for ssh: the address, then a command. Each host has a name of its own, so that no two of
# them are taken for one machine with memory in common.
AGENT = """#!/bin/sh
host={prefix}-${{1##*.1}}
shift
exec ip netns exec $host unshare --uts sh -c "hostname $host && $*"
"""


def ip(*words, check=True):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=check)


def inside(host, *command, timeout=500):
    """Runs a command on a host to its end."""
    return subprocess.run(
        ["ip", "netns", "exec", NAMES[host], *map(str, command)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.fixture(scope="module")
def hosts():
    if (
        os.geteuid() != 0
        or shutil.which("ip") is None
        or ip("netns", "add", NAMES[0], check=False).returncode
    ):
        pytest.skip("network namespaces cannot be made here")
    try:
        ip("-n", NAMES[0], "link", "add", "switch", "type", "bridge")
        ip("-n", NAMES[0], "link", "set", "switch", "up")
        for k, (name, address) in enumerate(zip(NAMES[1:], ADDRESSES), start=1):
            ip("netns", "add", name)
            plug = f"plug{k}"
            ip("-n", NAMES[0], "link", "add", plug, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", NAMES[0], "link", "set", plug, "master", "switch", "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in NAMES:
            ip("netns", "delete", name, check=False)


def has_mpi():
    linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout
    return shutil.which("mpirun") is not None and "libmpi" in linked


@pytest.mark.skipif(not has_mpi(), reason="mpirun is not installed, or the program was built without MPI")
def test_mpi_over_tcp(hosts, tmp_path):
    agent = tmp_path / "agent"
    agent.write_text(AGENT.format(prefix=NAMES[0].rpartition("-")[0]))
    agent.chmod(0o755)
    for k, rows in enumerate(np.array_split(np.column_stack([DATA.X, DATA.Y]), [140, 500, 520])):
        np.save(tmp_path / f"part-{k}.npy", rows)
    fit = [PROGRAM, "fit", f"{tmp_path}/part-*.npy", "--targets", "2", "--approximation", "fourier"]
    fit += ["--components", "60", "--length-scale", "1", "--alpha", "0.1", "--threads", "1"]
    settings = {
        "plm_rsh_agent": agent,
        "btl": "self,tcp",
        "btl_tcp_if_include": "10.77.0.0/24",
        "oob_tcp_if_include": "10.77.0.0/24",
    }
    given = [word for name, value in settings.items() for word in ("--mca", name, value)]
    places = ["--host", ",".join(f"{address}:1" for address in ADDRESSES), "-n", "4"]
    several = ["mpirun", "--allow-run-as-root", *given, *places, *fit, "--model", tmp_path / "several"]
    done = inside(1, *several)
    assert done.returncode == 0, done.stderr
    subprocess.run([*fit, "--model", tmp_path / "one"], check=True, capture_output=True)

    def predictions(model):
        out = tmp_path / f"{model}.npy"
        table = tmp_path / "inputs.npy"
        np.save(table, DATA.X)
        subprocess.run(
            [PROGRAM, "predict", tmp_path / model, table, "--out", out], check=True, capture_output=True
        )
        return np.load(out)

    assert (predictions("several") == predictions("one")).all()


CLIENT = """
import sys
import carmina.dask
import dask.array as da
import numpy as np
from carmina import datasets
from distributed import Client

data = datasets.friedman(900, outputs=2, noise=0.3, random_state=0)
with Client(sys.argv[1]) as client:
    client.wait_for_workers(3, timeout=400)
    X = da.from_array(data.X, chunks=((250, 50, 300, 200, 100), -1))
    numbers = {"gamma": 0.5, "alpha": 0.1, "n_components": 60, "random_state": 0}
    model = carmina.dask.KernelRegressor(kernel="gaussian", **numbers)
    model.fit(X, da.from_array(data.Y, chunks=300))
    np.save(sys.argv[2], model.predict(X).compute())
"""


def test_dask_over_tcp(hosts, tmp_path):
    pytest.importorskip("distributed")
    command = ["ip", "netns", "exec"]
    dask = [sys.executable, "-m", "dask"]
    scheduler = f"tcp://{ADDRESSES[0]}:8786"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    started = []
    try:
        words = ["scheduler", "--host", ADDRESSES[0], "--no-dashboard", "--no-show"]
        started.append(subprocess.Popen([*command, NAMES[1], *dask, *words], **quiet))
        for k in (2, 3, 4):
            words = ["worker", scheduler, "--nthreads", "1", "--host", ADDRESSES[k - 1], "--no-dashboard"]
            started.append(subprocess.Popen([*command, NAMES[k], *dask, *words], **quiet))
        (tmp_path / "client.py").write_text(CLIENT)
        done = inside(1, sys.executable, tmp_path / "client.py", scheduler, tmp_path / "predictions.npy")
        assert done.returncode == 0, done.stderr
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()
    whole = KernelRegressor(kernel="gaussian", gamma=0.5, alpha=0.1, n_components=60, random_state=0)
    whole.fit(DATA.X, DATA.Y)
    assert (np.load(tmp_path / "predictions.npy") == whole.predict(DATA.X)).all()
