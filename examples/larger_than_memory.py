"""
A table that is larger than memory
==================================

With Fourier features a fit needs one matrix of sums over the rows, whatever their number. ``partial_fit``
adds rows to it and gives the model of all rows seen so far, not an approximation of it. The file is mapped,
and read piece by piece. (The program does this by itself: ``carmina fit table.npy --memory 2G``.)
"""

import tempfile
from pathlib import Path

import numpy as np
from carmina import KernelRegressor, datasets, plot
from matplotlib import pyplot as plt

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "table.npy"
data = datasets.friedman(40_000, noise=1.0, random_state=0)
np.save(path, np.hstack([data.X, data.Y]))
new = datasets.friedman(2000, random_state=1)

table = np.load(path, mmap_mode="r")
model = KernelRegressor("gaussian", "fourier", n_components=300, gamma=0.3, alpha=0.1, random_state=0)
ends = [500, 1000, 2000, 5000, 10_000, 20_000, 40_000]
errors = []
for start, end in zip([0, *ends], ends):
    piece = table[start:end]
    model.partial_fit(piece[:, :10], piece[:, 10])
    errors.append(np.sqrt(np.mean((model.predict(new.X) - new.clean.ravel()) ** 2)))
    print(f"{end:7,} rows learnt: RMSE {errors[-1]:.2f}")

at_once = KernelRegressor(**model.get_params()).fit(data.X, data.Y.ravel())
difference = abs(at_once.predict(new.X) - model.predict(new.X)).max()
print(f"largest difference to one fit of all rows: {difference:.0e}")

plot.style()
figure, ax = plt.subplots()
ax.loglog(ends, errors, "o-", label="learnt piece by piece")
ax.loglog(
    ends[-1],
    np.sqrt(np.mean((at_once.predict(new.X) - new.clean.ravel()) ** 2)),
    "x",
    color="C1",
    markersize=12,
    markeredgewidth=2,
    label="one fit of all rows",
)
ax.set_xticks(ends, [f"{end:,}" for end in ends])
ax.set_yticks((0.8, 1, 1.25, 1.6), ("0.8", "1", "1.25", "1.6"))
ax.minorticks_off()
ax.set(xlabel="rows learnt", ylabel="RMSE against the function")
ax.legend()
plt.show()
folder.cleanup()
