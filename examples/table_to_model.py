"""
From a table to a model
=======================

How ill will a patient be in a year? 442 patients with diabetes, ten measurements of each, and how far the
disease has gone a year later. Nothing is set: kernel, width and penalty are chosen by the errors of rows
left out.
"""

import numpy as np
from carmina import KernelRegressor, plot
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=100, random_state=0)

model = KernelRegressor(random_state=0).fit(X_train, y_train)
print(model.report_.text)
print(f"R² of new patients: {model.score(X_test, y_test):.2f}")

# %%
# Each prediction has an interval that nine of ten new patients should fall into.
predicted = model.predict(X_test)
low, high = model.predict_interval(X_test, coverage=0.9).T
inside = (low <= y_test) & (y_test <= high)
print(f"inside their interval: {inside.mean():.0%}")

plot.style()
order = np.argsort(predicted)
rank = np.arange(len(order))
figure, ax = plt.subplots()
ax.fill_between(rank, low[order], high[order], alpha=0.2, linewidth=0, label="90 % interval")
ax.plot(rank, predicted[order], label="prediction")
for kind, colour, label in ((inside, "C5", "patient"), (~inside, "C1", "patient outside")):
    shown = kind[order]
    ax.plot(rank[shown], y_test[order][shown], ".", color=colour, label=label)
ax.set(xlabel="100 new patients, by prediction", ylabel="progression after a year")
ax.legend(loc="upper left", ncols=2)
ax.set_ylim(top=480)
plt.show()
