"""
How much should be in stock?
============================

Demand that is uncertain has no single best forecast: whoever must not run out orders the 95 % quantile.
Joint quantiles are the outputs of one kernel machine, so that near levels have similar shapes, and they do
not cross.
"""

import numpy as np
from carmina import JointQuantileRegressor, metrics, plot
from matplotlib import pyplot as plt

rng = np.random.default_rng(0)
week = rng.uniform(0, 52, size=500)
season = 60 + 35 * np.sin((week - 10) * 2 * np.pi / 52)
demand = season * rng.lognormal(sigma=0.25, size=500)  # deviations grow with the demand, and are skewed
train, test = slice(0, 300), slice(300, None)

model = JointQuantileRegressor(
    quantiles=(0.05, 0.25, 0.5, 0.75, 0.95), non_crossing=True, approximation="exact", random_state=0
).fit(week[train, None], demand[train])
below = metrics.quantile_coverage(demand[test], model.predict(week[test, None]))
for level, share in zip(model.quantiles, below):
    print(f"level {level:4}: {share:.2f} of new weeks are below")

plot.style()
figure, ax = plt.subplots()
grid = np.linspace(0, 52, 200)
plot.quantiles(grid, model.predict(grid[:, None]), levels=model.quantiles, ax=ax)
ax.plot(week, demand, ".", color="0.4", markersize=3)
ax.set(xlabel="week of the year", ylabel="demand", xlim=(0, 52), ylim=(0, None))
ax.legend(title="quantiles", loc="upper right")
plt.show()
