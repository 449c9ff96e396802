"""Probabilities from the scores of a classifier: scores of rows that were left out, and what is learnt from
them.

The classes of a row have probabilities in proportion to exp(scale f_j) max(f_j, floor)^power, f its scores.
Both factors grow with the score, so that the class of the largest score has the largest probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carmina import _core, losses

MOST_ROWS = 5000  # whose scores are left out: a few numbers are learnt from them
MOST_FITTED_AGAIN = 20000  # rows of which folds are made; of more, some rows are held out once
MOMENT_BYTES = 256e6  # of the sums that a closed form keeps
KEPT_SCORES = 2000  # of label sets


@dataclass(frozen=True)
class Calibration:
    scale: float = 1.0
    power: float = 0.0
    floor: float = 1.0

    def probabilities(self, scores: NDArray) -> NDArray:
        """Of scores (n, classes)."""
        return _softmax(self.scale * scores + self.power * np.log(np.maximum(scores, self.floor)))


def by_class(scores: NDArray) -> NDArray:
    """Scores of the classes: one output f stands for −f/2 and f/2."""
    return np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores


# ---- what is learnt from scores


def calibrate(scores: NDArray, labels: NDArray, weights: NDArray, *, of_squares: bool) -> Calibration:
    """The calibration of least log loss on these rows; with `of_squares`, for scores that estimate the
    probabilities themselves, a power of them too."""
    found, least = _fit_scales([scores], labels, weights)
    best = Calibration(scale=found[0])
    if not of_squares:
        return best
    for floor in (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003):
        found, loss = _fit_scales([scores, np.log(np.maximum(scores, floor))], labels, weights)
        if loss < least:
            least, best = loss, Calibration(found[0], found[1], floor)
    return best


def _fit_scales(columns: list[NDArray], labels: NDArray, weights: NDArray) -> tuple[list[float], float]:
    """The t ≥ 0 for which softmax(Σ_k t_k columns_k) has the least log loss, and that: convex, by Newton's
    method, with the coefficient that would be negative at its bound. Targets keep a little for every class,
    so that scores which separate the classes have a scale too."""
    n, classes = columns[0].shape
    smoothing = 1 / (weights.sum() + classes)
    targets = np.full((n, classes), smoothing / classes)
    targets[np.arange(n), labels] += 1 - smoothing
    # Differences from the mean lose nothing: a softmax takes no notice of a constant.
    features = np.stack([column - column.mean(axis=1, keepdims=True) for column in columns], axis=2)
    smallest = np.array([1e-6 / max(1e-12, np.abs(features[:, :, 0]).max())] + [0.0] * (len(columns) - 1))

    def loss_at(t: NDArray) -> tuple[float, NDArray]:
        logits = features @ t
        peak = logits.max(axis=1, keepdims=True)
        log_sum = peak[:, 0] + np.log(np.exp(logits - peak).sum(axis=1))
        return float(weights @ (log_sum - (targets * logits).sum(axis=1))), logits

    free = np.ones(len(columns), dtype=bool)
    t = np.maximum(np.eye(len(columns))[0], smallest)
    value, logits = loss_at(t)
    for _ in range(100):
        p = _softmax(logits)
        slope = np.einsum("i,ij,ijk->k", weights, p - targets, features)
        mean = np.einsum("ij,ijk->ik", p, features)
        H = np.einsum("i,ij,ijk,ijl->kl", weights, p, features, features)
        H -= np.einsum("i,ik,il->kl", weights, mean, mean)
        free = (t > smallest) | (slope < 0)
        if not free.any():
            break
        step = np.zeros_like(t)
        damped = H[np.ix_(free, free)] + 1e-12 * (np.trace(H) + 1e-300) * np.eye(free.sum())
        step[free] = -np.linalg.solve(damped, slope[free])
        size = 1.0
        while size > 1e-10:
            trial = np.maximum(t + size * step, smallest)
            next_value, next_logits = loss_at(trial)
            if next_value < value:
                break
            size /= 2
        else:
            break
        gain, t, value, logits = value - next_value, trial, next_value, next_logits
        if gain <= 1e-12 * abs(value):
            break
    return [float(x) for x in t], value


def _softmax(logits: NDArray) -> NDArray:
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Conformity:
    """1 − the probability of its own class, of rows that were left out: ascending, with the weight of all
    rows up to each."""

    scores: NDArray
    weights: NDArray

    @classmethod
    def of(cls, probabilities: NDArray, labels: NDArray, weights: NDArray) -> Conformity:
        scores = 1 - probabilities[np.arange(len(labels)), labels]
        order = np.argsort(scores, kind="stable")
        scores, total = scores[order], np.cumsum(weights[order])
        if len(scores) > KEPT_SCORES:  # of each stretch the last: thresholds are never too small
            kept = np.unique(np.ceil(np.linspace(0, len(scores) - 1, KEPT_SCORES)).astype(int))
            scores, total = scores[kept], total[kept]
        return cls(scores, total)

    def threshold(self, coverage: float) -> float:
        """The smallest score that, of the rows and a new one, the share `coverage` does not exceed."""
        needed = coverage * (self.weights[-1] + 1)
        at = np.searchsorted(self.weights, needed - 1e-9 * needed)
        return float(self.scores[at]) if at < len(self.scores) else np.inf


# ---- scores of rows that are left out


@dataclass(frozen=True)
class LeftOut:
    """Scores by fits that did not see the row.

    Attributes
    ----------
    rows : ndarray of shape (k,)
        Their numbers.
    scores : ndarray of shape (k, classes)
    """

    rows: NDArray
    scores: NDArray


def left_out(model: Any, task: Any, labels: NDArray, removed: NDArray) -> LeftOut:
    """Scores of left-out rows of a fit that `model` has just made.

    Parameters
    ----------
    removed : ndarray of shape (n,)
        What weight of its row is left out: one copy, and with it the weight of its class.
    """
    weights = np.ones(len(labels)) if task.weights is None else task.weights.astype(float)
    rows = _some_rows(np.flatnonzero(weights > 0), model)
    if _has_closed_form(model):
        scores = _by_leverage(model, task, labels, weights, removed, rows)
        if scores is not None:
            return LeftOut(rows, scores)
    if model._processes is not None:
        # The rows of a fold are in several processes: without a closed form there are no probabilities.
        return LeftOut(rows[:0], np.empty((0, len(model.classes_))))
    return _by_folds(model, task, labels, weights)


def _some_rows(rows: NDArray, model: Any) -> NDArray:
    """At most MOST_ROWS of those of all processes, drawn by their numbers among all: those that are here."""
    counts = model._of_all(len(rows))
    total = sum(counts)
    if total <= MOST_ROWS:
        return rows
    chosen = np.sort(np.random.default_rng(0).choice(total, MOST_ROWS, replace=False))
    before = 0 if model._processes is None else sum(counts[: model._processes.rank])
    return rows[chosen[(chosen >= before) & (chosen < before + len(rows))] - before]


def _has_closed_form(model: Any) -> bool:
    record = model._machine.record
    if record["sketch"] is not None or not record["alpha"] > 0:
        return False
    if not isinstance(record["loss"], (losses.Squared, losses.Logistic)):
        return False
    if model._scalar_kernel() is None:
        return False
    options = model._options_again()
    return options.exact or options.moment_bytes(1) <= MOMENT_BYTES


def _by_leverage(
    model: Any, task: Any, labels: NDArray, weights: NDArray, removed: NDArray, rows: NDArray
) -> NDArray | None:
    """For the squared loss exactly, for the logistic one by a Newton step from the fit to all rows.

    With a = zᵀ(Σ_i u_i z_i z_iᵀ + α I)⁻¹z, u the weights times the curvature of the loss and z the features,
    a row that is left out has the scores f + ω a (I − ω a D)⁻¹ g: ω is what is removed of its weight, g the
    gradient and D the second derivatives of its loss. a is the variance of a squared-loss fit with the
    weights u, over that of the noise (docs/mathematics.md, 2c.3).
    """
    machine = model._machine
    simplex = model._is_simplex()
    classes = len(model.classes_)
    squared = isinstance(machine.record["loss"], losses.Squared)
    X = machine.transformed(task.X).astype(float)
    threads = model._resources()["threads"]
    f = machine.predict(task.X, threads=threads).astype(float)
    if squared:
        gradient, curvature = f - task.Y, np.ones(len(f))
    elif f.shape[1] == 1:
        y = task.Y.astype(float)
        share = 1 / (1 + np.exp(np.clip(y * f, -700, 700)))
        gradient, curvature = -y * share, (share * (1 - share))[:, 0]
    else:
        p = _softmax(f)
        gradient = p - task.Y
        # Of the matrix diag(p) − p pᵀ what it has along the gradient.
        along = (p * gradient**2).sum(axis=1) - ((p * gradient).sum(axis=1)) ** 2
        curvature = along / np.maximum((gradient**2).sum(axis=1), 1e-300)
    largest = max(model._of_all(float(curvature.max(initial=0.0))))
    if not largest > 0:
        return None
    options = model._options_again()
    options.loss = losses.Squared()
    options.kernel = model._scalar_kernel()
    # Simplex coding has k A, A of one eigenvalue T/(T − 1) besides 0.
    options.alpha = machine.record["alpha"] * ((classes - 1) / classes if simplex else 1.0)
    options.solver = "auto"  # that of the fit may be for its loss alone
    options = options.with_moments("calibrate")
    u = weights * np.maximum(curvature, 1e-9 * largest)
    try:
        # Any targets do: the variance of a prediction over that of the noise does not depend on them.
        signs = np.where(np.arange(len(X)) % 2, 1.0, -1.0).reshape(-1, 1)
        helper = _core.Machine.fit(X, signs, u, options, **model._resources(), **model._together())
        if helper.noise is None or not helper.noise[0] > 0:
            return None
        deviation = helper.deviation(X[rows], threads=threads)[:, 0] / np.sqrt(helper.noise[0])
    except (MemoryError, RuntimeError, ValueError):  # no room for the matrix, or a singular one
        return None
    leverage = removed[rows] * np.maximum(deviation**2 - 1, 0)  # ω a
    f, gradient = f[rows], gradient[rows]
    if squared:
        # Where A is zero, along (1, ..., 1), no row changes the fit.
        moved = gradient - gradient.mean(axis=1, keepdims=True) if simplex else gradient
        factor = leverage / np.maximum(1 - leverage, 1e-6)
        return by_class(f + factor[:, None] * moved)
    if f.shape[1] == 1:
        factor = leverage / np.maximum(1 - leverage * curvature[rows], 1e-3)
        return by_class(f + factor[:, None] * gradient)
    p = _softmax(f)
    D = -p[:, :, None] * p[:, None, :]
    D[:, np.arange(classes), np.arange(classes)] += p
    # ω a D has eigenvalues below 1 where a and D belong together; an estimated curvature needs a bound.
    most = leverage * np.maximum(curvature[rows], 1e-300)
    bounded = leverage / np.maximum(1, most / 0.95)
    moved = np.linalg.solve(np.eye(classes) - bounded[:, None, None] * D, gradient[:, :, None])[:, :, 0]
    return f + bounded[:, None] * moved


def _by_folds(model: Any, task: Any, labels: NDArray, weights: NDArray) -> LeftOut:
    """Fits without a fifth of the rows, of many rows without some, each class divided evenly."""
    rows = np.flatnonzero(weights > 0)
    random = np.random.default_rng(0)
    fold = np.empty(len(rows), dtype=int)
    folds = 5
    if len(rows) > MOST_FITTED_AGAIN:
        folds = max(5, len(rows) // MOST_ROWS)
    for label in np.unique(labels[rows]):
        members = random.permutation(np.flatnonzero(labels[rows] == label))
        fold[members] = (np.arange(len(members)) + random.integers(folds)) % folds
    options = model._options_again()
    X = model._machine.transformed(task.X)
    numbers, scores = [], []
    for k in range(1 if len(rows) > MOST_FITTED_AGAIN else folds):
        train, test = rows[fold != k], rows[fold == k]
        if len(test) == 0 or len(train) == 0:
            continue
        held = None if task.weights is None else np.ascontiguousarray(task.weights[train])
        machine = _core.Machine.fit(
            np.ascontiguousarray(X[train]),
            np.ascontiguousarray(task.Y[train]),
            held,
            options,
            **model._resources(),
        )
        numbers.append(test)
        predicted = machine.predict(np.ascontiguousarray(X[test]), threads=model._resources()["threads"])
        scores.append(by_class(predicted.astype(float)))
    return LeftOut(np.concatenate(numbers), np.vstack(scores))
