"""A model's outputs by onnxruntime and by ONNX's own evaluator, row by row and in batch."""

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator


def table(outputs=1, n=80, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (n, 3))
    Y = np.column_stack([np.sin(3 * X[:, 0] + k) + X[:, 1] * X[:, 2] for k in range(outputs)])
    Y += 0.1 * rng.normal(size=Y.shape)
    return X.astype(dtype), (Y if outputs > 1 else Y[:, 0]).astype(dtype)


def both(model, inputs, rounding=1e-9):
    """The outputs by name of onnxruntime, which the reference must agree with, in batch and row by row."""
    proto = model.to_onnx()
    onnx.checker.check_model(proto, full_check=True)
    names = [output.name for output in proto.graph.output]
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    found = dict(zip(names, session.run(None, inputs)))
    again = dict(zip(names, ReferenceEvaluator(proto).run(None, inputs)))
    single = {name: values[:1] for name, values in inputs.items()}
    first = dict(zip(names, session.run(None, single)))
    for name in names:
        if found[name].dtype.kind == "f":
            np.testing.assert_allclose(again[name], found[name], rtol=1e-5, atol=1e-9)
            np.testing.assert_allclose(first[name], found[name][:1], rtol=rounding, atol=1e-12)
        else:
            assert (again[name] == found[name]).all()
            assert (first[name] == found[name][:1]).all()
    return found


def expect_equal(model, X, dtype=np.float64, std=False):
    X = X.astype(dtype)
    found = both(model, {"X": X})
    single = dtype == np.float32
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if single else {"rtol": 1e-12, "atol": 1e-12}
    expected = model.predict(X)
    np.testing.assert_allclose(found["prediction"], expected.reshape(len(X), -1), **tolerance)
    assert found["prediction"].dtype == dtype
    assert ("std" in found) == std
    if std:
        expected = model.predict(X, return_std=True)[1].reshape(len(X), -1)
        tolerance = {"rtol": 1e-4} if single else {"rtol": 1e-9}
        np.testing.assert_allclose(found["std"], expected, **tolerance)
