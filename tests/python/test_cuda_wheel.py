"""The wheel carmina-cuda: what is in it, and that pip takes it. Of any library: no nvcc is needed."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import carmina
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def wheel(tmp_path):
    path = ROOT / "scripts" / "build_cuda_wheel.py"
    if not path.exists():
        pytest.skip("the scripts are not here")
    spec = importlib.util.spec_from_file_location("build_cuda_wheel", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    any_library = next(Path(carmina.__file__).parent.glob("_core*.so"))
    return script.write_wheel(any_library, tmp_path / "dist")


def test_its_name_and_what_pip_makes_of_it(wheel, tmp_path):
    version = re.escape(carmina.__version__)
    assert re.fullmatch(rf"carmina_cuda-{version}-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name)
    words = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--target"]
    subprocess.run([sys.executable, "-m", "pip", *words, tmp_path / "site", wheel], check=True)
    assert (tmp_path / "site" / "carmina_cuda" / "libcarmina_cuda.so").stat().st_size > 1000
    code = "import importlib.metadata as m; print(m.version('carmina-cuda'), m.requires('carmina-cuda'))"
    environment = {"PYTHONPATH": str(tmp_path / "site")}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert said.stdout == f"{carmina.__version__} ['carmina=={carmina.__version__}']\n"


def test_it_is_the_same_each_time(wheel):
    first = wheel.read_bytes()
    wheel.unlink()
    path = ROOT / "scripts" / "build_cuda_wheel.py"
    library = next(Path(carmina.__file__).parent.glob("_core*.so"))
    subprocess.run([sys.executable, path, library, "--folder", wheel.parent], check=True, capture_output=True)
    assert wheel.read_bytes() == first
