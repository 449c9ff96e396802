"""Model files: everything comes back, bit-equal; what is not a model is refused."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import carmina
import numpy as np
import pytest
from carmina import KernelRegressor
from carmina.kernels import Decomposable, Gaussian, Matern
from given_numbers import regressor


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"approximation": "exact", "gamma": 0.3},
        {
            "kernel": Decomposable(Gaussian([1.0, 2.0, 0.5]), [[1.0, 1.0], [1.0, 1.0]]),
            "alpha": np.float64(0.1),
        },
        {"kernel": Gaussian(0.7), "scale_inputs": True, "fill_missing": True, "fit_intercept": False},
        {"solver": "cg", "memory_budget": "1G", "n_jobs": 1},
        {"solver": "lsmr", "sampling": "sobol"},
        {"kernel": Gaussian([1.0, 2.0, 0.5]), "sampling": "phases", "scale_inputs": True},
        {
            "kernel": Gaussian([1.0, 2.0, 0.5]) + Matern(1.0, 1.5),
            "sampling": "hadamard",
            "scale_inputs": True,
        },
    ],
    ids=["defaults", "exact", "decomposable", "scaled", "cg", "sobol", "phases", "hadamard"],
)
def test_saving_and_loading_keeps_everything(path, problem, parameters, dtype):
    X, Y = problem.X.astype(dtype), problem.Y.astype(dtype)
    model = regressor(n_components=30, random_state=5, **parameters).fit(X, Y)
    model.save(path)
    again = carmina.load(str(path))
    assert type(again) is KernelRegressor
    assert again.get_params() == model.get_params()
    assert again.predict(X).dtype == dtype
    assert (again.predict(X) == model.predict(X)).all()
    assert again.kernel_ == model.kernel_
    assert again.report_ == model.report_
    assert again.n_iter_ == model.n_iter_
    assert again.n_features_in_ == 3
    assert (again.fit(X, Y).predict(X) == model.predict(X)).all()


def test_targets_keep_their_dimension(path, problem):
    for Y, shape in ((problem.Y[:, 0], (120,)), (problem.Y[:, :1], (120, 1))):
        regressor(n_components=20).fit(problem.X, Y).save(path)
        assert carmina.load(path).predict(problem.X).shape == shape


def test_a_generator_is_saved_as_the_seed_it_gave(path, problem):
    model = regressor(n_components=20, random_state=np.random.RandomState(0)).fit(problem.X, problem.Y)
    model.save(path)
    again = carmina.load(path)
    assert isinstance(again.random_state, int)
    assert (again.fit(problem.X, problem.Y).predict(problem.X) == model.predict(problem.X)).all()


def rewrite(path, change):
    """The machine in the file with another description of its estimator."""
    machine = carmina._core.load(str(path))
    machine.estimator = change(machine.estimator)
    machine.save(str(path))


@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_a_file_without_an_estimator_is_loaded_by_its_record(path, problem, approximation):
    model = regressor(
        approximation=approximation,
        n_components=20,
        sampling="orthogonal",
        alpha=0.5,
        random_state=2,
        scale_inputs=True,
    )
    model.fit(problem.X, problem.Y).save(path)
    rewrite(path, lambda text: "")
    again = carmina.load(path)
    assert (again.predict(problem.X) == model.predict(problem.X)).all()
    # The kernel is a value with a width, so neither of these two says anything.
    named = {"kernel": "gaussian", "gamma": "median", "metric": "identity"}
    assert again.get_params() | named == model.get_params() | {"n_components": again.n_components}
    assert again.kernel == model.kernel_
    assert not hasattr(again, "feature_names_in_")


@pytest.mark.parametrize(
    "change",
    [
        lambda d: "not JSON",
        lambda d: json.dumps(d | {"type": "os.system"}),
        lambda d: json.dumps(d | {"parameters": {"unheard": 1}}),
        lambda d: json.dumps(d | {"parameters": {"kernel": {"kernel": "eval", "code": "1"}}}),
        lambda d: json.dumps([1]),
        lambda d: json.dumps({}),
    ],
)
def test_a_description_that_is_not_ours_is_refused(path, problem, change):
    regressor(n_components=20).fit(problem.X, problem.Y).save(path)
    rewrite(path, lambda text: change(json.loads(text)))
    with pytest.raises(ValueError, match=r"model\.safetensors: the estimator's description is not valid"):
        carmina.load(path)


def test_truncated_altered_and_foreign_files_are_refused(path, problem):
    regressor(n_components=20).fit(problem.X, problem.Y).save(path)
    content = path.read_bytes()
    altered = bytearray(content)
    altered[-5] ^= 1
    for wrong in (content[:-1], content[:20], b"", b"PK\x03\x04 not a model", bytes(altered)):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            carmina.load(path)


def test_saving_where_nothing_can_be_written_leaves_nothing(tmp_path, problem):
    model = regressor(n_components=20).fit(problem.X, problem.Y)
    with pytest.raises(ValueError, match="cannot write"):
        model.save(tmp_path / "no such folder" / "model")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="nowhere"):
        carmina.load(tmp_path / "nowhere")


def test_names_of_columns_are_kept(path, problem):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(problem.X, columns=["a", "b", "c"])
    model = regressor(n_components=20).fit(frame, pandas.Series(problem.Y[:, 0], name="y"))
    model.save(path)
    again = carmina.load(path)
    assert list(again.feature_names_in_) == ["a", "b", "c"]
    assert (again.predict(frame) == model.predict(frame)).all()
    assert again._machine.record["target_names"] == ["y"]


def test_a_model_of_the_command_line_is_loaded(tmp_path, path, problem):
    program = shutil.which("carmina", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("the program is not installed beside Python")
    np.save(tmp_path / "data.npy", np.hstack([problem.X, problem.Y]))
    options = ["--targets", "2", "--model", path, "--components", "30", "--alpha", "0.5", "--seed", "4"]
    options += ["--kernel", "gaussian", "--length-scale", "median", "--scale", "standard"]
    subprocess.run([program, "fit", tmp_path / "data.npy", *options], check=True)
    model = carmina.load(path)
    expected = regressor(n_components=30, alpha=0.5, random_state=4, scale_inputs=True)
    expected.fit(problem.X, problem.Y)
    assert np.allclose(model.predict(problem.X), expected.predict(problem.X), rtol=0, atol=1e-12)
    assert (model.alpha, model.n_components, model.scale_inputs) == (0.5, 30, True)
