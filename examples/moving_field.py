"""
A current that moves, from tracks
=================================

Drifters report where they are and how fast they go, each at its own time. The current has no sources, and
it moves: eddies travel east. A divergence-free kernel of place times a kernel of time learns it, and its
stream function, with its deviation, says where the eddies are and how sure that is.
"""

import numpy as np
from carmina import KernelRegressor
from carmina.kernels import DivergenceFree, Gaussian
from matplotlib import pyplot as plt

rng = np.random.default_rng(0)


def stream(x, y, time):
    return np.sin(x - 0.4 * time) * np.sin(y)


def current(x, y, time):
    phase = x - 0.4 * time
    return np.column_stack([np.sin(phase) * np.cos(y), -np.cos(phase) * np.sin(y)])


# 40 drifters, carried along for a while from where and when they were dropped.
tracks, speeds = [], []
for _ in range(40):
    place, time = rng.uniform(0, 2 * np.pi, 2), rng.uniform(0, 6)
    for _ in range(25):
        speed = current(*place, time)[0]
        tracks.append([*place, time])
        speeds.append(speed + 0.1 * rng.normal(size=2))
        place, time = place + 0.15 * speed, time + 0.15
X, Y = np.array(tracks), np.array(speeds)

k = DivergenceFree(Gaussian(1.0), normalized=True).on([0, 1])
grid = np.stack(np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(0, 2 * np.pi, 40)), axis=-1).reshape(
    -1, 2
)
now = np.column_stack([grid, np.full(len(grid), 5.0)])
truth = current(*now.T)
for name, kernel in (("place alone", k), ("place and time", k * Gaussian(3.0).on(2))):
    model = KernelRegressor(kernel, random_state=0).fit(X, Y)
    print(f"{name:15} RMSE {np.sqrt(np.mean((model.predict(now) - truth) ** 2)):.2f}")

psi, deviation = model.stream_function(now, return_std=True)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharex=True, sharey=True)
for ax, title, values in zip(
    axes, ("true stream function", "learnt", "its deviation"), (stream(*now.T), psi, deviation)
):
    picture = ax.contourf(*(axis.reshape(40, 40) for axis in grid.T), values.reshape(40, 40), 12)
    figure.colorbar(picture, ax=ax, shrink=0.8)
    ax.set(title=title, xlabel="east")
near = np.abs(X[:, 2] - 5.0) < 0.5
axes[2].plot(*X[near, :2].T, "w.", markersize=3)
axes[0].set_ylabel("north")
plt.show()
