"""The sets of the accuracy benchmark, and which of them choices may be made on. Written before the first run.

Defaults, grids, rules and anything else that depends on measured errors are chosen on the sets of the group
"chosen" alone. The sets of the group "reported" are for reporting: nothing is changed because of what they
show, and what is claimed about accuracy is claimed on them. A set never moves from one group to the other; a
new one is put into a group before anything is fitted to it.

Splits are fixed, too. Sets of the collection `uci_gp` come with ten masks of test rows (a tenth of the rows
each). HIGGS and MNIST have a test part of their own: split 0 alone. All others: split k tests on fold k of a
shuffled ten-fold partition with seed 0, stratified for classes; of a generated set split k is another draw,
of which a fifth is for testing.
"""

from dataclasses import dataclass

CHOSEN, REPORTED = "chosen", "reported"
REGRESSION, MULTI_TARGET, CLASSES = "regression", "multi-target", "classes"


@dataclass(frozen=True)
class Set:
    """A table of data: its name here, where it is from, and what may be done with it."""

    name: str
    source: str  # "uci_gp", "mulan_small", "higgs_small", "sarcos_test", "mnist", "sklearn" or "generated"
    task: str
    group: str
    splits: int = 10


UCI_CHOSEN = [
    *("airfoil", "autompg", "concrete", "energy", "stock", "yacht", "housing", "wine", "skillcraft", "gas"),
    *("elevators", "kin40k", "protein"),
]
UCI_REPORTED = [
    *("autos", "bike", "breastcancer", "challenger", "concreteslump", "fertility", "forest", "keggdirected"),
    *("keggundirected", "machine", "parkinsons", "pendulum", "pol", "pumadyn32nm", "servo", "sml", "solar"),
    "tamielectric",
]
# enb has the rows of energy, on which choices are made; slump and sf2 those of concreteslump and solar.
MULAN_CHOSEN = ["enb"]
MULAN_REPORTED = [
    *("andro", "atp1d", "atp7d", "edm", "jura", "oes10", "oes97", "osales", "scpf", "sf1", "sf2", "slump"),
    "wq",
]

ALL = [
    *(Set(name, "uci_gp", REGRESSION, CHOSEN) for name in UCI_CHOSEN),
    *(Set(name, "uci_gp", REGRESSION, REPORTED) for name in UCI_REPORTED),
    Set("diabetes", "sklearn", REGRESSION, REPORTED),
    Set("california", "sklearn", REGRESSION, REPORTED),  # only where scikit-learn has it on disk already
    *(Set(name, "mulan_small", MULTI_TARGET, CHOSEN) for name in MULAN_CHOSEN),
    *(Set(name, "mulan_small", MULTI_TARGET, REPORTED) for name in MULAN_REPORTED),
    Set("sarcos_test", "sarcos_test", MULTI_TARGET, REPORTED),
    # `wine` above is the quality of wines, a regression; this one tells three cultivars apart.
    Set("digits", "sklearn", CLASSES, CHOSEN),
    Set("iris", "sklearn", CLASSES, CHOSEN),
    Set("wine_cultivars", "sklearn", CLASSES, CHOSEN),
    Set("breast_cancer", "sklearn", CLASSES, REPORTED),
    Set("mnist", "mnist", CLASSES, REPORTED, splits=1),
    Set("higgs_small", "higgs_small", CLASSES, REPORTED, splits=1),
    Set("generated_26_classes", "generated", CLASSES, REPORTED),
    Set("generated_1_to_100", "generated", CLASSES, REPORTED),
]
BY_NAME = {s.name: s for s in ALL}
KINDS = (CHOSEN, REPORTED, REGRESSION, MULTI_TARGET, CLASSES, *dict.fromkeys(s.source for s in ALL))


def named(words: list[str]) -> list[Set]:
    """The sets that words ask for, in the order above: "all", a group, a task, a source, or a set's own name.

    `a+b` is what both name: `chosen+uci_gp`.
    """
    wanted: set[str] = set()
    for word in words:
        parts = [_meant(part) for part in word.split("+")]
        wanted |= set.intersection(*parts)
    return [s for s in ALL if s.name in wanted]


def _meant(word: str) -> set[str]:
    if word == "all":
        return set(BY_NAME)
    if word in BY_NAME:  # before the sources: mnist is both
        return {word}
    found = {s.name for s in ALL if word in (s.group, s.task, s.source)}
    if not found:
        raise ValueError(f"sets: expected all, a set's name or one of {', '.join(KINDS)}, found {word!r}")
    return found
