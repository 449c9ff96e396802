"""Fitted estimators as ONNX models; converters for scikit-learn's pipelines."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from carmina import _core


class ConvertsToOnnx:
    """`to_onnx` of an estimator."""

    def to_onnx(self, path: str | os.PathLike[str] | None = None, std: bool = True) -> Any:
        """The fitted model as an `onnx.ModelProto`, opset 17, written to `path` too if there is one.

        It takes an input `X`, (rows, n_features_in_) of the model's precision; or, where it was fitted to a
        frame with text or dates, an input for each column under its name, (rows, 1): text, in which "" is a
        missing cell, or a number. It gives `prediction` (rows, outputs) and, with `std`, `std` where the
        model knows deviations; a classifier gives `label` and, where it knows them, `probabilities`. The
        work is done in double. A kernel without a formula in ONNX is a ValueError that says why. Needs the
        package onnx.

        Examples
        --------
        >>> import carmina
        >>> data = carmina.datasets.friedman(100, random_state=0)
        >>> model = carmina.KernelRegressor("gaussian", gamma=0.5, alpha=1.0, n_components=50)
        >>> proto = model.fit(data.X, data.Y).to_onnx()
        >>> [output.name for output in proto.graph.output]
        ['prediction', 'std']
        """
        check_is_fitted(self)
        try:
            import onnx
        except ImportError:
            raise ImportError("to_onnx needs the package onnx; 'pip install onnx' installs it") from None
        made = onnx_bytes(self, std)
        if path is not None:
            with open(path, "wb") as file:
                file.write(made)
        return onnx.load_from_string(made)


def onnx_bytes(estimator: Any, std: bool) -> bytes:
    machine = estimator._machine
    machine.encoder = estimator._encoder
    return _core.to_onnx(machine, bool(std), labels_of(estimator))


def labels_of(estimator: Any) -> list[str] | list[int] | None:
    """Of a classifier, as ONNX knows labels: texts or integers."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return None
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return values
    if all(isinstance(value, (bool, int, float)) and float(value).is_integer() for value in values):
        return [int(value) for value in values]
    raise ValueError(f"to_onnx: labels must be texts or integers, found {values[0]!r}")


def register_with_skl2onnx() -> None:
    """Let skl2onnx convert Carmina's estimators, also inside of pipelines."""
    from skl2onnx import update_registered_converter

    from carmina import KernelClassifier, KernelRegressor

    for estimator in (KernelRegressor, KernelClassifier):
        update_registered_converter(
            estimator,
            f"Carmina{estimator.__name__}",
            _shapes,
            _convert,
            options={"zipmap": [False], "nocl": [True, False], "output_class_labels": [False, True]}
            if estimator is KernelClassifier
            else None,
        )


def _shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    number = type(operator.inputs[0].type)
    rows = operator.inputs[0].get_first_dimension()
    estimator = operator.raw_operator
    labels = labels_of(estimator)
    if labels is None:
        operator.outputs[0].type = number([rows, estimator._machine.dim_out])
        return
    label = StringTensorType if isinstance(labels[0], str) else Int64TensorType
    operator.outputs[0].type = label([rows])
    operator.outputs[1].type = number([rows, len(labels)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Our graph's nodes, renamed, between the operator's input and its outputs."""
    import onnx

    estimator = operator.raw_operator
    if estimator._encoder is not None:
        raise ValueError("to_onnx: a pipeline's model must have been fitted to numbers, not to text")
    graph = onnx.load_from_string(onnx_bytes(estimator, False)).graph
    is_double = "Double" in type(operator.inputs[0].type).__name__
    outer = onnx.TensorProto.DOUBLE if is_double else onnx.TensorProto.FLOAT
    inner = graph.input[0].type.tensor_type.elem_type
    rows = scope.get_unique_variable_name("rows")
    names = {graph.input[0].name: rows}
    container.add_node("Cast", operator.inputs[0].full_name, rows, to=inner, op_version=13)
    for constant in graph.initializer:
        names[constant.name] = scope.get_unique_variable_name(constant.name)
        values = onnx.numpy_helper.to_array(constant)
        shape = list(values.shape)
        flat = [value.encode() for value in values.ravel()] if values.dtype == object else values.ravel()
        container.add_initializer(names[constant.name], constant.data_type, shape, flat)
    for node in graph.node:
        for name in node.output:
            names[name] = scope.get_unique_variable_name(name)
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(
            node.op_type,
            [names[name] for name in node.input],
            [names[name] for name in node.output],
            op_domain=node.domain,
            op_version=3 if node.domain else 17,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )
    wanted = ["prediction"] if labels_of(estimator) is None else ["label", "probabilities"]
    there = {output.name for output in graph.output}
    for output, name in zip(operator.outputs, wanted):
        if name not in there:
            raise ValueError("to_onnx: the classifier knows no probabilities; fit with calibrate=True")
        if name == "label":
            container.add_node("Identity", names[name], output.full_name, op_version=13)
        else:
            container.add_node("Cast", names[name], output.full_name, to=outer, op_version=13)
