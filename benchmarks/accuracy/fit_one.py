"""A process of its own for one model on some splits of one set: prints a JSON record for each. See run.py."""

import json
import os
import sys
import time
import warnings
from typing import TextIO

import numpy as np
import scores
import sets

import data
import models


def warm_up(model: models.Model, task: str) -> None:
    """A first fit to a small made-up table, so that nobody's libraries are loaded on the clock."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    y = {sets.CLASSES: (y > 0).astype(int), sets.MULTI_TARGET: np.column_stack([y, -y])}.get(task, y)
    model.make(task, 3).fit(X, y).predict(X)


def options_of(fitted) -> dict:
    """What was asked for and what was chosen, as text where JSON has no word for it."""
    steps = [step for _, step in fitted.steps] if hasattr(fitted, "steps") else [fitted]
    last = getattr(steps[-1], "regressor_", steps[-1])
    found = {} if len(steps) > 1 else dict(fitted.get_params(deep=False))
    for name in ("best_params_", "kernel_", "alpha_"):
        value = getattr(last, name, None)
        if value is not None and np.ndim(value) == 0:  # alpha_ of others is a vector of coefficients
            found[name] = value
    return json.loads(json.dumps(found, default=str))


def record(name: str, number: int, model: models.Model, threads: int) -> dict:
    task = sets.BY_NAME[name].task
    split = data.split(name, number)
    found = {
        "rows": len(split.X) + len(split.X_test),
        "train_rows": len(split.X),
        "test_rows": len(split.X_test),
        "inputs": split.X.shape[1],
    }
    X, y = split.X, split.y
    if model.most_rows and len(X) > model.most_rows:
        kept = np.random.default_rng(number).permutation(len(X))[: model.most_rows]
        X, y = X[kept], y[kept]
        found["note"] = f"fitted to {model.most_rows} of {len(split.X)} training rows"
    estimator = model.make(task, X.shape[1])
    if model.n_jobs and threads != os.cpu_count():  # else as it is by default
        estimator.set_params(n_jobs=threads)
    start = time.perf_counter()
    estimator.fit(X, y)
    fitted = time.perf_counter()
    prediction = estimator.predict(split.X_test)
    end = time.perf_counter()
    found |= {"fit_seconds": fitted - start, "predict_seconds": end - fitted, "seconds": end - start}
    found |= scores.of(task, estimator, prediction, split)
    return found | {"options": options_of(estimator)}


def main() -> None:
    spec = json.loads(sys.argv[1])
    model = models.MODELS[spec["model"]]
    if spec.get("cores"):
        os.sched_setaffinity(0, spec["cores"])
    # A warning is printed once, and not for each of a thousand fits of a grid.
    warnings.simplefilter("once")
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what libraries print goes to stderr
        fit(spec, model, answers)


def fit(spec: dict, model: models.Model, answers: TextIO) -> None:
    shared = {"set": spec["set"], "model": spec["model"]}
    warm = False
    for number in spec["splits"]:
        answer = shared | {"split": number}
        try:
            if not warm:
                model.version()
                warm_up(model, sets.BY_NAME[spec["set"]].task)
                warm = True
            answer |= {"version": model.version()} | record(spec["set"], number, model, spec["threads"])
        except (data.Missing, ImportError) as missing:
            answer["missing"] = str(missing)
        except Exception as error:  # of any library: the run goes on, and the record says what happened
            answer["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
