"""One contender, one fit, in this process alone: what to do is its argument, what it saw is printed as JSON.

Not called by hand: harness.py starts it, so that peak memory and BLAS belong to one contender.
"""

import json
import resource
import sys
import time

import friedman
import numpy as np


def carmina_fourier(spec):
    from carmina import KernelRegressor

    return KernelRegressor(
        n_components=spec["components"],
        gamma=spec["gamma"],
        alpha=spec["alpha"],
        random_state=spec["seed"],
        n_jobs=spec["threads"],
    )


def carmina_exact(spec):
    from carmina import KernelRegressor

    return KernelRegressor(
        approximation="exact",
        gamma=spec["gamma"],
        alpha=spec["alpha"],
        fit_intercept=False,  # KernelRidge has none
        n_jobs=spec["threads"],
    )


def sampler_ridge(spec):
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    sampler = RBFSampler(gamma=spec["gamma"], n_components=spec["components"], random_state=spec["seed"])
    return make_pipeline(sampler, Ridge(alpha=spec["alpha"], solver="cholesky"))


def kernel_ridge(spec):
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", gamma=spec["gamma"], alpha=spec["alpha"])


CONTENDERS = {
    "Carmina, Fourier": carmina_fourier,
    "Carmina, exact": carmina_exact,
    "RBFSampler + Ridge": sampler_ridge,
    "KernelRidge": kernel_ridge,
}


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    spec = json.loads(sys.argv[1])
    shape = spec["d"], spec["p"]
    X, Y = friedman.arrays(spec["n"], *shape, seed=1, dtype=spec["dtype"])
    X_test, Y_test = friedman.arrays(spec["n_test"], *shape, seed=2, dtype=spec["dtype"])
    make = CONTENDERS[spec["contender"]]
    # A first small fit, so that nobody's libraries are loaded on the clock.
    make(spec | {"components": 16}).fit(X[:200], Y[:200]).predict(X_test[:10])
    loaded = peak_bytes()

    start = time.perf_counter()
    model = make(spec).fit(X, Y)
    fitted = time.perf_counter()
    prediction = model.predict(X_test)
    predicted = time.perf_counter()
    result = {
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
        "peak_bytes": peak_bytes(),
        "loaded_bytes": loaded,
        "test_rmse": float(np.sqrt(np.mean((prediction.astype("float64") - Y_test) ** 2))),
        "prediction_dtype": str(prediction.dtype),
    }
    if hasattr(model, "report_"):
        result["phases"] = model.report_.seconds
    if hasattr(model, "steps"):  # a pipeline: does float32 stay float32 between its steps?
        result["features_dtype"] = str(model[0].transform(X_test[:2]).dtype)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
