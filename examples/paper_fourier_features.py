"""
Operator-valued Fourier features
================================

Claim [Brault2016, Figure 1]: random features approximate a kernel with matrix values, and the largest error
over the data falls as one over the square root of their number, for every kind of kernel.
"""

import numpy as np
from carmina import FourierFeatures, plot
from carmina.kernels import CurlFree, Decomposable, DivergenceFree, Gaussian
from matplotlib import pyplot as plt

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(30, 2))
k = Gaussian(1.0)
kernels = {
    "decomposable": Decomposable(k, np.array([[1.0, 0.4], [0.4, 1.0]])),
    "curl-free": CurlFree(k),
    "divergence-free": DivergenceFree(k),
}
sizes = np.array([20, 60, 200, 600, 2000, 6000])

plot.style()
figure, ax = plt.subplots()
for (name, kernel), marker in zip(kernels.items(), ("o-", "s-", "^:")):
    exact, errors = kernel(X), []
    for n_components in sizes:
        largest = []
        for seed in range(3):
            features = FourierFeatures(kernel, n_components=int(n_components), random_state=seed).fit(X)
            largest.append(np.linalg.norm(features.approximate_kernel(X) - exact, ord=2, axis=(2, 3)).max())
        errors.append(np.mean(largest))
    power = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    print(f"{name:15} falls with the power {power:.2f}")
    ax.loglog(sizes // 2, errors, marker, label=name)
ax.loglog(sizes // 2, 3 / np.sqrt(sizes / 2), "--", color="C5", label="power −½")
ax.set(xlabel="frequencies D", ylabel="largest error of K, spectral norm")
ax.legend()
plt.show()
