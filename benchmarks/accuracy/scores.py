"""How good predictions are, for the accuracy benchmark: errors, intervals, densities, probabilities."""

from inspect import signature

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sets import CLASSES, MULTI_TARGET

COVERAGE = 0.9


def of(task: str, model, prediction: NDArray, split) -> dict:
    """What is known about a fitted model from the test rows of a split."""
    if task == CLASSES:
        return class_scores(prediction, split.y_test) | probability_scores(model, split)
    found = errors(prediction, split.y_test, split.y, many=task == MULTI_TARGET)
    return found | deviation_scores(model, split) | interval_scores(model, split)


def errors(prediction: NDArray, y: NDArray, y_train: NDArray, many: bool) -> dict:
    """Root mean squared error; of many targets each one's, and aRRMSE: the mean over targets of the root of
    Σ (prediction − y)² / Σ (mean of the training rows − y)². A target that is constant in the test rows does
    not count in it."""
    rmse = np.sqrt(np.mean(np.square(prediction - y), axis=0))
    if not many:
        return {"rmse": float(rmse)}
    by_mean = np.sqrt(np.mean(np.square(np.nanmean(y_train, axis=0) - y), axis=0))
    varies = np.ptp(y, axis=0) > 0
    return {"rmse_each": rmse.tolist(), "arrmse": float(np.mean(rmse[varies] / by_mean[varies]))}


def deviation_scores(model, split) -> dict:
    """Where the model gives standard deviations: mean log density of the targets, and coverage and mean width
    of the central 90 % intervals of the normal distribution."""
    # Some take any keyword for another model's sake: the signature says who knows this one.
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if "return_std" not in signature(last.predict).parameters:
        return {}
    try:
        mean, deviation = model.predict(split.X_test, return_std=True)
    except (ValueError, AttributeError, RuntimeError) as error:
        return {"no_deviation": str(error).splitlines()[0][:300]}
    half = norm.ppf(0.5 + COVERAGE / 2) * deviation
    return {
        "log_density": float(np.mean(norm.logpdf(split.y_test, mean, deviation))),
        "coverage": float(np.mean(np.abs(split.y_test - mean) <= half)),
        "width": float(np.mean(2 * half)),
        "intervals": "normal",
    }


def interval_scores(model, split) -> dict:
    """Where the model gives intervals of its own, these are counted in the place of the normal ones."""
    if not hasattr(model, "predict_interval"):
        return {}
    try:
        ends = np.asarray(model.predict_interval(split.X_test, coverage=COVERAGE))
    except (ValueError, AttributeError, RuntimeError) as error:
        return {"no_interval": str(error).splitlines()[0][:300]}
    low, high = ends[..., 0], ends[..., 1]
    found = {
        "coverage": float(np.mean((low <= split.y_test) & (split.y_test <= high))),
        "width": float(np.mean(high - low)),
        "intervals": "predict_interval",
    }
    if split.y_test.ndim > 1:
        joint = np.asarray(model.predict_interval(split.X_test, coverage=COVERAGE, joint=True))
        inside = (joint[..., 0] <= split.y_test) & (split.y_test <= joint[..., 1])
        found["joint_coverage"] = float(np.mean(inside.all(axis=1)))
    return found


def class_scores(prediction: NDArray, y: NDArray) -> dict:
    """Accuracy, and its mean over the classes that the test rows have."""
    right = prediction == y
    each = [np.mean(right[y == label]) for label in np.unique(y)]
    return {"accuracy": float(np.mean(right)), "balanced_accuracy": float(np.mean(each))}


def probability_scores(model, split) -> dict:
    """Mean log loss in nats; a probability below 1e-15 counts as that."""
    try:
        probabilities = model.predict_proba(split.X_test)
    except (AttributeError, NotImplementedError):
        return {}
    columns = np.searchsorted(model.classes_, split.y_test)
    of_truth = np.clip(probabilities[np.arange(len(columns)), columns], 1e-15, 1)
    return {"log_loss": float(-np.mean(np.log(of_truth)))}
