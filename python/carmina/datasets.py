"""Data sets whose truth is known, and files of data."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core, _parquet
from carmina._files import existing
from carmina._validation import integer, seed_of

__all__ = [
    "Dataset",
    "Drifters",
    "Sinusoids",
    "Table",
    "drifters",
    "friedman",
    "read",
    "sinusoids",
    "vector_field",
]


class Dataset(NamedTuple):
    """Generated data: inputs X (n, d), targets Y (n, p), and `clean`, Y without noise and outliers."""

    X: NDArray
    Y: NDArray
    clean: NDArray


class Drifters(NamedTuple):
    """Tracks in a current that moves: X (n, 3), place x, y and time of each reading; velocities Y (n, 2);
    `clean`, Y without noise; `tracks` (n,), the number of the track that each row is of; and what the current
    was made of: `speed`, `size` and `drift` of its eddies."""

    X: NDArray
    Y: NDArray
    clean: NDArray
    tracks: NDArray
    speed: float
    size: float
    drift: float

    def current(self, X: ArrayLike) -> NDArray:
        """The true velocities (n, 2) at rows of x, y and time."""
        return _core.eddies(np.asarray(X, dtype=float), self.speed, self.size, self.drift)[0]

    def stream_function(self, X: ArrayLike) -> NDArray:
        """ψ (n,) of the current (∂ψ/∂y, −∂ψ/∂x) at rows of x, y and time."""
        return _core.eddies(np.asarray(X, dtype=float), self.speed, self.size, self.drift)[1]


class Sinusoids(NamedTuple):
    """A sum of sinusoids: times X (n, 1), values y (n,), `clean`, y without noise, and what they were made
    of: weights w (q,), frequencies a (q,) in cycles, and deviations b (q,) of the noise."""

    X: NDArray
    y: NDArray
    clean: NDArray
    weights: NDArray
    frequencies: NDArray
    noise: NDArray


class Table(NamedTuple):
    """A file of numbers: `data` (n, columns), NaN where a cell is missing; `names` of columns; `categories`,
    which gives for each nominal column, by name, the categories whose indices its cells hold."""

    data: NDArray
    names: list[str]
    categories: dict[str, list[str]]


def read(path: str | os.PathLike[str], columns: list[str] | None = None) -> Table:
    """Read a file into memory: CSV, ARFF, NPY, LIBSVM or IDX, each also gzipped, by its ending.

    With pyarrow installed also Parquet and Arrow IPC files (.parquet, .arrow, .feather, .ipc), a folder of
    them or a pattern such as `part-*.parquet` as one table, and of these some `columns` by name. Text becomes
    numbers of its levels, in their order, dates days since 1970.

    Examples
    --------
    >>> import os, tempfile
    >>> from carmina import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "small.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("height,weight\\n1.5,50\\n1.8,\\n")
    ...     table = datasets.read(path)
    >>> table.names
    ['height', 'weight']
    >>> table.data
    array([[ 1.5, 50. ],
           [ 1.8,  nan]])
    """
    name = os.fspath(path)
    if _parquet.is_parquet(name):
        return Table(*_parquet.read(name if "*" in name else existing(name), columns))
    if columns is not None:
        raise ValueError(f"{name}: columns can be chosen of Parquet and Arrow files")
    data, names, categories = _core.read_table(existing(name))
    return Table(data, names, {name: values for name, values in zip(names, categories) if values})


def friedman(
    n: int,
    *,
    function: str = "interaction",
    inputs: int = 10,
    outputs: int = 1,
    noise: float = 1.0,
    input_outliers: float = 0.0,
    outlier_center: float = 1.5,
    outlier_deviation: float = 0.5,
    target_outliers: float = 0.0,
    target_outlier_scale: float = 50.0,
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
) -> Dataset:
    """Friedman's functions of inputs uniform in [0, 1]^d, of which the function sees five.

    Parameters
    ----------
    n : int
        Number of rows.
    function : "interaction" or "additive"
        10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅, or
        0.1 exp(4x₁) + 4 / (1 + exp(−20 (x₂ − ½))) + 3x₃ + 2x₄ + x₅.
    inputs, outputs : int
        Columns of X and Y. Output k sees the inputs shifted by k columns, cyclically.
    noise : float
        Standard deviation added to every target.
    input_outliers : float
        Share of rows whose inputs are normal with mean `outlier_center` and deviation `outlier_deviation`.
    target_outliers : float
        Share of rows to whose targets a normal of deviation `target_outlier_scale` is added.
    random_state : int, generator or None
        An integer is the seed itself.

    Examples
    --------
    >>> from carmina import datasets
    >>> datasets.friedman(100, outputs=3, random_state=0).Y.shape
    (100, 3)
    """
    return Dataset(
        *_core.friedman(
            integer("n", n),
            function=function,
            inputs=inputs,
            outputs=outputs,
            noise=noise,
            input_outliers=input_outliers,
            outlier_center=outlier_center,
            outlier_deviation=outlier_deviation,
            target_outliers=target_outliers,
            target_outlier_scale=target_outlier_scale,
            seed=seed_of(random_state),
        )
    )


def vector_field(
    kind: str,
    n: int,
    *,
    tau: float = 0.4,
    half_width: float = 2.0,
    noise: float = 0.0,
    grid: bool = False,
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
) -> Dataset:
    """A field in the plane made of five Gaussian bumps h: its gradient, or that turned by a right angle.

    Parameters
    ----------
    kind : "curl-free" or "divergence-free"
        ∇h, or (−∂h/∂x₂, ∂h/∂x₁).
    n : int
        Number of places.
    tau : float
        Width of the bumps.
    half_width : float
        Places are in [−half_width, half_width]².
    noise : float
        Standard deviation added to every component.
    grid : bool
        Places on a regular grid, n a square number; else uniform at random.
    random_state : int, generator or None
        An integer is the seed itself.

    Examples
    --------
    >>> from carmina import datasets
    >>> field = datasets.vector_field("curl-free", 25, grid=True)
    >>> field.X.shape, field.Y.shape
    ((25, 2), (25, 2))
    """
    return Dataset(
        *_core.vector_field(
            kind,
            integer("n", n),
            tau=tau,
            half_width=half_width,
            noise=noise,
            grid=grid,
            seed=seed_of(random_state),
        )
    )


def drifters(
    n_tracks: int = 60,
    *,
    readings: int = 30,
    interval: float = 0.2,
    extent: float = 10.0,
    duration: float = 10.0,
    speed: float = 1.0,
    size: float = 5.0,
    drift: float = 0.5,
    noise: float = 0.1,
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
) -> Drifters:
    """Drifters carried along by eddies that travel: ψ(x, y, t) = speed/k sin(k (x − drift t)) sin(k y) with
    k = π / size, the current being (∂ψ/∂y, −∂ψ/∂x), which has no sources.

    Parameters
    ----------
    n_tracks : int
        Number of drifters.
    readings, interval
        Readings of each, and the time between two of them.
    extent, duration : float
        Drifters are dropped at random in the square [0, extent]², at a random time in [0, duration].
    speed : float
        Largest velocity of each component.
    size : float
        Side of an eddy; neighbours turn against each other.
    drift : float
        Velocity at which the eddies travel along x.
    noise : float
        Standard deviation added to each component of a velocity.
    random_state : int, generator or None
        An integer is the seed itself.

    Examples
    --------
    >>> from carmina import datasets
    >>> data = datasets.drifters(4, readings=25, random_state=0)
    >>> data.X.shape, data.Y.shape, data.tracks[[0, 24, 25, 99]].tolist()
    ((100, 3), (100, 2), [0, 0, 1, 3])
    >>> bool((data.current(data.X) == data.clean).all())
    True
    """
    X, Y, clean, tracks = _core.drifters(
        integer("n_tracks", n_tracks),
        readings=integer("readings", readings),
        interval=interval,
        extent=extent,
        duration=duration,
        speed=speed,
        size=size,
        drift=drift,
        noise=noise,
        seed=seed_of(random_state),
    )
    return Drifters(X, Y, clean, np.array(tracks), float(speed), float(size), float(drift))


def sinusoids(
    kind: str = "half",
    n: int = 2400,
    *,
    components: int = 10,
    step: float = 0.1,
    highest: float = 1.0,
    noise: float = 0.1,
    shared_noise: bool = False,
    random_state: int | np.random.RandomState | np.random.Generator | None = 0,
) -> Sinusoids:
    """A series y(t) = Σ_q w_q sin(2π a_q t) + b_q ε_tq with random weights, at t = 0, step, 2 step, ...

    Parameters
    ----------
    kind : "almost", "half" or "rarely"
        How equal the weights are: Dirichlet's distribution with parameters 100 for all, 100 for the first
        half and 1 for the others, or 0.1 for all. They sum to 1.
    n : int
        Number of times.
    components : int
        Number of sinusoids.
    step : float
        Time from one row to the next.
    highest : float
        Frequencies a_q are uniform in [0, highest), in cycles.
    noise : float
        b_q are uniform in [0, noise).
    shared_noise : bool
        One ε_t for all components in the place of one each.
    random_state : int, generator or None
        An integer is the seed itself.

    Examples
    --------
    >>> from carmina import datasets
    >>> series = datasets.sinusoids("rarely", 300)
    >>> series.X.shape, series.y.shape, series.frequencies.shape
    ((300, 1), (300,), (10,))
    """
    X, Y, clean, *truth = _core.sinusoids(
        kind,
        integer("n", n),
        components=components,
        step=step,
        highest=highest,
        noise=noise,
        shared_noise=shared_noise,
        seed=seed_of(random_state),
    )
    return Sinusoids(X, Y[:, 0], clean[:, 0], *truth)
