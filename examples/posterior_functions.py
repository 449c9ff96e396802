"""
Where is the maximum?
=====================

Nine experiments, each expensive: at which temperature is the yield largest? A band around the mean does not
answer that, since the place of the largest value depends on the whole function. Functions drawn from the
posterior do: the maximum of each is one possible answer.
"""

import numpy as np
from carmina import KernelRegressor, plot
from carmina.kernels import Gaussian
from matplotlib import pyplot as plt

rng = np.random.default_rng(2)
temperature = np.array([20, 25, 41, 47, 53, 75, 82, 90, 98.0])


def yield_of(t):
    return 55 + 16 * np.exp(-(((t - 67) / 12) ** 2)) + 13 * np.exp(-(((t - 34) / 9) ** 2))


y = yield_of(temperature) + 1.2 * rng.normal(size=len(temperature))
model = KernelRegressor(100 * Gaussian(10.0), "exact", alpha=1.5, random_state=0).fit(temperature[:, None], y)

grid = np.linspace(20, 100, 161)
functions = model.sample(grid[:, None], 1000, random_state=0).reshape(1000, -1)
best = grid[functions.argmax(axis=1)]
low, high = np.quantile(best, [0.05, 0.95])
print(f"the best temperature is between {low:.0f} and {high:.0f} °C with a probability of 90 %")
print(f"truth: {grid[yield_of(grid).argmax()]:.0f} °C")

plot.style()
figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4.8), sharex=True, height_ratios=[2, 1])
above.plot(grid, functions[:25].T, color="C0", alpha=0.2, linewidth=0.9)
above.plot([], [], color="C0", alpha=0.4, label="functions drawn")
above.plot(grid, yield_of(grid), "--", color="C1", label="truth")
above.plot(temperature, y, "o", color="black", markersize=4, label="experiments")
above.set(ylabel="yield in %", xlim=(20, 100))
above.legend(loc="upper right")
below.hist(best, bins=np.arange(20, 101, 2), color="C0", alpha=0.6)
below.set(xlabel="temperature in °C", ylabel="largest here, of 1000")
plt.show()
