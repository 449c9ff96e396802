"""
When one label is not enough
============================

Which tree is it? Where the species overlap, one label is a guess. A label set holds the true one in nine
cases of ten, and its size says how hard the case is: one label, or several.
"""

import numpy as np
from carmina import KernelClassifier, plot
from matplotlib import pyplot as plt

rng = np.random.default_rng(0)
species = np.array(["ash", "birch", "cedar"])
centres = np.array([[0.0, 0.0], [2.2, 0.0], [1.1, 1.9]])


def draw(n):
    own = rng.integers(3, size=n)
    return centres[own] + 0.7 * rng.normal(size=(n, 2)), own


X, own = draw(300)
X_new, own_new = draw(2000)
model = KernelClassifier("gaussian", "exact", gamma=0.4, alpha=0.3, random_state=0).fit(X, species[own])
sets = model.predict_set(X_new, coverage=0.9)
print(f"accuracy {model.score(X_new, species[own_new]):.2f}")
print(f"sets that hold the true label {sets[np.arange(2000), own_new].mean():.2f}")
print(f"labels in a set, on average {sets.sum(axis=1).mean():.2f}")

plot.style()
x, y = np.meshgrid(np.linspace(-2.2, 4.4, 150), np.linspace(-2.2, 4.2, 150))
size = model.predict_set(np.column_stack([x.ravel(), y.ravel()]), coverage=0.9).sum(axis=1).reshape(x.shape)
figure, ax = plt.subplots(figsize=(7, 4.6))
shades = ax.contourf(
    x, y, size, levels=[-0.5, 0.5, 1.5, 2.5, 3.5], colors=["0.85", "white", "#f6dfc9", "#e9b183"]
)
for c, marker in enumerate("o^s"):
    chosen = own == c
    ax.plot(*X[chosen].T, marker, color=f"C{(0, 2, 4)[c]}", markersize=4, alpha=0.8, label=species[c])
bar = figure.colorbar(shades, ticks=[0, 1, 2, 3], label="labels in the set")
bar.ax.tick_params(length=0)
ax.set(
    xlabel="width of a leaf in cm",
    ylabel="length of a leaf in cm",
    aspect="equal",
    xlim=(-2.2, 4.4),
    ylim=(-2.2, 4.2),
)
ax.set_xticks([-2, 0, 2, 4], [4, 6, 8, 10])
ax.set_yticks([-2, 0, 2, 4], [6, 8, 10, 12])
ax.legend(loc="upper right")
plt.show()
