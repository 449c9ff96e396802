"""
When most targets are missing
=============================

Eight instruments measure mixtures of the same two processes, and 90 % of their readings are lost. Alone,
each instrument has some forty readings left. Coupled by a matrix that says how they go together, each
learns from all.
"""

import numpy as np
from carmina import KernelRegressor, plot
from carmina.kernels import Decomposable, Gaussian
from matplotlib import pyplot as plt

rng = np.random.default_rng(0)
t = rng.uniform(-2, 2, size=(400, 1))
mixing = rng.normal(size=(2, 8))


def truth(t):
    return np.column_stack([np.sin(3 * t[:, 0]), np.cos(2 * t[:, 0])]) @ mixing


Y = truth(t) + 0.2 * rng.normal(size=(400, 8))
Y[rng.uniform(size=Y.shape) < 0.9] = np.nan
some = np.isfinite(Y).any(axis=1)
t, Y = t[some], Y[some]

grid = np.linspace(-2, 2, 200)[:, None]
fits = {}
for name, A in (("each alone", np.eye(8)), ("coupled", mixing.T @ mixing)):
    model = KernelRegressor(
        Decomposable(Gaussian(0.5), A), "fourier", n_components=60, alpha=0.1, random_state=0
    ).fit(t, Y)
    fits[name] = model.predict(grid)
    print(f"{name:10}  RMSE {np.sqrt(np.mean((fits[name] - truth(grid)) ** 2)):.2f}")

# %%
# The instrument with the largest error alone, and the errors of all eight.
plot.style()
worst = np.argmax(np.mean((fits["each alone"] - truth(grid)) ** 2, axis=0))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[1.6, 1])
left.plot(grid, truth(grid)[:, worst], "--", color="C5", label="truth")
for colour, (name, fit) in zip(("C1", "C0"), fits.items()):
    left.plot(grid, fit[:, worst], color=colour, label=name)
    errors = np.sqrt(np.mean((fit - truth(grid)) ** 2, axis=0))
    right.plot(np.arange(1, 9), errors, "o-", color=colour, label=name)
left.plot(t[:, 0], Y[:, worst], ".", color="black", label="readings")
left.set(xlabel="time", ylabel=f"instrument {worst + 1}", xlim=(-2, 2))
left.set_ylim(top=left.get_ylim()[1] + 1.2)
left.legend(loc="upper left", ncols=2)
right.set(xlabel="instrument", ylabel="RMSE against the truth", ylim=(0, 0.22), xticks=range(1, 9))
right.legend()
plt.show()
