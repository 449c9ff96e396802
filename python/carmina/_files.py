"""Estimators to and from model files. A file holds arrays and texts; nothing in it is ever executed."""

from __future__ import annotations

import errno
import json
import os
from typing import Any

import numpy as np

from carmina import _core, kernels, losses, sketches
from carmina._field_by_name import FieldByName
from carmina._kernels import from_plain, to_plain


def save(estimator: Any, path: str | os.PathLike[str], variances: bool = False) -> None:
    machine = estimator._machine
    machine.estimator = json.dumps(
        {
            "type": type(estimator).__name__,
            "parameters": {
                name: _plain(name, value, machine) for name, value in estimator.get_params().items()
            },
            "named_features": hasattr(estimator, "feature_names_in_"),
            **estimator._file_state(),
        }
    )
    machine.encoder = estimator._encoder
    machine.save(os.fspath(path), **({"variances": True} if variances else {}))


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator in a model file, written by `save` or by the command line.

    Predictions are bit-equal to those before saving, on the same machine. Nothing in the file is executed.

    Examples
    --------
    >>> import os, tempfile, carmina
    >>> data = carmina.datasets.friedman(100, random_state=0)
    >>> model = carmina.KernelRegressor(gamma=0.5, alpha=1.0, n_components=50).fit(data.X, data.Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.safetensors"))
    ...     again = carmina.load(os.path.join(folder, "model.safetensors"))
    >>> bool((again.predict(data.X) == model.predict(data.X)).all())
    True
    """
    source = existing(path)
    machine = _core.load(source)
    if not machine.estimator:
        return _from_record(machine)
    try:
        description = json.loads(machine.estimator)
        estimator = _estimators()[description["type"]](
            **{name: _value(value) for name, value in description["parameters"].items()}
        )
        return _restore(estimator, machine, description, bool(description["named_features"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{source}: the estimator's description is not valid: {error}") from error


def existing(path: str | os.PathLike[str]) -> str:
    """The path as text; FileNotFoundError where nothing is."""
    name = os.fspath(path)
    if "\0" not in name and not os.path.exists(name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return name


def _estimators() -> dict[str, Any]:
    # Their modules import this one.
    from carmina import (
        JointQuantileRegressor,
        KernelClassifier,
        KernelRegressor,
        SpectralMixtureRegressor,
    )

    return {
        estimator.__name__: estimator
        for estimator in (
            JointQuantileRegressor,
            KernelClassifier,
            KernelRegressor,
            SpectralMixtureRegressor,
        )
    }


def _from_record(machine: _core.Machine | _core.MixtureMachine) -> Any:
    """A file of the command line: the record of the fit gives the parameters."""
    record = machine.record
    names = record.pop("input_names")
    record.pop("target_names")
    wrap = None
    if machine.encoder is not None:
        names = machine.encoder.input_names
        wrap = {j: period for j, period in enumerate(machine.encoder.periods) if period > 0} or None
    numbered = [f"c{column + 1}" for column in range(len(names))]
    state = {"y_ndim": 1 if machine.dim_out == 1 else 2}
    named = names not in ([], numbered)
    if isinstance(machine, _core.MixtureMachine):
        record.pop("rows")
        estimator = _estimators()["SpectralMixtureRegressor"](**record, wrap=wrap)
        return _restore(estimator, machine, state, named)
    record.pop("evidence")
    record.pop("missing_targets")
    record.pop("path")
    sketch = record.pop("sketch")
    if sketch is not None:
        record["approximation"] = sketch
    if record["loss"] == losses.Squared():
        del record["loss"]
    kernel = machine.kernel
    if machine.encoder is not None:
        kernel = kernel._of_table(machine.encoder.firsts)
    estimator = _estimators()["KernelRegressor"](kernel=kernel, wrap=wrap, **record)
    return _restore(estimator, machine, state, named)


def _restore(estimator: Any, machine: _core.Machine, state: dict[str, Any], named: bool) -> Any:
    estimator._machine = machine
    estimator._restore_file_state(state)
    encoder = estimator._encoder = machine.encoder
    estimator.n_features_in_ = machine.dim_in if encoder is None else len(encoder.columns)
    estimator.n_iter_ = machine.report["iterations"]
    if named:
        names = state["input_names"] if "input_names" in state else machine.record["input_names"]
        if encoder is not None:
            names = encoder.input_names
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _plain(name: str, value: Any, machine: _core.Machine) -> Any:
    """A parameter for JSON: kernels, losses and sketches described, NumPy's numbers as Python's, a generator
    by its seed."""
    if isinstance(value, (kernels.Kernel, FieldByName)):
        return to_plain(value)
    if isinstance(value, losses.Loss):
        return {"loss": type(value).__name__, **value._parameters}
    if isinstance(value, sketches.SketchDistribution):
        return {"sketch": type(value).__name__, **value._parameters}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if name == "random_state" and isinstance(value, (np.random.RandomState, np.random.Generator)):
        return machine.record["random_state"]
    if isinstance(value, dict):  # keys of JSON would be text
        return {"pairs": [[_plain(name, part, machine) for part in pair] for pair in value.items()]}
    if isinstance(value, (tuple, list, np.ndarray)):
        return np.asarray(value).tolist()
    return value.item() if isinstance(value, np.generic) else value


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "pairs" in value:
        return dict(value["pairs"])
    for kind, module in (("loss", losses), ("sketch", sketches)):
        if kind in value:
            parameters = dict(value)
            name = parameters.pop(kind)
            if name not in module.__all__:
                raise ValueError(f"there is no {kind} named {name!r}")
            return getattr(module, name)(**parameters)
    return from_plain(value)
