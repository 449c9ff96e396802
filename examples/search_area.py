"""
Where did it drift?
===================

Something fell overboard, and drifters tell of the current: 60 tracks, each at its own time. The posterior
of a current without sources is drawn 200 times, and in each of these currents it drifts along. Penalties are
chosen by whole tracks left out; a current that stands still is sure of the wrong place.
"""

import numpy as np
from carmina import KernelRegressor, datasets, plot
from carmina.kernels import DivergenceFree, Gaussian
from matplotlib import pyplot as plt

START, DAY, DAYS, DRAWS, STEP = np.array([4.0, 5.2]), 8.0, 5.0, 200, 0.1
data = datasets.drifters(60, random_state=3)
place = DivergenceFree(Gaussian(2.0), normalized=True).on([0, 1])


def paths(model):
    """Of the draws, (steps, DRAWS, 2)."""
    at = [np.tile(START, (DRAWS, 1))]
    for step in range(round(DAYS / STEP)):
        rows = np.column_stack([at[-1], np.full(DRAWS, DAY + step * STEP)])
        currents = model.sample(rows, DRAWS, random_state=0)  # the same functions at each step
        at.append(at[-1] + STEP * currents[np.arange(DRAWS), np.arange(DRAWS)])
    return np.array(at)


truth = [START]
for step in range(round(DAYS / 0.01)):
    truth.append(truth[-1] + 0.01 * data.current([[*truth[-1], DAY + 0.01 * step]])[0])
truth = np.array(truth)

side = np.linspace(0, 10, 21)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
today = np.column_stack([grid, np.full(len(grid), DAY)])
plot.style()
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True)
for ax, title, kernel in (
    (axes[0], "a current of place alone", place),
    (axes[1], "a current of place and time", place * Gaussian(4.0).on(2)),
):
    model = KernelRegressor(kernel, "fourier", n_components=400, random_state=0)
    model.fit(data.X, data.Y, groups=data.tracks)
    drawn = paths(model)
    missed = np.linalg.norm(drawn[-1] - truth[-1], axis=1)
    print(f"{title:27}: ends are {np.median(missed):.1f} from the true one")
    plot.vector_field(today, model, ax, key=True, unit="a day", pivot="mid", cmap="Greys")
    ax.plot(*drawn[:, :40].transpose(2, 0, 1), color="C1", linewidth=0.6, alpha=0.5)
    ax.plot(*drawn[-1].T, ".", color="C3", markersize=3, label="may be here")
    ax.plot(*truth.T, "k--", linewidth=1.2, label="was there")
    ax.plot(*truth[-1], "k*", markersize=10)
    ax.set(title=title, xlabel="east", xlim=(0, 10), ylim=(0, 10))
axes[0].set_ylabel("north")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()
