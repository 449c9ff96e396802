"""
One model of rows that lie on several machines
==============================================

Each process reads the rows that it has, and sums over them are joined: the model is that of all rows, to the
last bit, however many processes there are. Averaging models that were fitted apart is no substitute: where
machines hold different regions, each knows nothing of the others'. (Here threads stand for machines; with
``mpirun`` and Dask it is the same fit.)
"""

import queue
import threading

import numpy as np
from carmina import KernelRegressor, plot
from matplotlib import pyplot as plt

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-3, 3, 1200))[:, None]  # the first machine has what is farthest left
y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 0] + 0.3 * rng.normal(size=len(X))
grid = np.linspace(-3, 3, 400)[:, None]
truth = np.sin(2 * grid[:, 0]) + 0.3 * grid[:, 0]
options = {"kernel": "gaussian", "gamma": 1.0, "alpha": 0.1, "n_components": 100, "random_state": 0}
options["approximation"] = "fourier"


class Machine:
    """What a fit asks of the network: bytes to one machine, bytes from one."""

    def __init__(self, rank, boxes):
        self.rank, self.size, self.boxes = rank, len(boxes), boxes

    def send(self, to, data):
        self.boxes[to][self.rank].put(bytes(data))

    def receive(self, source, buffer):
        buffer[:] = self.boxes[self.rank][source].get()


def fitted_together(count):
    boxes = [[queue.Queue() for _ in range(count)] for _ in range(count)]
    models = [None] * count

    def fit(rank):
        rows = np.array_split(np.arange(len(X)), count)[rank]
        machine = Machine(rank, boxes)
        models[rank] = KernelRegressor(**options, n_jobs=1).fit(X[rows], y[rows], communicator=machine)

    threads = [threading.Thread(target=fit, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return models[0].predict(grid)


def averaged(count):
    parts = np.array_split(np.arange(len(X)), count)
    return np.mean([KernelRegressor(**options).fit(X[rows], y[rows]).predict(grid) for rows in parts], axis=0)


one = KernelRegressor(**options).fit(X, y).predict(grid)
counts = [1, 2, 4, 8]
together, apart = [fitted_together(count) for count in counts], [averaged(count) for count in counts]
for count, f in zip(counts, together):
    print(f"{count} machines: {int((f != one).sum())} of {len(grid)} predictions differ from those of one")

plot.style()
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=(3, 2))
left.plot(X, y, ".", color="0.75", markersize=3)
left.plot(grid, together[2], label="4 machines, one model")
left.plot(grid, apart[2], "--", label="mean of 4 models")
left.plot(grid, truth, ":", color="black", label="function")
left.set(xlabel="x", ylabel="y", ylim=(-2.8, 4.2))
left.legend(loc="upper center", ncols=3, columnspacing=1, handlelength=1.4)
for errors, label, marker in ((together, "one model", "o-"), (apart, "mean of models", "s--")):
    right.plot(range(4), [np.sqrt(np.mean((f - truth) ** 2)) for f in errors], marker, label=label)
right.set_xticks(range(4), counts)
right.set(xlabel="machines", ylabel="RMSE against the function", ylim=(0, None))
plt.show()
