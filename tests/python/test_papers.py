"""Every script of papers/ runs in its quick setting and writes its data, a picture and a verdict."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from paper_scripts import PAPERS, check_quick_run, check_says_that_data_is_missing
from scipy.stats import multivariate_normal

SCRIPTS = sorted(path.stem for path in (PAPERS / "orff").glob("*.py") if path.stem not in ("common", "cost"))
NEEDS_DATA = {  # a folder of CARMINA_DATA
    "figure2": "mnist",
    "figure3": "mnist",
    "ocean": "ocean_helmholtz",
    "ocean_average": "ocean_helmholtz",
}


def test_the_folder_has_all_figures_and_table_3() -> None:
    assert [*(f"figure{number}" for number in range(1, 8)), "ocean", "ocean_average", "table3"] == SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS)
def test_quick_run_writes_data_picture_and_verdict(script: str, tmp_path: Path) -> None:
    check_quick_run("orff", script, tmp_path, NEEDS_DATA.get(script))


@pytest.mark.parametrize("script", sorted(NEEDS_DATA))
def test_without_its_data_a_script_says_so_and_writes_nothing(script: str, tmp_path: Path) -> None:
    check_says_that_data_is_missing("orff", script, tmp_path)


@pytest.fixture
def ocean(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(PAPERS / "orff")
    monkeypatch.delitem(sys.modules, "common", raising=False)  # other papers have a module of this name
    import ocean

    yield ocean
    for name in ("common", "ocean"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("model", ["independent", "two parts"])
def test_evidence_of_ocean_is_a_log_density_with_its_gradient(model: str, ocean: ModuleType) -> None:
    generator = np.random.default_rng(0)
    field = ocean.Field(generator.normal(size=(7, 2)), generator.normal(size=(7, 2)), np.empty(0), {})
    logs = np.log([1.3, 0.6, 0.8, 1.7, 0.2])
    lack, gradient = ocean.lack_of_evidence(logs, model, field)

    # The closed forms with k = exp(−|u|²/2), u the difference over the width.
    covariance = 0.2**2 * np.eye(14)
    for part, (width, size) in enumerate([(1.3, 0.8), (0.6, 1.7)]):
        u = (field.X[:, None] - field.X) / width
        square = (u**2).sum(-1)[..., None, None]
        outer, one = u[..., None] * u[..., None, :], np.eye(2)
        shapes = (one - outer, (1 - square) * one + outer)
        shape = np.diag(one[part]) if model == "independent" else shapes[part]
        covariance += size**2 * (np.exp(-square / 2) * shape).transpose(0, 2, 1, 3).reshape(14, 14)
    assert lack == pytest.approx(-multivariate_normal.logpdf(field.Y.ravel(), cov=covariance), rel=1e-10)
    moved = [
        [ocean.lack_of_evidence(logs + h * axis, model, field)[0] for h in (-1e-5, 1e-5)]
        for axis in np.eye(5)
    ]
    differences = np.diff(moved)[:, 0] / 2e-5
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6)
