"""Tables and a figure of the records that run.py has written, and on request the tables of docs/accuracy.md.

    python table.py results.jsonl ... --out FOLDER [--publish]

RMSE of splits are pooled as the root of the mean over splits of the squared RMSE, over the splits that both
models have; a ratio below 1 means that Carmina's error is the smaller one. Seconds are compared only where
both models had as many threads on a machine that did nothing else.
"""

import argparse
from pathlib import Path

import pooling
import run
import sets
from pooling import Comparison, Records

PAGE = run.harness.ROOT / "docs" / "accuracy.md"
TITLES = {
    "carmina": "Carmina",
    "hist_gradient_boosting": "HistGradientBoosting",
    "lightgbm": "LightGBM",
    "kernel_ridge": "KernelRidge, tuned",
    "support_vectors": "SVM, tuned",
    "gaussian_process": "GaussianProcess, ARD",
}
FIELDS = {sets.REGRESSION: "rmse", sets.MULTI_TARGET: "arrmse"}
HEADINGS = {sets.REGRESSION: "Regression", sets.MULTI_TARGET: "Several targets", sets.CLASSES: "Classes"}
COLOURS = {sets.CHOSEN: "#b8860b", sets.REPORTED: "#1f5fa8"}


def number(value: float | None, form: str = ".3g") -> str:
    return "" if value is None else format(value, form)


def comparisons(records: Records, task: str, ours: str, theirs: str) -> dict[str, Comparison]:
    names = [chosen.name for chosen in sets.ALL if chosen.task == task]
    found = {name: pooling.compare(records, name, ours, theirs, FIELDS[task]) for name in names}
    return {name: one for name, one in found.items() if one}


def summary_table(records: Records, task: str, ours: str, peers: list[str]) -> str:
    """A row for each peer and group of sets."""
    rows = []
    for peer in peers:
        every = comparisons(records, task, ours, peer).values()
        for group in (sets.CHOSEN, sets.REPORTED):
            found = pooling.summary([one for one in every if one.group == group])
            if found:
                worst = f"{found.worst:.3f} ({found.worst_set})" if found.worst else ""
                better = f"{found.better} of {found.sets}"
                middle = [f"{found.geometric_mean:.3f}", f"{found.median:.3f}"]
                rows.append([TITLES[peer], group, better, *middle, worst])
    header = ["beside", "sets", "smaller error on", "geometric mean of ratios", "median"]
    return run.harness.markdown([*header, f"worst ratio, {pooling.SMALL} rows or more"], rows)


def set_table(records: Records, task: str, ours: str, peers: list[str]) -> str:
    """A row for each set: pooled errors, ratios to each peer, coverage, seconds."""
    by_peer = {peer: comparisons(records, task, ours, peer) for peer in peers}
    first = peers[0]
    error = {"rmse": "RMSE", "arrmse": "aRRMSE"}[FIELDS[task]]
    header = ["set", "group", "rows", "splits", f"{error}, {TITLES[ours]}", f"{error}, {TITLES[first]}"]
    header += [f"ratio to {TITLES[peer]}" for peer in peers]
    header += ["coverage of 90 %", "mean width", "mean log density"]
    dense = [p for p in peers if any("log_density" in r for r in records.values() if r["model"] == p)]
    header += [*(f"less that of {TITLES[peer]}" for peer in dense), f"seconds / {TITLES[first]}"]
    rows = []
    for name, one in sorted(by_peer[first].items(), key=lambda item: item[1].ratio):
        ratios = [number(by_peer[p][name].ratio, ".3f") if name in by_peer[p] else "" for p in peers]
        known = [
            number(pooling.mean_over_rows(records, name, ours, field), form)
            for field, form in (("coverage", ".1%"), ("width", ".3g"), ("log_density", ".2f"))
        ]
        known += [
            number(pooling.difference(records, name, ours, peer, "log_density"), "+.2f") for peer in dense
        ]
        errors = [number(value, ".4g") for value in (one.ours, one.theirs)]
        shown = [name, one.group, f"{one.rows:,}", str(one.splits), *errors]
        rows.append([*shown, *ratios, *known, number(one.seconds_ratio)])
    return run.harness.markdown(header, rows)


def class_summary(records: Records, ours: str, peers: list[str]) -> str:
    """Means over the sets that two models have, a row for each model and peer."""
    rows = []
    for peer in peers:
        fields = ("accuracy", "balanced_accuracy", "log_loss")
        names = [chosen.name for chosen in sets.named([sets.CLASSES])]
        pair = [
            [[pooling.mean_over_rows(records, n, m, f) for f in fields] for n in names] for m in (ours, peer)
        ]
        both = [k for k in range(len(names)) if all(None not in side[k] for side in pair)]
        for model, side in zip((ours, peer), pair) if both else ():
            means = [sum(side[k][f] for k in both) / len(both) for f in range(len(fields))]
            shown = [number(mean, form) for mean, form in zip(means, (".2%", ".2%", ".4f"))]
            rows.append([TITLES[model], str(len(both)), *shown])
    header = ["mean over sets", "sets", "accuracy", "mean over classes", "log loss"]
    return run.harness.markdown(header, rows) if rows else ""


def class_table(records: Records, ours: str, peers: list[str]) -> str:
    """A row for each set and model: means over all test rows of all splits."""
    rows = []
    for chosen in sets.named([sets.CLASSES]):
        for model in (ours, *peers):
            found = pooling.of_set(records, chosen.name, model, "accuracy")
            if not found:
                continue
            fields = ("accuracy", "balanced_accuracy", "log_loss", "seconds")
            means = [pooling.mean_over_rows(records, chosen.name, model, field) for field in fields]
            size = f"{next(iter(found.values()))['rows']:,}"
            shown = [number(mean, form) for mean, form in zip(means, (".2%", ".2%", ".4f", ".3g"))]
            rows.append([chosen.name, chosen.group, size, str(len(found)), TITLES[model], *shown])
    header = ["set", "group", "rows", "splits", "model", "accuracy", "mean over classes", "log loss"]
    header.append("seconds")
    return run.harness.markdown(header, rows) if rows else ""


