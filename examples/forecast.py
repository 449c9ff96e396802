"""
What will the load be next week?
================================

The load of a small grid every three hours, simulated: a rhythm of a day, one of a week, growth and noise.
Four weeks are forecast one after the other, each from what was known before, beside the last value and the
week before; then the week that comes, with a band.
"""

import numpy as np
from carmina import SpectralMixtureRegressor, backtest, metrics, plot
from matplotlib import pyplot as plt

rng = np.random.default_rng(1)
when = np.datetime64("2024-01-01") + np.arange(8 * 63) * np.timedelta64(3, "h")
day = np.arange(len(when)) / 8
load = (
    50
    + 0.15 * day
    + 12 * np.sin(2 * np.pi * (day - 0.3))
    + 5 * np.sin(4 * np.pi * (day - 0.1))
    + 6 * np.sin(2 * np.pi * day / 7)
    + 3 * rng.normal(size=len(day))
)
past, future = slice(0, 8 * 56), slice(8 * 56, None)

model = SpectralMixtureRegressor(periods=[1, 7], random_state=0)
print(backtest(when[past], load[past], horizon=56, steps=4, model=model, period=7))

model.fit(when[past], load[past])
print(model.report_.text)
mean, std = model.predict(when[future], return_std=True)
inside = metrics.coverage(load[future], mean - 1.96 * std, mean + 1.96 * std)
print(f"RMSE {np.sqrt(np.mean((load[future] - mean) ** 2)):.1f} (noise 3), {inside:.0%} inside the 95 % band")

plot.style()
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[1.9, 1])
plot.forecast(model, when[past], load[past], when[future], load[future], past=168, ax=left)
left.set(ylabel="load in MW", ylim=(20, 115))
left.legend(loc="upper center", ncols=5)
plot.spectrum(model, when[past], load[past] - load[past].mean(), by="period", ax=right)
right.set(ylim=(1e-4, 1e7))
right.legend(loc="upper right", ncols=2)
plt.show()
