"""[Jung2019, Figure 2]: evidence and test error against time for exact, inducing and Fourier inference.

'half' data, the first 2000 of 2400 times to learn from, the others to continue. Each point of a curve is a
fit of its own, from the same start, with so many steps; its time is that of this fit alone. Temperature and
rate of Adam follow from the number of steps, so that a point is what this budget gives, not a stop on the way
to a larger one. The processes with matrices learn by L-BFGS. Fourier features, in general and in natural
parameters, learn by Adam on points drawn anew, as in the paper; "frozen" by L-BFGS on points drawn once. The
divergence from the start is left out, so that components may become as narrow as the exact process finds
them.
"""

from typing import Any

import numpy as np
from carmina import datasets
from common import Check, Rows, Study, fitted, rmse

CLAIM = "Figure 2: with Fourier features the mixture is learnt faster than exactly or with inducing points."
FOURIER = {"inference": "fourier", "n_components": 300, "kl_copies": "none"}
METHODS: dict[str, dict[str, Any]] = {
    "exact": {"inference": "exact", "parameterization": "general"},
    "inducing": {"inference": "inducing", "n_inducing": 300, "parameterization": "general"},
    "general": {**FOURIER, "solver": "adam", "parameterization": "general"},
    "natural": {**FOURIER, "solver": "adam", "parameterization": "natural"},
    "frozen": {**FOURIER, "solver": "lbfgs", "parameterization": "general"},
}
MEASURES = ("NLML", "test RMSE", "NMLL")
Q = 10


def measure(data: Any, n: int, method: str, steps: int, seed: int) -> dict[str, Any]:
    options = METHODS[method]
    model, seconds = fitted(
        data.X[:n], data.y[:n], n_mixtures=Q, max_iter=steps, random_state=seed, **options
    )
    X, y = data.X[n:], data.y[n:]
    values = (-model.log_marginal_likelihood(), rmse(y, model.predict(X)), model.nmll(X, y))
    used = {"steps": steps, "steps done": 0 if steps == 0 else model.n_iter_}
    return {"method": method, **used, "seconds": seconds, **dict(zip(MEASURES, values))}


def first_below(lines: Rows, error: float) -> float:
    """Seconds of the shortest fit whose test RMSE is no larger; infinite without one."""
    return min((line["seconds"] for line in lines if line["test RMSE"] <= error), default=np.inf)


def after(seconds: float) -> str:
    return f"after {seconds:.2f} s" if np.isfinite(seconds) else "never"


def judge(rows: Rows) -> list[Check]:
    by = {name: [row for row in rows if row["method"] == name] for name in METHODS}
    exact = by["exact"][-1]
    target = 1.05 * exact["test RMSE"]
    there = {name: first_below(lines, target) for name, lines in by.items()}
    checks = []
    for name in ("general", "natural", "frozen"):
        words = (
            f"{name}: within 5 % of the exact process's last test RMSE ({exact['test RMSE']:.4f}) "
            f"{after(there[name])}; its {exact['steps done']} steps took {exact['seconds']:.1f} s, of which "
            "a fifth is allowed."
        )
        checks.append(Check(there[name] <= exact["seconds"] / 5, words))
    fourier = min(("general", "natural", "frozen"), key=there.__getitem__)
    for name in ("exact", "inducing"):
        words = (
            f"{fourier}, the fastest with features, is there before {name} inference: {after(there[name])}."
        )
        checks.append(Check(there[fourier] < there[name], words))
    words = f"natural parameters are there {after(there['natural'])}, general ones {after(there['general'])}."
    why = "Steps are in units of the starting widths here, which suits both alike."
    checks.append(Check(there["natural"] < there["general"], words, why))
    return checks


def drawing(rows: Rows) -> Any:
    def draw(figure: Any) -> None:
        colours = {"exact": "r", "inducing": "gold", "general": "limegreen", "natural": "b", "frozen": "c"}
        for ax, name in zip(figure.subplots(1, 3), MEASURES):
            for method, colour in colours.items():
                lines = [row for row in rows if row["method"] == method]
                ax.semilogx(
                    *([line[key] for line in lines] for key in ("seconds", name)), "o-", ms=3, c=colour
                )
            ax.set(xlabel="seconds of the fit", title=name)
        ax.legend(list(colours), fontsize=8)

    return draw


def main() -> None:
    study = Study("figure2", CLAIM)
    n, n_test = study.pick((200, 40), (2000, 400))
    few, many = study.pick(
        ((0, 3, 10), (0, 5, 20)), ((0, 2, 5, 10, 20, 40, 150), (0, 5, 10, 20, 50, 100, 200, 400))
    )
    data = datasets.sinusoids("half", n + n_test, components=Q, random_state=0)
    rows = []
    for method, options in METHODS.items():
        for steps in many if options.get("solver") == "adam" else few:
            rows.append(measure(data, n, method, steps, seed=0))
    study.write(rows, judge(rows), drawing(rows), rows, size=(12, 4.4))


if __name__ == "__main__":
    main()