def remarks(records: Records, models: list[str]) -> str:
    """Where the figures come from, which of them are of a part of the rows, and what could not be fitted."""
    used = [record for record in records.values() if record["model"] in models]
    texts = []
    for model in models:
        mine = [record for record in used if record["model"] == model]
        if not mine:
            continue
        loads = [record["load"] for record in mine if "load" in record]
        several = {
            "": sorted({record["version"] for record in mine if "version" in record}),
            "commit ": sorted({record["label"] for record in mine}) if model == "carmina" else [],
            "threads ": sorted({str(record["threads"]) for record in mine}),
            "load average up to ": [f"{max(loads):.1f}"] if loads else [],
        }
        days = sorted({record["date"] for record in mine})
        parts = [word + " and ".join(values) for word, values in several.items() if values]
        parts.append(days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}")
        texts.append(f"{TITLES[model]}: {', '.join(parts)}.")
        if partly := list(dict.fromkeys(record["set"] for record in mine if "note" in record)):
            most = next(record["note"] for record in mine if "note" in record).split(" of ")[0]
            texts.append(f"{TITLES[model]} was {most} training rows on {', '.join(partly)}.")
        failed: dict[str, list[str]] = {}
        for record in mine:
            if "error" in record:
                failed.setdefault(record["error"], []).append(f"{record['set']} {record['split']}")
        texts += [f"{TITLES[model]} failed (`{why}`): {', '.join(where)}." for why, where in failed.items()]
    ours = {record["set"] for record in used if record["model"] == models[0]}
    if without := [name for name in dict.fromkeys(record["set"] for record in used) if name not in ours]:
        texts.append(f"Not yet measured with {TITLES[models[0]]}: {', '.join(without)}.")
    return "\n".join(texts) + "\n"


def draw(found: dict[str, Comparison], ours: str, peer: str, path: Path) -> None:
    """Sorted ratios; small sets hollow."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ordered = sorted(found.values(), key=lambda one: one.ratio)
    figure, axes = plt.subplots(figsize=(7, 1.2 + 0.24 * len(ordered)), layout="constrained")
    axes.axvline(1, color="0.5", linewidth=1)
    for group, colour in COLOURS.items():
        for large in (True, False):
            kind = (group, large)
            places = [k for k, one in enumerate(ordered) if (one.group, one.rows >= pooling.SMALL) == kind]
            label = f"{group}, {pooling.SMALL} rows or more" if large else f"{group}, fewer rows"
            face = colour if large else "white"
            ratios = [ordered[k].ratio for k in places]
            if places:
                axes.scatter(ratios, places, color=face, edgecolors=colour, label=label, zorder=3, s=34)
    axes.set_yticks(range(len(ordered)), [one.name for one in ordered], fontsize=9)
    for tick, one in zip(axes.get_yticklabels(), ordered):
        tick.set_color(COLOURS[one.group])
    axes.set_xscale("log")
    low, high = ordered[0].ratio, ordered[-1].ratio
    marks = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50)
    marks = [mark for mark in marks if low / 1.5 < mark < high * 1.5]
    axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axes.minorticks_off()
    axes.set_ylim(-0.7, len(ordered) - 0.3)
    axes.grid(axis="x", color="0.9")
    axes.set_xlabel(f"error of {TITLES[ours]} / error of {TITLES[peer]}, pooled over splits")
    axes.legend(loc="lower right", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="JSON lines; the last record counts")
    parser.add_argument("--ours", default="carmina", help="the model that ratios are of (carmina)")
    parser.add_argument("--out", type=Path, default=Path("accuracy-output"))
    parser.add_argument("--publish", action="store_true", help=f"also write the tables into docs/{PAGE.name}")
    args = parser.parse_args()
    records: Records = {}
    for path in args.files:
        records |= run.read(path)
    present = {record["model"] for record in records.values()}
    peers = [model for model in TITLES if model in present and model != args.ours]
    if args.ours not in present or not peers:
        parser.error(f"expected records of {args.ours} and of another model, found {sorted(present)}")
    args.out.mkdir(parents=True, exist_ok=True)
    pages = {}
    for task in FIELDS:
        there = [peer for peer in peers if comparisons(records, task, args.ours, peer)]
        if not there:
            continue
        of_task = {k: record for k, record in records.items() if record["task"] == task}
        name = f"accuracy-{task}"
        draw(comparisons(records, task, args.ours, there[0]), args.ours, there[0], args.out / f"{name}.png")
        tables = (summary_table(records, task, args.ours, there), set_table(records, task, args.ours, there))
        pages[task] = "\n".join((*tables, remarks(of_task, [args.ours, *there])))
    if table := class_table(records, args.ours, peers):
        of_task = {k: record for k, record in records.items() if record["task"] == sets.CLASSES}
        means = class_summary(of_task, args.ours, peers)
        pages[sets.CLASSES] = "\n".join((means, table, remarks(of_task, [args.ours, *peers])))
    for task, text in pages.items():
        (args.out / f"accuracy-{task}.md").write_text(text)
        print(f"== {task}\n\n{text}")
        if args.publish:
            picture = args.out / f"accuracy-{task}.png"
            text = run.harness.below_picture(PAGE, picture, "Ratios of errors, sorted", text)
            run.harness.publish(PAGE, task, f"## {HEADINGS[task]}\n\n{text}")


if __name__ == "__main__":
    main()
