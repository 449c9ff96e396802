"""carmina.dask on clusters of worker processes: the fit of one machine, also where a worker is lost."""

import os
import signal
import threading
import time

import carmina
import numpy as np
import pytest
from carmina import datasets

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

import carmina.dask  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

DATA = datasets.friedman(900, outputs=2, noise=0.3, random_state=0)
NUMBERS = {"kernel": "gaussian", "gamma": 0.5, "alpha": 0.1, "n_components": 60, "random_state": 0}
X = da.from_array(DATA.X, chunks=((250, 50, 300, 200, 100), -1))


@pytest.fixture(scope="module", params=[2, 3])
def client(request):
    with (
        LocalCluster(n_workers=request.param, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def of(y):
    return da.from_array(y, chunks=300)  # other blocks than those of X


@pytest.mark.parametrize(
    ("name", "parameters", "y"),
    [
        ("KernelRegressor", NUMBERS, DATA.Y),
        ("KernelRegressor", {**NUMBERS, "loss": "huber"}, DATA.Y),
        ("KernelRegressor", {**NUMBERS, "wrap": {0: 0.7, 3: 0.4}, "scale_inputs": True}, DATA.Y),
        ("JointQuantileRegressor", {**NUMBERS, "quantiles": (0.2, 0.5, 0.8)}, DATA.Y[:, 0]),
        (
            "SpectralMixtureRegressor",
            {"n_mixtures": 2, "n_components": 20, "max_iter": 5, "learning_rows": 200, "random_state": 0},
            DATA.Y,
        ),
        ("KernelClassifier", NUMBERS, np.digitize(DATA.Y[:, 0], [10, 17])),
    ],
)
def test_is_the_fit_in_memory(client, name, parameters, y):
    model = getattr(carmina.dask, name)(**parameters).fit(X, of(y))
    whole = getattr(carmina, name)(**parameters).fit(DATA.X, y)
    predictions = model.predict(X)
    assert isinstance(predictions, da.Array)
    assert predictions.shape == whole.predict(DATA.X).shape
    assert (predictions.compute() == whole.predict(DATA.X)).all()
    assert (model.predict(DATA.X[:5]) == whole.predict(DATA.X[:5])).all()
    assert model.score(X, of(y)) == pytest.approx(whole.score(DATA.X, y), rel=1e-12)
    if name == "KernelClassifier":
        assert np.allclose(model.predict_proba(X).compute(), whole.predict_proba(DATA.X), atol=1e-8)


def test_data_choose_the_same_for_any_number_of_workers(client):
    model = carmina.dask.KernelRegressor(random_state=0).fit(X, of(DATA.Y[:, 0]))
    assert model.score(X, of(DATA.Y[:, 0])) > 0.9
    numbers = (model.alpha_, model.predict(DATA.X[:3]).tolist())
    assert test_data_choose_the_same_for_any_number_of_workers.__dict__.setdefault("seen", numbers) == numbers


def test_model_is_an_ordinary_one(client, tmp_path):
    import pickle

    weights = np.arange(900) % 3
    model = carmina.dask.KernelRegressor(**NUMBERS).fit(X, of(DATA.Y), of(weights))
    whole = carmina.KernelRegressor(**NUMBERS).fit(DATA.X, DATA.Y, weights)
    model.save(tmp_path / "model.safetensors")
    again = carmina.load(tmp_path / "model.safetensors")
    assert type(again) is carmina.KernelRegressor
    for one in (again, pickle.loads(pickle.dumps(model)), model):
        assert (one.predict(DATA.X) == whole.predict(DATA.X)).all()
    assert model.get_params() == whole.get_params()
    assert (model.noise_ == whole.noise_).all()


def test_dataframes(client):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(DATA.X, columns=[f"x{k}" for k in range(DATA.X.shape[1])])
    frame["y"] = DATA.Y[:, 0]
    parts = dd.from_pandas(frame, npartitions=4)
    inputs = parts[[name for name in frame.columns if name != "y"]]
    model = carmina.dask.KernelRegressor(**NUMBERS).fit(inputs, parts["y"])
    whole = carmina.KernelRegressor(**NUMBERS).fit(frame.drop(columns="y"), frame["y"])
    assert model.feature_names_in_.tolist() == whole.feature_names_in_.tolist()
    assert (model.predict(inputs).compute() == whole.predict(frame.drop(columns="y"))).all()
    assert model.score(inputs, parts["y"]) == pytest.approx(whole.score(frame.drop(columns="y"), frame["y"]))


def test_errors_have_their_sentence(client):
    bad = DATA.X.copy()
    bad[850, 1] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        carmina.dask.KernelRegressor(**NUMBERS).fit(da.from_array(bad, chunks=(300, -1)), of(DATA.Y))
    with pytest.raises(ValueError, match="several processes do not share"):
        carmina.dask.KernelRegressor(**NUMBERS, approximation="exact").fit(X, of(DATA.Y))
    with pytest.raises(TypeError, match=r"carmina\.KernelRegressor takes arrays"):
        carmina.dask.KernelRegressor(**NUMBERS).fit(DATA.X, DATA.Y)
    with pytest.raises(TypeError, match="y must be a dask collection"):
        carmina.dask.KernelRegressor(**NUMBERS).fit(X, DATA.Y)
    with pytest.raises(ValueError, match="y has 899 rows, X has 900"):
        carmina.dask.KernelRegressor(**NUMBERS).fit(X, of(DATA.Y[:899]))


def test_a_worker_that_is_lost_costs_a_pass():
    parameters = {**NUMBERS, "n_components": 300, "solver": "lsmr", "tol": 1e-14, "max_iter": 600}
    many = datasets.friedman(20000, outputs=1, noise=0.3, random_state=0)
    rows, targets = da.from_array(many.X, chunks=(4000, -1)), da.from_array(many.Y[:, 0], chunks=4000)
    whole = carmina.KernelRegressor(**parameters).fit(many.X, many.Y[:, 0])
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        first, killed = client.run(os.getpid), []

        def kill():
            for _ in range(600):  # once a state of the fit has been kept
                time.sleep(0.05)
                if sum(client.run(_states).values()) == 3:
                    killed.append(next(iter(first.values())))
                    os.kill(killed[0], signal.SIGKILL)
                    return

        killer = threading.Thread(target=kill)
        killer.start()
        model = carmina.dask.KernelRegressor(**parameters).fit(rows, targets, client=client)
        killer.join()
        assert killed
        assert (model.coef_ == whole.coef_).all()
        assert model.n_iter_ == whole.n_iter_


def _states(dask_worker):
    """Of fits, in a worker."""
    folder = dask_worker.local_directory
    return sum(name.startswith("carmina-") and "." not in name for name in os.listdir(folder))


def test_groups_are_left_out_together(client):
    tracks = np.arange(900) // 45
    given = {"kernel": "gaussian", "n_components": 60, "random_state": 0}
    models = [
        carmina.dask.KernelRegressor(**given).fit(X, of(DATA.Y), **together)
        for together in ({"groups": of(tracks)}, {"contiguous": True}, {})
    ]
    wholes = [
        carmina.KernelRegressor(**given).fit(DATA.X, DATA.Y, **together)
        for together in ({"groups": tracks}, {"contiguous": True}, {})
    ]
    for model, whole in zip(models, wholes):
        assert model.alpha_ == whole.alpha_
        assert (model.predict(X).compute() == whole.predict(DATA.X)).all()
    assert len({model.report_.text for model in models}) == 3
    with pytest.raises(ValueError, match="leaves no rows out"):
        carmina.dask.SpectralMixtureRegressor().fit(X, of(DATA.Y), contiguous=True)
