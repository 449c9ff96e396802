"""The playground computes what the library does, and answers to a pointer and to keys in a real browser."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from carmina import KernelRegressor
from carmina.kernels import CurlFree, DivergenceFree, Gaussian

BUILT = Path(__file__).resolve().parents[2] / "build" / "playground"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(not (BUILT / "field.html").exists(), reason="`make playground` builds it")

FIT = """
const { X, Y, grid, width, alpha, weights } = JSON.parse(require("fs").readFileSync(0));
require(process.argv[1])().then(wasm => {
  const put = values => {
    const at = wasm._malloc(8 * values.length);
    wasm.HEAPF64.set(values, at / 8);
    return at;
  };
  const n = X.length / 2, m = grid.length / 2, out = put(new Array(5 * m).fill(0));
  const parts = [out, out + 16 * m, out + 32 * m];
  const status = wasm._fit_field(...weights, width, alpha, n, put(X), put(Y), m, put(grid), ...parts);
  console.log(JSON.stringify([status, ...wasm.HEAPF64.subarray(out / 8, out / 8 + 5 * m)]));
});
"""


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_of_the_library(seed):
    rng = np.random.default_rng(seed)
    n, m = 12 + seed, 30
    X, Y, grid = rng.uniform(-2, 2, (n, 2)), rng.normal(size=(n, 2)), rng.uniform(-2, 2, (m, 2))
    width, alpha, weights = rng.uniform(0.4, 1.2), 10 ** rng.uniform(-3, 0), (1.0, 0.6)
    asked = {"X": X, "Y": Y, "grid": grid}
    text = json.dumps(
        {**{name: values.ravel().tolist() for name, values in asked.items()}, "width": width, "alpha": alpha,
         "weights": weights}
    )  # fmt: skip
    command = ["node", "-e", FIT, str(BUILT / "field.js")]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    status, *numbers = json.loads(done.stdout)
    k = Gaussian(width)
    kernel = weights[0] * CurlFree(k) + weights[1] * DivergenceFree(k)
    model = KernelRegressor(kernel, "exact", alpha=alpha, fit_intercept=False).fit(X, Y)
    gradient, flow = model.predict_parts(grid)
    assert status == 0
    np.testing.assert_allclose(np.reshape(numbers[: 2 * m], (m, 2)), gradient, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.reshape(numbers[2 * m : 4 * m], (m, 2)), flow, rtol=0, atol=1e-8)
    # The posterior covariance from the kernel itself: K(x, x) - K(x, X) (K + alpha I)^-1 K(X, x).
    across = kernel(grid, X).transpose(0, 2, 1, 3).reshape(2 * m, 2 * n)
    system = kernel(X).transpose(0, 2, 1, 3).reshape(2 * n, 2 * n) + alpha * np.eye(2 * n)
    explained = np.einsum("ij,ij->i", across, np.linalg.solve(system, across.T).T)
    own = np.einsum("iikk->i", kernel(grid))
    variance = own - explained.reshape(m, 2).sum(axis=1)
    np.testing.assert_allclose(numbers[4 * m :], np.sqrt(variance), rtol=1e-6, atol=1e-6)


def test_the_page_is_small_and_alone():
    text = (BUILT / "field.html").read_text()
    assert len(text.encode()) < 500_000
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", text), "it asks for another file"


DRIVE = """<script>
addEventListener("error", event => { document.body.dataset.error = event.message; });
const ready = setInterval(() => {
  if (!$("words").textContent) return;
  clearInterval(ready);
  const box = plane.getBoundingClientRect(), heard = [], note = () => heard.push($("words").textContent);
  const pointer = (type, x, y) => {
    const at = {clientX: box.left + x * box.width, clientY: box.top + y * box.height};
    plane.dispatchEvent(new PointerEvent(type, {...at, pointerId: 1, bubbles: true}));
  };
  const key = name => plane.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
  $("clear").click();
  note();
  pointer("pointerdown", 0.4, 0.5);
  pointer("pointermove", 0.5, 0.45);
  pointer("pointermove", 0.6, 0.4);
  pointer("pointerup", 0.6, 0.4);
  note();
  plane.focus();
  ["ArrowRight", "Enter", ...new Array(6).fill("ArrowUp"), "Enter"].forEach(key);
  note();
  document.querySelector("input[value=gradient][name=kind]").click();
  note();
  key("Delete");
  note();
  $("example").click();
  note();
  document.body.dataset.heard = JSON.stringify([...heard, location.hash]);
}, 50);
</script>"""


def browse(address: str) -> str:
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    done = subprocess.run([*command, "--dump-dom", address], capture_output=True, text=True, timeout=120)
    return done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_draws_by_pointer_and_by_keys(tmp_path):
    page = tmp_path / "field.html"
    page.write_text((BUILT / "field.html").read_text().replace("</body>", DRIVE + "</body>"))
    text = browse(page.as_uri())
    assert "data-error" not in text
    found = re.search(r'data-heard="([^"]*)"', text)
    assert found, "the page did not answer"
    empty, one, two, gradient, less, example, state = json.loads(
        found[1].replace("&quot;", '"').replace("&amp;", "&")
    )
    assert empty.startswith("No arrows yet")
    assert one.startswith("1 arrow. The field goes through the arrows")
    assert two.startswith("2 arrows")
    assert "nothing turns in a circle" in gradient
    assert less.startswith("1 arrow.")
    assert example.startswith("10 arrows")
    assert "kind=gradient" in state


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_address_holds_what_is_seen_and_nonsense_is_no_harm():
    page = (BUILT / "field.html").as_uri()
    text = browse(page + "#kind=flow&show=flow&width=0.5&alpha=-1&arrows=0,0,1,0;1,1,0,1")
    assert re.search(r'id="words"[^>]*>2 arrows.*no sources or sinks', text)
    assert re.search(
        r'id="words"[^>]*>No arrows yet', browse(page + "#kind=%00&width=x&arrows=1,2,3;a,b,c,d")
    )
