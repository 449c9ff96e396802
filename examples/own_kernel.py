"""
A kernel of your own
====================

A tide returns, but each wave differs a little from the last. No kernel of the library says that, so it is
written down: values are alike after whole periods, and less so the more of them lie between. From this
function the spectrum is computed, and every solver can fit it.
"""

import numpy as np
from carmina import KernelRegressor, plot
from carmina.kernels import FromSignature, Gaussian
from matplotlib import pyplot as plt

PERIOD = 12.4


def tide(delta):
    """K₀(δ): a matrix of 1 × 1, for each row of differences."""
    alike = np.cos(2 * np.pi * delta[..., 0] / PERIOD) * np.exp(-((delta[..., 0] / 60) ** 2) / 2)
    return alike[..., None, None]


rng = np.random.default_rng(0)
hour = np.linspace(0, 72, 145)
height = 2 * np.sin(2 * np.pi * hour / PERIOD) * (1 + 0.3 * np.sin(hour / 30)) + 0.2 * rng.normal(size=145)
seen = hour < 48

plot.style()
figure, ax = plt.subplots(figsize=(8, 3.6))
for colour, name, kernel in (
    ("C1", "Gaussian kernel", Gaussian(3.0)),
    ("C0", "a kernel that knows of tides", FromSignature(tide, dim_in=1, extent=400.0)),
):
    model = KernelRegressor(kernel, "fourier", n_components=300, alpha=0.1, random_state=0)
    model.fit(hour[seen, None], height[seen])
    error = np.sqrt(np.mean((model.predict(hour[~seen, None]) - height[~seen]) ** 2))
    print(f"{name:29} RMSE of the last day {error:.2f}")
    ax.plot(hour, model.predict(hour[:, None]), color=colour, label=name)
ax.plot(hour[seen], height[seen], ".", color="black", markersize=4, label="seen")
ax.plot(hour[~seen], height[~seen], ".", color="C5", markersize=4, label="the day after")
ax.set(xlabel="hour", ylabel="height in m", xlim=(0, 72), ylim=(-3.2, 4.6))
ax.legend(loc="upper left", ncols=2)
plt.show()
