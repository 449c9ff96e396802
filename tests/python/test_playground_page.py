"""The playground's page answers to a pointer and to keys in a browser; its address holds what is seen."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BUILT = Path(__file__).resolve().parents[2] / "build" / "playground"
PAGE = BUILT / "playground.html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(not PAGE.exists(), reason="`make playground` builds it"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium"),
]

# Before the page's own scripts: whatever goes wrong is kept.
WATCH = """<script>
const wrong = [], tell = console.error;
addEventListener("error", event => wrong.push(event.message));
addEventListener("unhandledrejection", event => wrong.push(String(event.reason)));
console.error = console.warn = (...all) => { wrong.push(all.join(" ")); tell(...all); };
</script>"""
# After them: a script of steps, each of which may note what the page says.
DRIVE = """<script>
const ready = setInterval(() => {
  if (!document.querySelector(".words:not(:empty)")) {
    // The clock goes ahead while nothing is to do here, though the library is still being compiled.
    for (let i = 0, sum = 0; i < 3e7; ++i) sum += i % 7;
    return;
  }
  clearInterval(ready);
  const heard = [], note = name => heard.push($(name + "-words").textContent);
  const pointer = (on, type, x, y) => {
    const box = on.getBoundingClientRect();
    const at = {clientX: box.left + x * box.width, clientY: box.top + y * box.height};
    on.dispatchEvent(new PointerEvent(type, {...at, pointerId: 1, buttons: 1, bubbles: true}));
  };
  const drag = (on, from, to) => {
    pointer(on, "pointerdown", ...from);
    pointer(on, "pointermove", (from[0] + to[0]) / 2, (from[1] + to[1]) / 2);
    pointer(on, "pointermove", ...to);
    pointer(on, "pointerup", ...to);
  };
  const key = (on, name) => on.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
  const input = (name, value) => document.querySelector(`input[name="${name}"][value="${value}"]`);
  const slide = (name, value) => {
    const range = document.querySelector(`input[name="${name}"]`);
    range.value = value;
    range.dispatchEvent(new Event("input", {bubbles: true}));
  };
  STEPS
  saveState();
  document.body.dataset.heard = JSON.stringify([...heard, location.hash]);
  document.body.dataset.wrong = JSON.stringify(wrong);
}, 50);
</script>"""


def chromium(*arguments: str) -> str:
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=20000",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=200).stdout


def watched(folder: Path, steps: str) -> str:
    """The address of a page that takes the steps by itself."""
    page = folder / "playground.html"
    text = PAGE.read_text().replace("<script>", WATCH + "<script>", 1)
    page.write_text(text.replace("</body>", DRIVE.replace("STEPS", steps) + "</body>"))
    return page.as_uri()


def drive(folder: Path, steps: str, state: str = "") -> list[str]:
    """What was noted at the steps, and the address at the end."""
    found = chromium("--dump-dom", watched(folder, steps) + state)
    heard, wrong = (re.search(rf'data-{name}="([^"]*)"', found) for name in ("heard", "wrong"))
    assert heard, "the page did not answer"
    assert json.loads(html.unescape(wrong[1])) == []
    return json.loads(html.unescape(heard[1]))


def test_arrows_are_drawn_by_pointer_and_by_keys(tmp_path):
    heard = drive(
        tmp_path,
        """
        const plane = $("plane");
        $("clear").click(); note("field");
        drag(plane, [0.4, 0.5], [0.6, 0.4]); note("field");
        plane.focus();
        ["ArrowRight", "Enter", ...new Array(6).fill("ArrowUp"), "Enter"].forEach(name => key(plane, name));
        note("field");
        input("field.kind", "gradient").click(); note("field");
        key(plane, "Delete"); note("field");
        input("field.kind", "both").click(); $("example").click(); note("field");
        input("field.map", "fourier").click(); slide("field.features", 9); note("field");
        slide("field.features", 3); note("field");
        input("field.kind", "flow").click();
        """,
    )
    empty, one, two, gradient, less, example, many, few, state = heard
    assert empty.startswith("No arrows yet")
    assert one.startswith("1 arrow. The field goes through the arrows")
    assert two.startswith("2 arrows")
    assert "nothing turns in a circle" in gradient
    assert less.startswith("1 arrow.")
    assert example.startswith("10 arrows")
    away = [
        int(re.search(r"it is (\d+) % of its length away from the exact one", words)[1])
        for words in (many, few)
    ]
    assert away[0] < away[1]
    assert "field.kind=flow" in state
    assert "field.map=fourier" in state


def test_points_are_dragged_and_outliers_pull(tmp_path):
    heard = drive(
        tmp_path,
        """
        $("tab-curve").click(); note("curve");
        $("no-points").click(); note("curve");
        [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8].forEach(x => pointer($("curves"), "pointerdown", x, 0.5));
        note("curve");
        const third = document.querySelectorAll(".board button")[2];
        const before = third.getAttribute("aria-label");
        drag(third, [0.5, 0.5], [0.5, -5]);
        heard.push(before + " to " + third.getAttribute("aria-label"));
        key(third, "ArrowLeft"); heard.push(third.getAttribute("aria-label"));
        key(third, "Delete"); note("curve");
        $("few").click(); note("curve");
        $("outlier").click(); $("outlier").click(); $("outlier").click(); note("curve");
        document.querySelector("input[name='curve.quantiles']").click(); note("curve");
        input("curve.map", "fourier").click(); slide("curve.features", 9); note("curve");
        $("many").click(); note("curve");
        """,
    )
    first, empty, seven, dragged, stepped, six, forty, pulled, quantiles, features, many, state = heard
    assert first.startswith("42 points")
    assert empty.startswith("Three points or more")
    assert seven.startswith("7 points.")
    assert "too few for a 90 % interval" in seven
    numbers = [float(n) for n in re.findall(r"-?\d+\.\d\d", dragged + stepped)]
    assert numbers[3] > numbers[1] + 0.3, "it was dragged up"
    assert numbers[4] == pytest.approx(numbers[2] - 0.05, abs=0.011)
    assert six.startswith("6 points")
    assert "agree" in forty or float(re.search(r"are ([\d.]+) apart", forty)[1]) < 0.15
    assert float(re.search(r"are ([\d.]+) apart", pulled)[1]) > 0.15
    below = [int(n) for n in re.search(r"are (\d+), (\d+) and (\d+) %", quantiles).groups()]
    assert below[0] < 25 < below[1] < 75 < below[2]
    assert float(re.search(r"at most ([\d.]+) away from the exact", features)[1]) < 0.1
    assert many.startswith("200 points")
    assert "Fitted in" in many
    assert "tab=curve" in state
    assert "curve.quantiles=1" in state


def test_a_series_goes_on_and_shows_its_rhythms(tmp_path):
    heard = drive(
        tmp_path,
        """
        $("tab-curve").click(); $("rhythms").click(); note("curve");
        heard.push(String($("spectrum").hidden) + String($("of-curves").hidden));
        const last = document.querySelectorAll(".board button")[59];
        pointer(last, "pointerdown", 0.5, 0.5); pointer(last, "pointermove", 0.5, -2); note("curve");
        pointer(last, "pointerup", 0.5, 0.5); note("curve");
        input("curve.trend", "none").click(); note("curve");
        slide("curve.mixtures", 2); note("curve");
        $("no-points").click(); note("curve");
        input("curve.task", "curve").click(); note("curve");
        heard.push(String($("spectrum").hidden) + String($("of-curves").hidden));
        input("curve.task", "series").click();
        """,
    )
    series, shown, dragged, released, none, two, empty, curve, hidden, state = heard
    assert series.startswith("60 points. It repeats itself each 0.9")
    assert "Learnt in" in series
    assert shown == "falsetrue"
    assert "learnt anew when you let go" in dragged
    assert "Learnt in" in released
    assert "A line beside it has 0 % of the evidence" in none
    assert two.startswith("60 points.")
    assert empty.startswith("A series has 10 points or more")
    assert curve.startswith("Three points or more")
    assert hidden == "truefalse"
    assert "curve.task=series" in state


def test_features_approach_the_kernel(tmp_path):
    heard = drive(
        tmp_path,
        """
        $("tab-field").focus(); key($("tab-field"), "ArrowLeft"); note("approximation");
        slide("approximation.features", 12); note("approximation");
        slide("approximation.features", 1); note("approximation");
        pointer($("error-plot"), "pointerdown", 0.6, 0.5); note("approximation");
        document.querySelector("input[name='approximation.rows']").click(); note("approximation");
        const seen = () => heard.push($("approximation-words").dataset.error);
        seen(); $("again").click(); seen();
        input("approximation.kernel", "laplacian").click(); note("approximation");
        """,
    )
    first, many, two, chosen, rows, seen, again, laplacian, state = heard
    off = [float(re.search(r"off by at most ([\d.]+)", words)[1]) for words in (many, two)]
    assert first.startswith("64 features")
    assert many.startswith("4096 features")
    assert two.startswith("2 features, 1 frequency")
    assert off[0] < 0.1 < off[1]
    promised = float(re.search(r"theorem promises ([\d.]+)", many)[1])
    assert off[0] < promised < 1
    assert 32 < int(re.match(r"\d+", chosen)[0]) < 1024
    assert "A sub-sample of" in rows
    assert abs(float(seen) - float(again)) > 1e-6
    assert "no second moment" in laplacian
    assert "tab=approximation" in state


def test_the_address_holds_what_is_seen_and_nonsense_is_no_harm(tmp_path):
    state = "#tab=field&field.kind=flow&field.show=flow&field.width=0.5&field.alpha=-1&field=0,0,1,0;1,1,0,1"
    words, address = drive(tmp_path, 'note("field");', state)
    assert words.startswith("2 arrows")
    assert "no sources or sinks" in words
    words, again = drive(tmp_path, 'note("field");', address)
    assert words.startswith("2 arrows")
    assert again == address
    state = "#tab=curve&curve.map=fourier&curve.features=5&curve=-1,0;0,1;1,0;1.5,-0.5"
    assert drive(tmp_path, 'note("curve");', state)[0].startswith("4 points")
    steps = """
    location.hash = "#tab=curve&curve=-1,0;0,1;1,0";
    dispatchEvent(new HashChangeEvent("hashchange"));
    note("curve");
    """
    assert drive(tmp_path, steps)[0].startswith("3 points"), "another address in the same page"
    state = "#tab=%00&field.kind=x&field.width=x&field=1,2,3;a,b,c,d&curve=,;1&approximation.seed=1e9"
    nonsense = drive(tmp_path, 'note("field"); $("tab-curve").click(); note("curve");', state)
    assert nonsense[0].startswith("No arrows yet")
    assert nonsense[1].startswith("Three points or more")


@pytest.mark.parametrize("size", ["1200,800", "390,844"])
@pytest.mark.parametrize("tab", ["field", "curve", "curve&curve.task=series", "approximation"])
def test_screenshots_are_taken(tmp_path, tab, size):
    picture = BUILT / "screenshots" / f"{tab.split('=')[-1]}-{size.split(',')[0]}.png"
    picture.parent.mkdir(exist_ok=True)
    picture.unlink(missing_ok=True)
    address = watched(tmp_path, "") + f"#tab={tab}"
    chromium("--hide-scrollbars", f"--window-size={size}", f"--screenshot={picture}", address)
    assert picture.stat().st_size > 20_000
