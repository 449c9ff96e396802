"""One contender, one job, in this process alone: what to do is its argument, what it saw is printed as JSON.

Not called by hand: harness.py starts it, so that peak memory and BLAS belong to one contender. It may run in
an environment that holds the contender and NumPy alone.
"""

import json
import resource
import statistics
import sys
import time
from importlib import import_module, metadata

import friedman
import tasks

# Where each contender is made, by a function of the specification; imported only when it is asked for.
MODULES = {
    "contenders_squared": (
        "Carmina, Fourier",
        "Carmina, Fourier, orthogonal",
        "Carmina, Fourier, phases",
        "Carmina, exact",
        "Carmina, sub_sample",
        "RBFSampler + Ridge",
        "Nystroem + Ridge",
        "KernelRidge",
    ),
    "contenders_losses": (
        "SVR",
        "SVR, scikit-learn-intelex",
        "Carmina, exact ε-insensitive",
        "Carmina, Fourier ε-insensitive",
        "QuantileRegressor",
        "Carmina, pinball",
    ),
    "contenders_processes": ("GaussianProcessRegressor", "GPyTorch, exact", "Carmina, exact process"),
    "contenders_peers": (
        "xGPR, exact",
        "xGPR, cg",
        "rfflearn, RFFGPR",
        "GPyTorch, RFFKernel",
        "Fastfood + Ridge",
    ),
}
PACKAGES = ("carmina", "scikit-learn", "scikit-learn-intelex", "scikit-learn-extra")
PACKAGES += ("torch", "gpytorch", "xGPR", "rfflearn")


def maker(name: str):
    module = next(module for module, names in MODULES.items() if name in names)
    return import_module(module).CONTENDERS[name]


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def timed_fits(make, spec: dict, X, Y) -> tuple[object, float]:
    """The model, and the seconds of a fit: as many as it takes to fill `least_seconds`, divided by their
    number, so that the clock's and the scheduler's grain do not count."""
    start, count = time.perf_counter(), 0
    while True:
        model = make(spec).fit(X, Y)
        count += 1
        elapsed = time.perf_counter() - start
        if elapsed >= spec.get("least_seconds", 0):
            return model, elapsed / count


def main() -> None:
    spec = json.loads(sys.argv[1])
    task = tasks.TASKS[spec.get("task", "mean")]
    shape = spec["d"], spec["p"]
    X, Y = friedman.arrays(spec["n"], *shape, seed=1, dtype=spec["dtype"])
    X_test, Y_test = friedman.arrays(spec["n_test"], *shape, seed=2, dtype=spec["dtype"])
    if spec["p"] == 1:
        Y, Y_test = Y[:, 0], Y_test[:, 0]
    make = maker(spec["contender"])
    # A first small fit, so that nobody's libraries are loaded on the clock.
    small = make(spec | {"components": 16}).fit(X[:200], Y[:200])
    task.predict(small, X_test[:10])
    del small
    loaded = peak_bytes()

    model, seconds = timed_fits(make, spec, X, Y)
    predictions = []
    for _ in range(spec.get("predictions", 1)):
        start = time.perf_counter()
        answer = task.predict(model, X_test)
        predictions.append(time.perf_counter() - start)
    result = {
        "fit_seconds": seconds,
        "predict_seconds": statistics.median(predictions),
        "peak_bytes": peak_bytes(),
        "loaded_bytes": loaded,
        **task.judge(spec, model, answer, (X, Y), (X_test, Y_test)),
        "versions": versions(),
    }
    if hasattr(model, "report_"):
        result["phases"] = model.report_.seconds
        result["solver"] = model.report_.solver
    if hasattr(model, "steps"):  # a pipeline: does float32 stay float32 between its steps?
        result["features_dtype"] = str(model[0].transform(X_test[:2]).dtype)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
