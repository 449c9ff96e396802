"""Checks of what users pass in: one clear sentence each, saying what was expected and what was found."""

from __future__ import annotations

import math
import numbers
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_array, validate_data

from carmina import _core, _frame_encoder, _frames, kernels, losses, sketches
from carmina._device_arrays import DeviceArray, is_on_device, on_host
from carmina._field_by_name import FieldByName


def integer(name: str, value: Any) -> int:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    raise ValueError(f"{name} must be an integer, found {value!r}")


def number(name: str, value: Any) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"{name} must be a number, found {value!r}")


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    raise ValueError(f"{name} must be {' or '.join(map(repr, allowed))}, found {value!r}")


def left_open(value: Any) -> bool:
    """Whether a parameter leaves the choice to the data."""
    return isinstance(value, str) and value == "auto"


def finite_sum(X: np.ndarray) -> bool:
    """Whether the sum of X is finite: then all of it is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(X, axis=None))


def checked_rows(estimator: Any, *arrays: Any, filled: bool, missing: bool = False, **options: Any) -> Any:
    """scikit-learn's `validate_data`, whose refusal of NaN in X names the option that takes them; `missing`:
    y may have NaN. Frames become numbers first, by the estimator's encoder."""
    if is_on_device(arrays[0]):
        arrays, done = _rows_on_device(estimator, *arrays, missing=missing, **options)
        if done:
            return arrays if len(arrays) > 1 else arrays[0]
    arrays = (arrays[0], *map(on_host, arrays[1:]))
    reset = {"reset": options.pop("reset")} if "reset" in options else {}
    options["ensure_all_finite"] = "allow-nan" if filled else True
    if _frames.is_frame(arrays[0]):
        frame = _frames.Frame(arrays[0])
        estimator = _named_after(estimator, frame, reset.get("reset", True))
        X = _frame_encoder.encode(frame, estimator._encoder, filled)
        arrays = (X, *(_frames.targets(y) for y in arrays[1:]))
        reset = {}
    elif len(arrays) > 1:
        arrays = (arrays[0], *(_frames.targets(y) for y in arrays[1:]))
    if missing:
        targets = {"ensure_2d": False, "ensure_all_finite": "allow-nan"}
        options = {"validate_separately": (options, targets)}
    encodes = False
    if reset.get("reset", True):
        encodes = not hasattr(estimator, "_stand_in")
        if encodes:
            vars(estimator).pop("_encoder", None)  # of an earlier fit
    elif getattr(estimator, "_encoder", None) is not None and estimator._encoder.takes_numbers:
        encodes = True
    elif getattr(estimator, "_encoder", None) is not None:
        raise ValueError(
            f"X is no frame, but the model was fitted with columns of categories or dates: pass a frame with "
            f"the columns {', '.join(map(repr, estimator._encoder.input_names))}"
        )
    try:
        valid = validate_data(estimator, *arrays, **options, **reset)
        return _wrapped(estimator, valid, reset.get("reset", True)) if encodes else valid
    except ValueError as error:
        message = _not_finite(arrays[0], filled) if "Input X contains" in str(error) else ""
        if not message:
            raise
        raise ValueError(message) from None


def _rows_on_device(
    estimator: Any, X: Any, *targets: Any, missing: bool, dtype: Any, reset: bool = True, **options: Any
) -> tuple[tuple[Any, ...], bool]:
    """What was given, X as rows that stay where they are, and True where that is all that is to be checked:
    not where columns wrap round, or numbers are of another precision than the model takes."""
    held = DeviceArray(X)
    dtypes = dtype if isinstance(dtype, list) else [np.dtype(dtype)]
    plain = hasattr(estimator, "device") and getattr(estimator, "wrap", None) is None
    plain = plain and getattr(estimator, "_encoder", None) is None
    if not plain or held.rows_apart is None or held.dtype not in dtypes or 0 in held.shape:
        return (np.asarray(held), *targets), False
    _check_n_features(estimator, held, reset=reset)
    ensured = "allow-nan" if missing else True
    checked = [
        check_array(on_host(y), dtype=held.dtype, ensure_2d=False, ensure_all_finite=ensured) for y in targets
    ]
    return (held, *checked), True


