"""
Some targets are wrong by far
=============================

A plug was loose, and one reading of ten is off by 3. The squared loss pays for the distance squared and
bends towards them. Huber's pays linearly beyond a threshold, which is taken from the residuals, and hardly
notices.
"""

import numpy as np
from carmina import KernelRegressor, plot
from matplotlib import pyplot as plt

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 200))
truth = 3 + np.sin(x) + 0.2 * x
y = truth + 0.15 * rng.normal(size=200)
wrong = rng.choice(200, 20, replace=False)
y[wrong] += 3

plot.style()
figure, ax = plt.subplots()
ax.plot(x, truth, "--", color="C5", label="truth")
for colour, loss in (("C1", "squared"), ("C0", "huber")):
    model = KernelRegressor("gaussian", "exact", loss=loss, random_state=0).fit(x[:, None], y)
    fit = model.predict(x[:, None])
    ax.plot(x, fit, color=colour, label=f'loss="{loss}"')
    print(f"{loss:8} RMSE against the truth {np.sqrt(np.mean((fit - truth) ** 2)):.2f}")

ax.plot(x, y, ".", color="black", markersize=3, label="readings")
ax.set(xlabel="x", ylabel="reading", xlim=(0, 10), ylim=(2, 11))
ax.legend(loc="upper left", ncols=2)
plt.show()
