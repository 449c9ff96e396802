"""Series: trends, dates, backtests and their pictures."""

import datetime
import json
import subprocess
import sys
from pathlib import Path

import carmina
import numpy as np
import pytest
from carmina import Backtest, SpectralMixtureRegressor, backtest, plot
from carmina._backtest import naive_forecasts
from carmina._dates import as_dates, times_of
from numpy.testing import assert_allclose, assert_array_equal

MONTHS = np.arange("2010-01", "2020-01", dtype="datetime64[M]")


def monthly(slope=0.1, n=120, noise=0.2):
    t = np.arange(float(n))
    season = np.sin(2 * np.pi * t / 12)
    return t, slope * t + season + noise * np.random.default_rng(0).normal(size=n)


def test_a_trend_is_continued_and_the_report_says_what_was_taken():
    t, y = monthly()
    model = SpectralMixtureRegressor(5, random_state=0).fit(t[:96, None], y[:96])
    assert model.trend_ == "linear"
    assert model.inference_ == "exact"
    mean, std = model.predict(t[96:, None], return_std=True)
    assert np.sqrt(np.mean((mean - y[96:]) ** 2)) < 0.35
    assert np.mean(np.abs(mean - y[96:]) < 1.96 * std) > 0.85
    assert "linear trend has" in model.report_.text
    assert "the value a period of 12" in model.report_.text.replace("11.9", "12").replace("12.0", "12")
    flat = SpectralMixtureRegressor(5, trend="none", random_state=0).fit(t[:96, None], y[:96])
    assert flat.trend_ == "none"


