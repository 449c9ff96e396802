"""
Spectral mixtures by Fourier features
=====================================

Claim [Jung2019]: the kernel itself can be learnt through its spectrum, at a cost that grows with the rows
and not with their cube, and it extrapolates. Half of a sum of sinusoids is held back; the Gaussian kernel
has nothing to say of it.
"""

import numpy as np
from carmina import KernelRegressor, SpectralMixtureRegressor, datasets, plot
from matplotlib import pyplot as plt

series = datasets.sinusoids("half", 500, components=3, random_state=0)
past, future = slice(0, 320), slice(320, None)
X, y = series.X, series.y

mixture = SpectralMixtureRegressor(n_mixtures=6, n_components=200, max_iter=200, random_state=0)
mixture.fit(X[past], y[past])
mean, std = mixture.predict(X[future], return_std=True)
gaussian = KernelRegressor("gaussian", "exact", random_state=0).fit(X[past], y[past])
for name, forecast in (("spectral mixture", mean), ("Gaussian kernel", gaussian.predict(X[future]))):
    print(f"{name:16} RMSE of what was held back {np.sqrt(np.mean((forecast - y[future]) ** 2)):.2f}")

plot.style()
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[1.9, 1])
plot.extrapolation(X[past], y[past], X[future], mean, std, X_test=X[future], y_test=y[future], ax=left)
left.plot(X[future], gaussian.predict(X[future]), color="C1", label="Gaussian kernel")
left.set(xlabel="time", ylabel="series", xlim=(X[200, 0], X[-1, 0]))
left.set_ylim(top=left.get_ylim()[1] + 0.35 * np.ptp(left.get_ylim()))
left.legend(loc="upper left", ncols=3)
plot.spectrum(mixture, X[past], y[past], ax=right)
plt.show()
