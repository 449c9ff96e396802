"""KernelClassifier on MNIST, in this process alone; started by against_gram.py, prints what it saw as JSON.

γ and α were chosen by the error on 5,000 of the training digits (not on the test digits), with 6,000
components and 10,000 other training digits: see `choose`.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
from carmina import KernelClassifier, datasets

GAMMA, ALPHA = 0.01, 0.1


def digits(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels in [0, 1] and labels."""
    folder = Path(os.environ["CARMINA_DATA"]) / "mnist"
    images = datasets.read(folder / f"{name}-images-idx3-ubyte.gz").data
    labels = datasets.read(folder / f"{name}-labels-idx1-ubyte.gz").data
    return (images / 255).astype(np.float32), labels.ravel().astype(int)


def classifier(components: int, gamma: float, alpha: float, seed: int, threads: int) -> KernelClassifier:
    return KernelClassifier(
        kernel="gaussian",
        n_components=components,
        gamma=gamma,
        loss="squared",
        calibrate=False,
        alpha=alpha,
        sampling="hadamard",
        random_state=seed,
        n_jobs=threads,
    )


def choose(threads: int) -> None:
    """Prints the error of a grid on held-out training digits: python mnist_contender.py choose."""
    X, y = digits("train")
    for gamma in (0.005, 0.01, 0.015, 0.02):
        for alpha in (0.1, 1.0):
            model = classifier(6_000, gamma, alpha, 0, threads).fit(X[:10_000], y[:10_000])
            error = np.mean(model.predict(X[-5_000:]) != y[-5_000:])
            print(f"gamma {gamma:<5} alpha {alpha:<3} error {error:.2%}", flush=True)


def main() -> None:
    if sys.argv[1] == "choose":
        choose(os.cpu_count())
        return
    spec = json.loads(sys.argv[1])
    X, y = digits("train")
    X, y = X[: spec["n"]], y[: spec["n"]]
    X_test, y_test = digits("t10k")
    settings = {"gamma": GAMMA, "alpha": ALPHA, "seed": spec["seed"], "threads": spec["threads"]}
    classifier(16, **settings).fit(X[:200], y[:200]).predict(X_test[:10])
    start = time.perf_counter()
    model = classifier(spec["components"], **settings).fit(X, y)
    fitted = time.perf_counter()
    wrong = model.predict(X_test) != y_test
    result = {
        "fit_seconds": fitted - start,
        "predict_seconds": time.perf_counter() - fitted,
        "test_error": float(wrong.mean()),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "solver": model.report_.solver,
        "phases": model.report_.seconds,
        "gamma": GAMMA,
        "alpha": ALPHA,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
