"""Every script of papers/ runs in its quick setting and writes its data, a picture and a verdict."""

from pathlib import Path

import pytest
from paper_scripts import PAPERS, check_quick_run, check_says_that_data_is_missing

SCRIPTS = sorted(path.stem for path in (PAPERS / "orff").glob("*.py") if path.stem not in ("common", "cost"))
NEEDS_DATA = {"figure2": "mnist", "figure3": "mnist", "ocean": "ocean_helmholtz"}  # a folder of CARMINA_DATA


def test_the_folder_has_all_figures_and_table_3() -> None:
    assert [*(f"figure{number}" for number in range(1, 8)), "ocean", "table3"] == SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS)
def test_quick_run_writes_data_picture_and_verdict(script: str, tmp_path: Path) -> None:
    check_quick_run("orff", script, tmp_path, NEEDS_DATA.get(script))


@pytest.mark.parametrize("script", sorted(NEEDS_DATA))
def test_without_its_data_a_script_says_so_and_writes_nothing(script: str, tmp_path: Path) -> None:
    check_says_that_data_is_missing("orff", script, tmp_path)
