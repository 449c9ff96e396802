"""What a pass over partitions costs besides its arithmetic: by tasks of Dask, or by the workers' messages.

By tasks: coefficients to all workers, a task for each partition that gives a sum of their size, a tree of
additions, the sum back. By messages: an iteration of cg by `carmina.dask` on a table of a few rows, nearly
all of it communication.
"""

import argparse
import time

import carmina.dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster


def partial_sum(part: int, coefficients: np.ndarray) -> np.ndarray:
    return coefficients + part


def pass_by_tasks(client: Client, partitions: int, coefficients: np.ndarray) -> np.ndarray:
    everywhere = client.scatter(coefficients, broadcast=True, hash=False)
    sums = client.map(partial_sum, range(partitions), [everywhere] * partitions, pure=False)
    held = list(sums)  # until the last one is there
    while len(sums) > 1:
        pairs = [sums[k : k + 2] for k in range(0, len(sums), 2)]
        sums = [client.submit(np.add, *pair, pure=False) if len(pair) == 2 else pair[0] for pair in pairs]
        held += sums
    return sums[0].result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=64)
    parser.add_argument("--components", type=int, default=1024)
    parser.add_argument("--outputs", type=int, default=4)
    parser.add_argument("--passes", type=int, default=30)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = 10 * args.partitions
    X, Y = rng.standard_normal((rows, 5)), rng.standard_normal((rows, args.outputs))
    with (
        LocalCluster(args.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        coefficients = np.zeros((args.components, args.outputs))
        pass_by_tasks(client, args.partitions, coefficients)
        taken = []
        for _ in range(args.passes):
            start = time.perf_counter()
            pass_by_tasks(client, args.partitions, coefficients)
            taken.append(time.perf_counter() - start)
        numbers = {"gamma": 0.5, "alpha": 1e-3, "solver": "cg", "tol": 1e-13, "max_iter": args.passes}
        model = carmina.dask.KernelRegressor(
            approximation="fourier", n_components=args.components, random_state=0, **numbers
        )
        model.fit(da.from_array(X, chunks=(10, 5)), da.from_array(Y, chunks=(10, args.outputs)))
        report = model.report_
        by_messages = dict(report.seconds)["cg"] / max(report.iterations, 1)
    print(f"{args.partitions} partitions, {args.workers} workers, sums of {coefficients.nbytes:,} bytes")
    print(f"a pass by tasks: {1000 * np.median(taken):.1f} ms")
    print(f"an iteration of cg by messages: {1000 * by_messages:.1f} ms ({report.iterations} of them)")


if __name__ == "__main__":
    main()