def _wrapped(estimator: Any, valid: Any, reset: bool) -> Any:
    """X of an array, or X and y, with the columns that wrap round as the model takes them."""
    X, *rest = valid if isinstance(valid, tuple) else (valid,)
    if reset and (wrap := getattr(estimator, "wrap", None)) is not None:
        names = getattr(estimator, "feature_names_in_", ())
        periods = _frame_encoder.periods_of(wrap, X.shape[1], names)
        estimator._encoder = _frame_encoder.encoder_of_numbers(X.shape[1], periods)
    if getattr(estimator, "_encoder", None) is None:
        return valid
    X = estimator._encoder.encode(X)
    return (X, *rest) if rest else X


def _not_finite(X: Any, filled: bool) -> str:
    """Where the first number of X stands that is none, by row and column; "" where there is none."""
    values = np.asarray(X, dtype=np.float64)
    bad = np.isinf(values) if filled else ~np.isfinite(values)
    if not bad.any():
        return ""
    row, column = np.unravel_index(bad.argmax(), bad.shape)
    where = f"in row {row + 1}, column {column + 1}"
    if np.isinf(values[row, column]):
        return f"Input X contains infinity {where}: expected finite numbers"
    advice = "fit with fill_missing=True to have the means of the columns in their place"
    return f"Input X contains NaN {where}; {advice}"


def _named_after(estimator: Any, frame: _frames.Frame, reset: bool) -> Any:
    """Let the estimator know, or compare, the names of a frame's columns, and have an encoder for it. Returns
    a copy for checks of the numbers, of which there may be more than columns."""
    if type(frame.original).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow"):
        _check_feature_names(estimator, frame.original, reset=reset)
    elif reset:
        estimator.feature_names_in_ = np.array(frame.columns, dtype=object)
    elif list(getattr(estimator, "feature_names_in_", frame.columns)) != frame.columns:
        raise ValueError(
            "The feature names should match those that were passed during fit, in the same order; expected "
            f"{list(estimator.feature_names_in_)}, found {frame.columns}"
        )
    _check_n_features(estimator, frame, reset=reset)
    if reset:
        categories = estimator.categories if hasattr(estimator, "categories") else None
        if categories is not None:
            one_of("categories", categories, ["auto"])
        dates = getattr(estimator, "dates", None)
        if dates is not None:
            one_of("dates", dates, ["days", "seconds"])
        unseen = one_of("unseen", getattr(estimator, "unseen", "error"), ["error", "zeros"])
        wrap = _frame_encoder.periods_of(getattr(estimator, "wrap", None), len(frame.columns), frame.columns)
        estimator._encoder = _frame_encoder.encoder_of(frame, categories, dates, unseen, wrap)
    stand_in = object.__new__(type(estimator))
    vars(stand_in).update(vars(estimator), _stand_in=True)
    stand_in._encoder = getattr(estimator, "_encoder", None)
    return stand_in


SAMPLINGS = _core.sampling_names()
APPROXIMATIONS = _core.approximation_names()
SOLVERS = _core.solver_names()


def component_count(n_components: Any) -> int:
    """Columns of a Fourier map. The library refuses odd numbers. Only 1, with which scikit-learn's checks fit
    every estimator that has this parameter, is taken for the smallest map there is."""
    count = integer("n_components", n_components)
    if count != 1:
        return count
    warnings.warn(
        "n_components=1: the smallest Fourier map has 2, a cosine and a sine", UserWarning, stacklevel=3
    )
    return 2


def seed_of(random_state: int | np.random.RandomState | np.random.Generator | None) -> int:
    """An integer is the seed itself; None (NumPy's global state) or a generator is asked for one."""
    largest = np.iinfo(np.int32).max
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state must be in [0, 2**64), found {random_state}")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(largest))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(largest))
    if random_state is None:
        return int(np.random.randint(largest))
    raise ValueError(f"random_state must be None, an integer or a NumPy generator, found {random_state!r}")


def checkpoint_path(path: Any, random_state: Any) -> str:
    """Where the state of a fit is kept; empty: nowhere."""
    if path is None:
        return ""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ValueError(f"checkpoint must be the path of a file or None, found {path!r}")
    if not isinstance(random_state, numbers.Integral):
        raise ValueError(
            "checkpoint needs an integer as random_state, with which the fit that goes on draws what the "
            f"first one drew, found {random_state!r}"
        )
    return os.fspath(path)


def thread_count(n_jobs: int | None) -> int:
    """Threads to use, 0 for all there are; −2 means all but one, as elsewhere in scikit-learn."""
    if n_jobs is None or n_jobs == -1:
        return 0
    jobs = integer("n_jobs", n_jobs)
    if jobs == 0:
        raise ValueError("n_jobs must not be 0; None or -1 means all cores")
    return jobs if jobs > 0 else max(1, _core.usable_processors() + 1 + jobs)


