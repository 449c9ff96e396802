"""
Outputs that are neighbours
===========================

Ten gauges along a river, and few readings of each. That neighbours differ little is known before any
reading: a graph says who is whose neighbour, and its matrix couples the outputs. How strongly, is chosen by
readings held out.
"""

import numpy as np
from carmina import KernelRegressor, outputs, plot
from carmina.kernels import Decomposable, Gaussian
from matplotlib import pyplot as plt
from sklearn.model_selection import GridSearchCV

rng = np.random.default_rng(0)
gauges = 10
river = np.diag(np.ones(gauges - 1), 1) + np.diag(np.ones(gauges - 1), -1)


def level(day):
    """A flood wave runs down the river, half a day from gauge to gauge."""
    since = day[:, None] - 3 - 0.5 * np.arange(gauges)
    return 1 + 2 * np.exp(-(since**2) / 2)


day = np.sort(rng.uniform(0, 12, 30))
seen = level(day) + 0.5 * rng.normal(size=(30, gauges))
grid = np.linspace(0, 12, 100)

strengths = (0.0, 0.5, 0.8, 0.9, 0.95)
kernels = [Decomposable(Gaussian(1.2), outputs.graph(river, mu)) for mu in strengths]
search = GridSearchCV(
    KernelRegressor(approximation="exact"), {"kernel": kernels, "alpha": [0.1, 0.3, 1.0]}, scoring="r2"
)
search.fit(day[:, None], seen)
errors = {}
for mu, kernel in zip(strengths, kernels):
    model = KernelRegressor(kernel, "exact", alpha=search.best_params_["alpha"]).fit(day[:, None], seen)
    errors[mu] = np.sqrt(np.mean((model.predict(grid[:, None]) - level(grid)) ** 2))
chosen = strengths[kernels.index(search.best_params_["kernel"])]
print(f"chosen: mu = {chosen}, RMSE {errors[chosen]:.2f}; without coupling {errors[0.0]:.2f}")

plot.style()
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[1.5, 1])
fit = search.best_estimator_.predict(grid[:, None])
for gauge in (0, 4, 8):
    colour = f"C{gauge // 4}"
    left.plot(grid, fit[:, gauge], color=colour, label=f"gauge {gauge + 1}")
    left.plot(grid, level(grid)[:, gauge], "--", color=colour, linewidth=1)
    left.plot(day, seen[:, gauge], ".", color=colour, markersize=4)
left.set(xlabel="day", ylabel="level in m (dashed: truth)", xlim=(0, 12), ylim=(-0.6, 5.2))
left.legend(loc="upper right", ncols=3)
right.plot(list(errors), list(errors.values()), "o-", color="C5")
right.plot(chosen, errors[chosen], "o", color="C1", markersize=11, label="chosen by cross-validation")
right.set(xlabel="strength of the coupling, mu", ylabel="RMSE, all gauges", ylim=(0, None))
right.legend(loc="lower left")
plt.show()
