"""The parameter `device`: its words, what is said where there is no device, and what the report says."""

import numpy as np
import pytest
from carmina import JointQuantileRegressor, KernelClassifier, KernelRegressor

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.sin(X[:, 0])


def on(device, **more):
    options = {"n_components": 20, "gamma": 0.3, "alpha": 0.1, "random_state": 0} | more
    return KernelRegressor(device=device, **options)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_little_work_is_done_on_the_cpu(device):
    model = on(device, solver="cg").fit(X, y)
    assert model.report_.device == ""
    assert (model.predict(X) == on("cpu", solver="cg").fit(X, y).predict(X)).all()


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "", "CUDA"])
def test_a_word_that_is_none(device):
    with pytest.raises(
        ValueError, match=f"device must be 'auto', 'cpu', 'cuda' or 'cuda:NUMBER', found '{device}'"
    ):
        on(device).fit(X, y)


def test_something_that_is_no_word():
    with pytest.raises(ValueError, match="device must be 'auto', 'cpu', 'cuda' or 'cuda:NUMBER', found 1"):
        on(1).fit(X, y)


# There is no machine with so many: with a device and without one, it is one sentence.
def test_a_device_that_is_not_there():
    with pytest.raises(ValueError, match=r"^device 'cuda:4000': .*; or use device 'cpu'$") as error:
        on("cuda:4000").fit(X, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [KernelClassifier, JointQuantileRegressor])
def test_other_estimators_have_it(kind):
    assert kind(device="cpu").get_params()["device"] == "cpu"
    with pytest.raises(ValueError, match="found 'gpu'"):
        kind(device="gpu").fit(X, (y > 0).astype(int))
