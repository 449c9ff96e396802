"""
A model in another engine
=========================

A fitted model becomes an ONNX graph, which onnxruntime runs from any language, without Carmina. Its
predictions are those of ``predict`` to rounding, and so are its deviations: they are part of the graph.
"""

import numpy as np
import onnxruntime
from carmina import KernelRegressor, plot
from matplotlib import pyplot as plt

rng = np.random.default_rng(0)
X = np.concatenate([rng.uniform(0, 4, 40), rng.uniform(6, 10, 40)])[:, None]
y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=len(X))
model = KernelRegressor("gaussian", random_state=0).fit(X, y)

graph = model.to_onnx()
session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
grid = np.linspace(0, 10, 300)[:, None]
prediction, std = (values[:, 0] for values in session.run(["prediction", "std"], {"X": grid}))
own, own_std = model.predict(grid, return_std=True)
print(f"{len(graph.graph.node)} nodes, {graph.ByteSize() / 1000:.0f} kB")
differences = {"prediction": abs(prediction - own), "deviation": abs(std - own_std)}
for name, difference in differences.items():
    print(f"largest difference of a {name}: {difference.max():.0e}")

plot.style()
figure, (top, bottom) = plt.subplots(2, 1, sharex=True, height_ratios=(2, 1), figsize=(6.4, 5))
top.fill_between(grid[:, 0], prediction - 2 * std, prediction + 2 * std, alpha=0.25, linewidth=0)
top.plot(grid, prediction, label="onnxruntime, ± 2 deviations")
top.plot(grid, own, ":", color="black", label="predict")
top.plot(X, y, ".", color="0.5")
top.set(ylabel="y", ylim=(-1.9, 2.6))
top.legend(loc="upper center", ncols=2)
for (name, difference), line in zip(differences.items(), ("-", "--")):
    bottom.semilogy(grid, np.maximum(difference, 1e-18), line, label=name)
bottom.axhline(1e-12, color="0.6", linestyle=":")
bottom.annotate("what the tests allow", (0, 1.6e-12), color="0.4")
bottom.set(xlabel="x", ylabel="difference", ylim=(1e-19, 1e-10))
plt.show()
