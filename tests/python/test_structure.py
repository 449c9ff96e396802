"""The promises of docs/design.md that can be counted: rows and tiles are read behind the door alone."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "count_structure.py"


@pytest.fixture(scope="module")
def counting():
    spec = importlib.util.spec_from_file_location("count_structure", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def tree(counting):
    return counting.Tree(ROOT)


def test_rows_are_read_behind_the_door_alone(counting, tree):
    assert tree.found(counting.row_loops) == []


def test_tiles_are_made_behind_the_door_alone(counting, tree):
    assert tree.found(counting.tile_loops) == []


def test_outputs_go_together_by_one_type(counting, tree):
    assert [place.split()[-1] for place in tree.found(counting.couplings)] == ["OutputCoupling"]


PAGES = ["CONTRIBUTING.md", "docs/design.md", "docs/limits.md"]


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_are_there(page):
    """Those of the library are named by folder and file, wherever their folder is."""
    cited = set(re.findall(r"`(?!build/)((?:[\w.-]+/)+[\w.-]*)`", (ROOT / page).read_text()))
    folders = [ROOT, ROOT / "src", ROOT / "include" / "carmina"]
    assert cited, "no file was found: the pattern is wrong"
    assert [name for name in sorted(cited) if not any((folder / name).exists() for folder in folders)] == []


LOOP = """
void sum(RowSource<T>& rows) {
  // one loop, not three calls: rows.next(1)
  rows.rewind();
  for (auto block = rows.next(at_once); block.rows > 0;
       block = rows.next(at_once)) {
    map.tile(map.prepare(block.X, 1), 0);
  }
}
"""
FORWARDING = """
class Repeated final : public RowSource<T> {
  void rewind() override { rows_.rewind(); }
  RowBlock<T> next(Index max_rows) override {
    RowBlock<T> block = rows_.next(max_rows);
    return block;
  }
};
"""
HIDDEN = """
RowBlock<T> Rows::next(Index max_rows) {
  while (more) block = rows_.next(max_rows);
}
"""


@pytest.mark.parametrize(
    ("path", "text", "rows", "tiles"),
    [
        ("src/solvers/sums.cpp", LOOP, 1, 1),
        ("src/solvers/sums.cpp", LOOP + "\n" * 20 + LOOP, 2, 2),
        ("src/data/sums.cpp", LOOP, 0, 1),
        ("src/features/sums.cpp", LOOP, 1, 0),
        ("src/models/repeated.hpp", FORWARDING, 0, 0),
        ("src/models/hidden.cpp", HIDDEN, 1, 0),
        ("src/models/rewound.cpp", "void f() { rows.rewind(); }", 1, 0),
        ("src/models/fit/fit.cpp", "void f() { fit.prepare(); }", 0, 0),
    ],
)
def test_the_rules_see_loops(counting, path, text, rows, tiles):
    source = counting.Source(path, text)
    assert len(counting.row_loops(source)) == rows
    assert len(counting.tile_loops(source)) == tiles


def test_a_decision_outside_the_table_is_seen(counting):
    text = 'if (solver == "cg" || task.solver == Solver::direct) {}\n// solver == "cg"\n'
    assert len(counting.decisions(counting.Source("src/models/tune/tune.cpp", text))) == 1
    assert counting.decisions(counting.Source("src/models/fit/ways_fourier.cpp", text)) == []


def test_the_program_prints_a_table_and_checks():
    command = [sys.executable, SCRIPT, "--before", ROOT, "--files", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| | before | now |\n|---|---:|---:|\n| row loops outside the door | 0 | 0 |" in done.stdout