def test_parameters_are_checked():
    t, y = monthly(n=40)
    for wrong, message in [
        ({"trend": "square"}, "trend must be"),
        ({"periods": [0.0]}, "periods must be positive"),
        ({"periods": "month"}, "periods must be positive numbers in the unit of X"),
        ({"n_components": 0}, "n_components must be positive and even, or 'auto'"),
        ({"inference": "guess"}, "inference must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            SpectralMixtureRegressor(**wrong).fit(t[:, None], y)
    model = SpectralMixtureRegressor(4, periods=12, random_state=0).fit(t[:, None], y)
    assert model.get_params()["periods"] == 12


def test_predictions_and_files_agree(tmp_path):
    t, y = monthly()
    model = SpectralMixtureRegressor(5, n_starts=2, random_state=0).fit(t[:, None], y)
    later = np.arange(118.0, 150)[:, None]
    mean, std = model.predict(later, return_std=True)
    assert_array_equal(model.predict(later), mean)
    model.save(tmp_path / "m.safetensors")
    again = carmina.load(tmp_path / "m.safetensors")
    for one, other in zip(again.predict(later, return_std=True), (mean, std)):
        assert_array_equal(one, other)
    assert again.get_params() == model.get_params()
    assert again.report_.text == model.report_.text


def forms_of_dates():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    index = pandas.DatetimeIndex(MONTHS)
    return {
        "datetime64": MONTHS,
        "a column of datetime64": MONTHS[:, None],
        "nanoseconds": MONTHS.astype("datetime64[ns]"),
        "index": index,
        "index of a zone": index.tz_localize("UTC"),
        "series": pandas.Series(index, name="month"),
        "series of a zone": pandas.Series(index.tz_localize("UTC")),
        "frame": pandas.DataFrame({"month": index}),
        "polars series": polars.Series("month", MONTHS.astype("datetime64[D]")),
        "polars frame": polars.DataFrame({"month": MONTHS.astype("datetime64[D]")}),
    }


def test_dates_in_any_form_are_days():
    _, y = monthly()
    days = (MONTHS - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    expected = SpectralMixtureRegressor(4, random_state=0).fit(days[:100, None], y[:100])
    for name, X in forms_of_dates().items():
        model = SpectralMixtureRegressor(4, random_state=0).fit(X[:100], y[:100])
        assert_allclose(model.predict(X[100:]), expected.predict(days[100:, None]), err_msg=name)
        assert model.n_features_in_ == 1
        times = times_of(X)
        assert times.dated, name
        assert_allclose(times.numbers, days, err_msg=name)
        assert_array_equal(model.predict(times.original(np.arange(100, 120))), model.predict(X[100:]))


def test_a_model_of_dates_keeps_their_unit(tmp_path):
    _, y = monthly()
    model = SpectralMixtureRegressor(4, dates="seconds", random_state=0).fit(MONTHS, y)
    model.save(tmp_path / "m.safetensors")
    again = carmina.load(tmp_path / "m.safetensors")
    later = np.arange("2020-01", "2021-01", dtype="datetime64[M]")
    assert_array_equal(again.predict(later), model.predict(later))
    with pytest.raises(ValueError, match="X is no frame"):
        model.predict(np.arange(5.0)[:, None])
    with pytest.raises(ValueError, match="has no date"):
        model.predict(np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"))
    with pytest.raises(ValueError, match="dates='days'"):
        SpectralMixtureRegressor(4, dates=None).fit(MONTHS, y)


def test_numbers_become_the_dates_they_were():
    days = times_of(MONTHS).numbers
    assert_array_equal(as_dates(days, "days").astype("datetime64[M]"), MONTHS)
    assert_array_equal(as_dates(86400 * days, "seconds").astype("datetime64[M]"), MONTHS)


def test_naive_forecasts():
    t = np.arange(30.0)
    y = t % 12
    later = np.arange(30.0, 50)
    found = naive_forecasts(t, y, later, 12.0)
    assert_array_equal(found["last value"], np.full(20, y[-1]))
    assert_array_equal(found["seasonal naive"], later % 12)
    assert list(naive_forecasts(t, y, later, None)) == ["last value"]


def test_a_backtest_compares_with_naive_forecasts():
    t, y = monthly()
    steps = []
    table = backtest(t, y, horizon=12, steps=3, callback=lambda step: steps.append(step.done))
    assert isinstance(table, Backtest)
    assert steps == [1, 2, 3]
    assert [row["model"] for row in table.rows[:3]] == ["spectral mixture", "last value", "seasonal naive"]
    assert table.best in ("spectral mixture", "Holt-Winters")  # the latter where statsmodels is there
    assert table["spectral mixture"]["rmse"] < 0.5 * table["last value"]["rmse"]
    assert table["spectral mixture"]["pinball"] < 0.5 * table["last value"]["pinball"]
    assert table["spectral mixture"]["coverage"] > 0.8
    assert_allclose(table.period, 12, rtol=0.02)
    assert [one.origin for one in table.forecasts] == [84, 96, 108]
    # Each forecast is that of a model that has seen the rows before.
    first = table.forecasts[0]
    alone = SpectralMixtureRegressor(random_state=0).fit(t[:84, None], y[:84])
    assert_array_equal(first.models["spectral mixture"][0], alone.predict(t[84:96, None]))
    assert_array_equal(first.truth, y[84:96])
    assert "in 95 % band" in str(table)
    with pytest.raises(KeyError, match="there are spectral mixture"):
        table["prophet"]


def test_a_backtest_takes_dates_lengths_of_time_and_other_models():
    _, y = monthly()
    model = SpectralMixtureRegressor(4, random_state=0, periods=365.25)
    table = model.backtest(MONTHS, y, horizon=datetime.timedelta(days=365), steps=2)
    assert table.period == 365.25
    assert [len(one.rows) for one in table.forecasts] == [12, 12]
    shuffled = np.random.default_rng(1).permutation(120)
    other = model.backtest(MONTHS[shuffled], y[shuffled], horizon=datetime.timedelta(days=365), steps=2)
    assert_allclose(other["spectral mixture"]["rmse"], table["spectral mixture"]["rmse"], rtol=1e-9)
    assert_array_equal(shuffled[other.forecasts[0].rows], table.forecasts[0].rows)
    kernel = carmina.KernelRegressor("gaussian", gamma=0.1, alpha=0.1, approximation="exact")
    t = np.arange(120.0)
    found = backtest(t, y, 12, 2, model=kernel, period=12.0)
    assert found.rows[0]["model"] == "KernelRegressor"


def test_a_backtest_says_what_it_cannot_do():
    t, y = monthly()
    with pytest.raises(ValueError, match="5 stretches of 30 rows leave nothing"):
        backtest(t, y, horizon=30)
    with pytest.raises(ValueError, match="steps must be at least 1"):
        backtest(t, y, horizon=3, steps=0)
    with pytest.raises(ValueError, match="y has 119 values, X has 120 times"):
        backtest(t, y[1:], horizon=3)
    with pytest.raises(ValueError, match="X has no dates"):
        backtest(t, y, horizon=datetime.timedelta(days=3))
    stopped = backtest(t, y, horizon=3, steps=3, callback=lambda step: True)
    assert len(stopped.forecasts) == 1


def test_holt_winters_is_there_with_statsmodels():
    pytest.importorskip("statsmodels")
    t, y = monthly()
    table = backtest(t, y, horizon=12, steps=2, period=12.0)
    row = table["Holt-Winters"]
    assert row["rmse"] < 0.6
    assert 0.5 < row["coverage"] <= 1


@pytest.fixture
def ax():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def test_the_picture_of_a_forecast(ax):
    _, y = monthly()
    model = SpectralMixtureRegressor(4, random_state=0).fit(MONTHS[:100], y[:100])
    assert plot.forecast(model, MONTHS[:100], y[:100], MONTHS[100:], y[100:], past=60, ax=ax) is ax
    lines = {line.get_label(): line for line in ax.lines}
    seen, truth, drawn = (lines[name].get_xydata() for name in ("seen", "came", "forecast"))
    assert len(seen) == 60
    assert_array_equal(truth[:, 1], y[100:])
    assert_allclose(drawn[:, 1], model.predict(MONTHS[100:]))
    assert_allclose(drawn[:, 0], times_of(MONTHS[100:]).numbers)  # matplotlib's dates are days since 1970
    assert "Date" in type(ax.xaxis.get_major_formatter()).__name__
    (band,) = ax.collections
    mean, std = model.predict(MONTHS[100:], return_std=True)
    assert_allclose(band.get_datalim(ax.transData).y1, (mean + 1.959964 * std).max(), rtol=1e-6)
    with pytest.raises(ValueError, match="y_future has 3 values"):
        plot.forecast(model, MONTHS[:100], y[:100], MONTHS[100:], y[:3], ax=ax)
    with pytest.raises(ValueError, match="coverage must be between"):
        plot.forecast(model, MONTHS[:100], y[:100], MONTHS[100:], coverage=95, ax=ax)


def test_the_spectrum_by_period(ax):
    t, y = monthly(slope=0)
    model = SpectralMixtureRegressor(4, random_state=0).fit(t[:, None], y)
    plot.spectrum(model, t, y, by="period", ax=ax)
    (mixture,) = (line for line in ax.lines if line.get_label() == "mixture")
    periods, density = mixture.get_xydata().T
    near = (periods > 6) & (periods < 20)
    assert_allclose(periods[near][np.argmax(density[near])], 12, rtol=0.05)
    assert ax.get_xscale() == "log"
    with pytest.raises(ValueError, match="by must be"):
        plot.spectrum(model, by="month", ax=ax)


def test_the_benchmark_of_forecasts_measures_what_it_says(tmp_path):
    script = Path(__file__).resolve().parents[2] / "benchmarks" / "forecasts" / "run.py"
    folder = tmp_path / "timeseries" / "gpss" / "tsdlr_9010_csv"
    folder.mkdir(parents=True)
    t, y = monthly()
    table = np.c_[2000 + t / 12, y]
    np.savetxt(folder / "01-airline-train.csv", table[:108], delimiter=",", fmt="%.6f")
    np.savetxt(folder / "01-airline-test.csv", table[108:], delimiter=",", fmt="%.6f")
    command = [sys.executable, script, "--series", "airline", "--out", tmp_path / "out.json"]
    environment = {"CARMINA_DATA": str(tmp_path), "PATH": ""}
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert "better than naive on 1 of 1" in printed
    (record,) = json.loads((tmp_path / "out.json").read_text())
    truth = table[108:, 1].round(6)
    assert_allclose(record["last value"], np.sqrt(np.mean((truth - y[107]) ** 2)), rtol=1e-5)
    assert_allclose(record["seasonal naive"], np.sqrt(np.mean((truth - y[96:108]) ** 2)), rtol=1e-5)
    assert_allclose(record["ratio"], record["carmina"] / min(record["last value"], record["seasonal naive"]))
    missing = subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True)
    assert missing.returncode == 1
    assert "CARMINA_DATA is not set" in missing.stderr


def test_months_as_text_and_periods_are_dates():
    pandas = pytest.importorskip("pandas")
    _, y = monthly()
    text = np.array([str(month) for month in MONTHS])
    expected = SpectralMixtureRegressor(4, random_state=0).fit(MONTHS, y).predict(MONTHS[-5:])
    forms = {
        "text": text,
        "series of text": pandas.Series(text),
        "frame of text": pandas.DataFrame({"time": text}),
        "periods": pandas.PeriodIndex(text, freq="M"),
        "series of periods": pandas.Series(pandas.PeriodIndex(text, freq="M")),
        "frame of periods": pandas.DataFrame({"time": pandas.PeriodIndex(text, freq="M")}),
    }
    for name, X in forms.items():
        model = SpectralMixtureRegressor(4, random_state=0).fit(X, y)
        assert_array_equal(model.predict(X[-5:]), expected, err_msg=name)
    for wrong in (np.array(["spring", "summer"] * 20), pandas.DataFrame({"time": ["spring", "summer"] * 20})):
        with pytest.raises(ValueError, match=r"X is a column of text, '\w+' in its first row"):
            SpectralMixtureRegressor(4).fit(wrong, y[:40])


def test_horizons_are_lengths():
    times = times_of(MONTHS)
    assert times.length("365D") == times.length(datetime.timedelta(days=365)) == 365
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="what the calendar makes longer or shorter has no length"):
        times.length(pandas.DateOffset(years=1))
    with pytest.raises(ValueError, match=r"expected a length of time, .* found 'a year'"):
        times.length("a year")


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    t, y = monthly(n=40)
    model = SpectralMixtureRegressor(3, random_state=0).fit(MONTHS[:40], y)
    expected = model.predict(MONTHS[40:45])
    with pytest.raises(ValueError, match="y must have shape"):
        model.fit(t[:, None], y[:30])
    assert_array_equal(model.predict(MONTHS[40:45]), expected)
    assert model.feature_names_in_ == ["time"]


def test_intervals_are_those_of_the_band(tmp_path):
    t, y = monthly()
    model = SpectralMixtureRegressor(5, random_state=0).fit(t[:96, None], y[:96])
    mean, std = model.predict(t[96:, None], return_std=True)
    ends = model.predict_interval(t[96:, None], coverage=0.9)
    assert_allclose(ends, np.column_stack([mean - 1.644853627 * std, mean + 1.644853627 * std]), rtol=1e-9)
    assert np.mean((ends[:, 0] < y[96:]) & (y[96:] < ends[:, 1])) > 0.7
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        model.predict_interval(t[96:, None], coverage=95)
    two = SpectralMixtureRegressor(3, n_components=60, random_state=0).fit(
        t[:, None], np.column_stack([y, -y])
    )
    mean, std = two.predict(t[:4, None], return_std=True)
    together = two.predict_interval(t[:4, None], coverage=0.9, joint=True)
    assert_allclose(together[..., 1] - mean, 1.959963985 * std, rtol=1e-9)
    # The program's columns are target, then the ends.
    program = Path(sys.executable).with_name("carmina")
    model.save(tmp_path / "m.safetensors")
    np.savetxt(tmp_path / "later.csv", t[96:], header="x1", comments="")
    subprocess.run(
        [program, "predict", "m.safetensors", "later.csv", "--interval", "0.9", "--out", "ends.csv"],
        check=True,
        cwd=tmp_path,
        capture_output=True,
    )
    found = np.loadtxt(tmp_path / "ends.csv", delimiter=",", skiprows=1)
    assert_allclose(found[:, 1:], ends, rtol=1e-9)
