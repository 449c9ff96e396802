"""
What will the load be next week?
================================

The load of a small grid every two hours, simulated: a rhythm of a day, one of a week and noise. A spectral
mixture learns the rhythms from five weeks and continues them. What it must beat is to repeat the last week.
"""

import numpy as np
from carmina import SpectralMixtureRegressor, metrics, plot
from matplotlib import pyplot as plt

rng = np.random.default_rng(1)
day = np.arange(0, 42, 1 / 12)
load = (
    50
    + 12 * np.sin(2 * np.pi * (day - 0.3))
    + 5 * np.sin(4 * np.pi * (day - 0.1))
    + 6 * np.sin(2 * np.pi * day / 7)
    + 3 * rng.normal(size=len(day))
)
past, future = day < 35, day >= 35

model = SpectralMixtureRegressor(n_mixtures=3, n_components=120, max_iter=300, random_state=0)
model.fit(day[past, None], load[past])
mean, std = model.predict(day[future, None], return_std=True)
week_before = load[(day >= 28) & (day < 35)]
for name, forecast in (("spectral mixture", mean), ("the week before", week_before)):
    print(f"{name:16} RMSE {np.sqrt(np.mean((load[future] - forecast) ** 2)):.1f} (noise 3)")
inside = metrics.coverage(load[future], mean - 1.96 * std, mean + 1.96 * std)
print(f"inside the 95 % band: {inside:.0%}")

plot.style()
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[1.9, 1])
plot.extrapolation(
    day[past], load[past], day[future], mean, std, X_test=day[future], y_test=load[future], ax=left
)
left.set(xlabel="day", ylabel="load in MW", ylim=(20, 100), xlim=(24, 42))
left.legend(loc="upper left", ncols=4)
plot.spectrum(model, day[past, None], load[past] - load[past].mean(), ax=right)
right.set(xlabel="cycles a day", xlim=(0, 3), ylim=(1e-4, 1e7))
right.legend(loc="upper right")
plt.show()
