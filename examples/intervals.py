"""
How sure is a prediction?
=========================

A sensor was off for a while. Between its readings the model knows what to expect; where there are none it
says so. The deviation counts both: what is not known of the function, and the noise of a single reading.
"""

import numpy as np
from carmina import KernelRegressor, plot
from matplotlib import pyplot as plt


def truth(hour):
    return 14 + 5 * np.sin((hour - 9) * np.pi / 12) + 1.5 * np.sin(1.4 * hour)


rng = np.random.default_rng(0)
hour = np.sort(np.concatenate([rng.uniform(0, 9, 70), rng.uniform(14, 24, 70)]))
temperature = truth(hour) + 0.7 * rng.normal(size=140)

model = KernelRegressor("gaussian", approximation="exact", random_state=0).fit(hour[:, None], temperature)
print(model.report_.text)

grid = np.linspace(0, 24, 300)
mean, std = model.predict(grid[:, None], return_std=True)
low, high = model.predict_interval(grid[:, None], coverage=0.9).T
print(f"noise of a reading: {model.noise_**0.5:.2f} (truth 0.70)")

plot.style()
figure, ax = plt.subplots()
ax.fill_between(grid, low, high, alpha=0.2, linewidth=0, label="90 % of new readings")
ax.plot(grid, mean, label="mean")
ax.plot(grid, truth(grid), "--", color="C1", linewidth=1.2, label="truth")
ax.plot(hour, temperature, ".", color="C5", markersize=4, label="readings")
ax.set(
    xlabel="hour of the day", ylabel="temperature in °C", xlim=(0, 24), ylim=(5, 26), xticks=range(0, 25, 3)
)
ax.legend(loc="upper left", ncols=2)
plt.show()
