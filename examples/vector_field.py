"""
A vector field taken apart
==========================

A current is seen at 200 places, with noise: the sum of a gradient, which flows out of sources, and of a
flow that turns without any. Nobody saw the two. A sum of a curl-free and a divergence-free kernel finds
both.
"""

import numpy as np
from carmina import KernelRegressor, datasets, plot
from carmina.kernels import CurlFree, DivergenceFree, Gaussian
from matplotlib import pyplot as plt

places, grids = {}, {}
for kind, width in (("curl-free", 0.4), ("divergence-free", 0.6)):
    places[kind] = datasets.vector_field(kind, 200, tau=width, random_state=0)
    grids[kind] = datasets.vector_field(kind, 21**2, tau=width, grid=True)
X, grid = places["curl-free"].X, grids["curl-free"].X
seen = sum(field.Y for field in places.values()) + 0.1 * np.random.default_rng(0).normal(size=X.shape)

k = Gaussian(0.5)
model = KernelRegressor(CurlFree(k) + DivergenceFree(k), "exact", alpha=0.1).fit(X, seen)
gradient, flow = model.predict_parts(grid)
for name, part, kind in (("gradient", gradient, "curl-free"), ("flow", flow, "divergence-free")):
    truth = grids[kind].Y
    error, size = (np.sqrt(np.mean(values**2)) for values in (part - truth, truth))
    print(f"{name:8} RMSE {error:.2f}, its size {size:.2f}")

plot.style()
fastest = np.hypot(*model.predict(grid).T).max()
figure, axes = plt.subplots(2, 2, figsize=(7, 6.6), sharex=True, sharey=True)
for ax, title, at, arrows in zip(
    axes.flat,
    ("seen at 200 places", "the field learnt", "its gradient part", "its part without divergence"),
    (X, grid, grid, grid),
    (seen, model.predict(grid), gradient, flow),
):
    plot.vector_field(at, arrows, ax=ax, clim=(0, fastest), scale=36, width=0.007, pivot="mid")
    ax.set(title=title, xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), xticks=(-2, 0, 2), yticks=(-2, 0, 2))
for ax in axes[1]:
    ax.set_xlabel("east in km")
for ax in axes[:, 0]:
    ax.set_ylabel("north in km")
figure.colorbar(axes[0, 0].collections[0], ax=axes, label="speed", shrink=0.6)
plt.show()
