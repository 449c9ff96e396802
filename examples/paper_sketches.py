"""
p-sparsified sketches
=====================

Claim [ElAhmad2023, Figures 1 to 4]: a sketch with a few random entries in each row is as exact as a dense
Gaussian one and nearly as cheap as taking some rows (Nyström). Here with Huber's loss and outliers among
the inputs, on so few rows that all three are alike: what the sparse sketch adds is time, not error.
"""

import numpy as np
from carmina import KernelRegressor, datasets, losses, plot, sketches
from carmina.kernels import Gaussian
from matplotlib import pyplot as plt

data = datasets.friedman(
    600, function="additive", input_outliers=0.01, outlier_deviation=0.25, random_state=0
)
new = datasets.friedman(1000, function="additive", random_state=1)
sizes = (10, 20, 40, 80, 160)
families = {
    "rows (Nyström)": lambda s: sketches.SubSample(s),
    "p-SR, p = 20/n": lambda s: sketches.SparseRademacher(s, 20 / 600),
    "Gaussian": lambda s: sketches.Gaussian(s),
}


def error(approximation, seed=0):
    model = KernelRegressor(
        Gaussian(1.2), approximation, loss=losses.Huber(1.0), alpha=0.03, tol=1e-4, random_state=seed
    ).fit(data.X, data.Y.ravel())
    return np.sqrt(np.mean((model.predict(new.X) - new.clean.ravel()) ** 2))


plot.style()
figure, ax = plt.subplots()
for (name, family), marker in zip(families.items(), "os^"):
    errors = [np.mean([error(family(s), seed) for seed in range(3)]) for s in sizes]
    print(f"{name:15}" + "".join(f"{value:6.2f}" for value in errors))
    ax.plot(sizes, errors, marker + "-", label=name)
ax.axhline(error("exact"), color="C5", linestyle="--", label="exact machine")
ax.set(xscale="log", xlabel="size of the sketch s", ylabel="RMSE against the function")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend()
plt.show()
