"""The arithmetic of the accuracy tables: records of splits give one figure for a set, sets a summary."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

Records = dict[tuple[str, int, str], dict]  # by set, split and model

SMALL = 300  # sets with fewer rows count in the geometric mean and not in the worst ratio


@dataclass(frozen=True)
class Comparison:
    """A model beside another on one set, over the splits that both have."""

    name: str
    group: str
    rows: int
    splits: int
    ours: float
    theirs: float
    seconds_ratio: float | None  # None where the times cannot be compared

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


@dataclass(frozen=True)
class Summary:
    """Ratios over sets: below 1 the first model has the smaller error."""

    sets: int
    better: int
    geometric_mean: float
    median: float
    worst: float | None  # over sets with SMALL rows or more
    worst_set: str | None


def root_mean_square(values: Iterable[float]) -> float:
    """How RMSE of splits are pooled: the root of the mean over splits of the squared RMSE."""
    squares = [value**2 for value in values]
    return math.sqrt(sum(squares) / len(squares))


def of_set(records: Records, name: str, model: str, field: str) -> dict[int, dict]:
    """The records of a model on a set that have a field, by split."""
    found = ((split, record) for (s, split, m), record in records.items() if (s, m) == (name, model))
    return {split: record for split, record in sorted(found, key=lambda one: one[0]) if field in record}


def compare(records: Records, name: str, ours: str, theirs: str, field: str = "rmse") -> Comparison | None:
    """Two models on the splits that both have; None where there are none, or where their error is zero."""
    first, second = (of_set(records, name, model, field) for model in (ours, theirs))
    common = [split for split in first if split in second]
    if not common:
        return None
    pooled = [root_mean_square(side[split][field] for split in common) for side in (first, second)]
    if pooled[1] == 0:
        return None
    known = first[common[0]]
    pairs = [(first[split], second[split]) for split in common]
    return Comparison(name, known["group"], known["rows"], len(common), *pooled, seconds_ratio(pairs))


def seconds_ratio(pairs: list[tuple[dict, dict]]) -> float | None:
    """The seconds of fits and predictions, added up; None unless all had as many threads and cores of their
    own, as many processes beside them, and a machine quiet otherwise: a load average that these explain."""
    for pair in pairs:
        quiet = all(one.get("load", math.inf) <= one["threads"] * one.get("jobs", 1) + 1 for one in pair)
        alike = pair[0]["threads"] == pair[1]["threads"] and pair[0].get("jobs", 1) == pair[1].get("jobs", 1)
        if not (quiet and alike):
            return None
    ours, theirs = (sum(pair[side]["seconds"] for pair in pairs) for side in (0, 1))
    return ours / theirs


def summary(comparisons: list[Comparison]) -> Summary | None:
    if not comparisons:
        return None
    logs = [math.log(one.ratio) for one in comparisons]
    large = [one for one in comparisons if one.rows >= SMALL]
    worst = max(large, key=lambda one: one.ratio, default=None)
    return Summary(
        sets=len(comparisons),
        better=sum(one.ratio < 1 for one in comparisons),
        geometric_mean=math.exp(sum(logs) / len(logs)),
        median=statistics.median(one.ratio for one in comparisons),
        worst=worst and worst.ratio,
        worst_set=worst and worst.name,
    )


def mean_over_rows(records: Records, name: str, model: str, field: str) -> float | None:
    """The mean over all test rows of all splits (coverage, log density, accuracy, log loss, ...)."""
    found = of_set(records, name, model, field).values()
    rows = sum(record["test_rows"] for record in found)
    return sum(record[field] * record["test_rows"] for record in found) / rows if rows else None


def difference(records: Records, name: str, ours: str, theirs: str, field: str) -> float | None:
    """The mean of a field over the test rows of the splits that both models have, less that of the other."""
    first, second = (of_set(records, name, model, field) for model in (ours, theirs))
    common = [split for split in first if split in second]
    rows = sum(first[split]["test_rows"] for split in common)
    each = ((first[k][field] - second[k][field]) * first[k]["test_rows"] for k in common)
    return sum(each) / rows if rows else None
