"""
A service in C++
================

A program that predicts needs no Python and no solver: it links ``carmina::predict``, loads the
model file, and answers row by row. Here Python fits a field, compiles such a program of twenty lines (by the
library that ``make build`` installs, found by ``PKG_CONFIG_PATH``), sends it rows, and finds the same bits as
its own predictions.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from carmina import KernelRegressor, datasets, plot
from carmina.kernels import CurlFree
from matplotlib import pyplot as plt

SERVICE = """
// service.cpp -- answers each line of inputs with a line of predictions.
#include <carmina/models/predictor.hpp>
#include <cstdio>
#include <iostream>

int main(int, char** words) {
  const auto model = carmina::Predictor::load(words[1]);
  carmina::Matrix<double> row(1, model.dim_in());
  for (;;) {
    for (double& x : row.reshaped()) {
      if (!(std::cin >> x)) return 0;
    }
    const carmina::Matrix<double> f = model.predict(row);
    for (const double value : f.reshaped()) std::printf("%.17g ", value);
    std::printf("\\n");
  }
}
"""

data = datasets.vector_field("curl-free", 300, noise=0.2, random_state=0)
model = KernelRegressor(CurlFree("gaussian"), random_state=0).fit(data.X, data.Y)

folder = tempfile.TemporaryDirectory()
home = Path(folder.name)
model.save(home / "field.safetensors")
(home / "service.cpp").write_text(SERVICE)
asked = ["pkg-config", "--cflags", "--libs", "carmina-predict"]
flags = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
subprocess.run(["c++", "-O2", "service.cpp", *flags, "-s", "-o", "service"], cwd=home, check=True)
size = (home / "service").stat().st_size

low, high = data.X.min(axis=0), data.X.max(axis=0)
places = np.stack(np.meshgrid(*np.linspace(low, high, 15).T), axis=-1).reshape(-1, 2)
lines = "\n".join(" ".join(map(repr, row)) for row in places.tolist())
service = [home / "service", home / "field.safetensors"]
answered = subprocess.run(service, input=lines, capture_output=True, text=True, check=True).stdout
answers = np.array([line.split() for line in answered.splitlines()], dtype=float)
folder.cleanup()
print(
    f"a program of {size / 1e6:.1f} MB; the same bits as Python's: {(answers == model.predict(places)).all()}"
)

plot.style()
figure, ax = plt.subplots(figsize=(5.2, 5))
ax.quiver(*data.X.T, *data.Y.T, color="0.75", width=0.003, label="seen, with noise")
ax.quiver(*places.T, *answers.T, color="C0", width=0.005, label="answered by the service")
ax.set(xlabel="x", ylabel="y", aspect="equal")
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
plt.show()