def memory_bytes(budget: int | str | None) -> int:
    """Bytes of a memory budget, 0 for none given."""
    if budget is None:
        return 0
    if isinstance(budget, str):
        return _core.parse_bytes(budget)
    size = integer("memory_budget", budget)
    if size <= 0:
        raise ValueError(f"memory_budget must be positive, found {size}")
    return size


def length_scale_of(gamma: float | str) -> float | None:
    """ℓ with γ = 1/(2ℓ²); None for the median heuristic."""
    if isinstance(gamma, str):
        one_of("gamma", gamma, ["median"])
        return None
    value = number("gamma", gamma)
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"gamma must be 'median' or positive and finite, found {value}")
    return 1 / math.sqrt(2 * value)


def length_scales_of(gamma: Any) -> list[float] | None:
    """One ℓ, or one for each input, with γ = 1/(2ℓ²); None where the data choose."""
    if isinstance(gamma, str):
        one_of("gamma", gamma, ["auto", "median", "ard", "scale"])
        return None
    if isinstance(gamma, (Sequence, np.ndarray)):
        values = np.asarray(gamma).tolist()
        if not isinstance(values, list) or not values:
            raise ValueError(f"gamma must be a word, a number or a sequence of numbers, found {gamma!r}")
        return [length_scale_of(number("gamma", value)) for value in values]
    return [length_scale_of(gamma)]


def scale_gamma(X: np.ndarray) -> float:
    """1 / (columns × variance of all entries), as gamma="scale" means elsewhere in scikit-learn."""
    variance = float(np.nanvar(X))
    return 1 / (X.shape[1] * variance) if variance > 0 else 1.0


def kernel_or_name(kernel: Any) -> kernels.Kernel | FieldByName | str:
    if isinstance(kernel, (kernels.Kernel, FieldByName, str)):
        return kernel
    raise ValueError(f"kernel must be a kernel's name or a value from carmina.kernels, found {kernel!r}")


def kernel_value(kernel: Any) -> kernels.Kernel:
    if not isinstance(kernel_or_name(kernel), kernels.Kernel):
        raise ValueError(
            f"kernel must be a value from carmina.kernels, whose width is known; found {kernel!r}"
        )
    return kernel


def sketch_or_name(sketch: Any) -> sketches.SketchDistribution:
    """The sketch, or the one of that name with its usual number of components."""
    if isinstance(sketch, str):
        return _core.make_sketch(sketch)
    if isinstance(sketch, sketches.SketchDistribution):
        return sketch
    raise ValueError(f"sketch must be a sketch's name or a value from carmina.sketches, found {sketch!r}")


def loss_or_name(loss: Any) -> losses.Loss:
    """The loss, or the one of that name with its usual parameters."""
    if isinstance(loss, str):
        return _core.make_loss(loss)
    if isinstance(loss, losses.Loss):
        return loss
    raise ValueError(f"loss must be a loss's name or a value from carmina.losses, found {loss!r}")


def with_target(predicted: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Rows of predictions, targets (n,) and weights whose target is not NaN."""
    y = np.asarray(y, dtype=float).reshape(len(predicted))
    there = ~np.isnan(y)
    weights = None if sample_weight is None else np.asarray(sample_weight)[there]
    return predicted[there], y[there], weights


def input_names(estimator: Any) -> list[str]:
    """Names of the numbers that the machine of a fitted estimator takes; empty where there are none."""
    encoder = getattr(estimator, "_encoder", None)
    if encoder is not None:
        return encoder.encoded_names
    return [str(name) for name in getattr(estimator, "feature_names_in_", [])]


def set_columns(options: Any, estimator: Any) -> None:
    """What the columns of X are to a fit: those of the kernel by number, and which pairs are one that wraps
    round."""
    encoder = getattr(estimator, "_encoder", None)
    options.find_columns([] if encoder is None else encoder.firsts)
    pairs = vars(estimator).get("_wrapped_inputs")  # of rows that are encoded already
    options.wrapped_inputs = pairs or ([] if encoder is None else encoder.wrapped)


def column_names(y: Any) -> list[str]:
    """Names of the targets when y is a data frame or a named series."""
    if hasattr(y, "column_names"):  # pyarrow's
        return [str(name) for name in y.column_names]
    if hasattr(y, "columns"):
        return [str(name) for name in y.columns]
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) else []
