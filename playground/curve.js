// curve.js -- points that are dragged, and the curves that are fitted to them.
{
const HALF = 2, GRID = 161, LEVELS = [0.1, 0.5, 0.9], COVERAGE = 0.9, MOST = 300;
const board = $("points"), canvas = $("curves");
const grid = Array.from({length: GRID}, (_, i) => -HALF + 2 * HALF * i / (GRID - 1));
const beyond = Array.from({length: 221}, (_, i) => -HALF + (series.END + HALF) * i / 220);  // the grid of a series
let points = [], buttons = [], held = null, plot = null;

// A wave whose noise grows to the right.
function sample(count) {
  const next = numbers(7 + count);
  return Array.from({length: count}, () => {
    const x = -1.95 + 3.9 * next(), noise = next() + next() + next() - 1.5;
    return [x, Math.sin(2.2 * x) + 0.35 * (1 + 0.5 * x) * noise];
  });
}

// mean, deviation, low, high; huber; quantiles: each (m), those that are wanted.
function fitCurve(s, components, wanted) {
  return withMemory(({put, room, take}) => {
    const n = points.length, X = put(points.map(p => p[0])), Y = put(points.map(p => p[1])), to = put(grid);
    const squared = wanted.squared ? room(4 * GRID) : 0, huber = wanted.huber ? room(GRID) : 0;
    const quantiles = wanted.quantiles ? room(LEVELS.length * GRID) : 0, start = performance.now();
    wasm._fit_curve(s.width, components, s.alpha, n, X, Y, GRID, to, COVERAGE, squared, s.kappa, huber, LEVELS.length,
      put(LEVELS), quantiles);
    const found = {took: performance.now() - start}, part = (at, k) => take(at + 8 * GRID * k, GRID);
    if (squared) ["mean", "deviation", "low", "high"].forEach((name, k) => { found[name] = part(squared, k); });
    if (huber) found.huber = part(huber, 0);
    if (quantiles) found.quantiles = LEVELS.map((_, k) => part(quantiles, k));
    return found;
  });
}

// The value of a curve at x, and how many points are below it.
function at(curve, x) {
  const t = (x + HALF) / (2 * HALF) * (GRID - 1), i = Math.max(0, Math.min(GRID - 2, Math.floor(t)));
  return curve[i] + (t - i) * (curve[i + 1] - curve[i]);
}
const below = curve => points.filter(p => p[1] < at(curve, p[0])).length;

function update() {
  const s = settings("curve");
  showNumbers("curve");
  $("of-curves").hidden = s.task === "series";
  $("of-series").hidden = s.task !== "series";
  board.classList.toggle("series", s.task === "series");
  if (s.task === "series") return updateSeries(s);
  $("spectrum").hidden = true;
  const enough = points.length >= 3, found = enough ? fitCurve(s, s.components, s) : null;
  const exact = enough && s.components ? fitCurve(s, 0, {squared: s.squared, huber: !s.squared && s.huber}) : null;
  if (found && s.band === "deviation" && s.squared) {
    found.low = found.mean.map((f, i) => f - found.deviation[i]);
    found.high = found.mean.map((f, i) => f + found.deviation[i]);
  }
  draw(s, found, exact);
  say(s, found, exact);
}

// While a point is dragged the mixture stays, and its forecast follows.
function updateSeries(s) {
  const why = series.why(points), kept = held !== null && series.model;
  const took = why || kept ? undefined : series.learn(points, s), found = why ? null : series.forecast(points, beyond);
  plot = new Plot(canvas, {from: -2.05, to: series.END + 0.05, ticks: [-2, -1, 0, 1, 2, 3], name: "x"},
    {from: -2.05, to: 2.05, ticks: [-2, -1, 0, 1, 2], name: "y"});
  $("spectrum").hidden = !found;
  if (found) {
    const ends = sign => found.mean.map((f, i) => f + sign * 1.645 * found.deviation[i]);
    plot.band(beyond, ends(-1), ends(1), "band");
    const last = Math.max(...points.map(p => p[0]));
    plot.line([last, last], [-2.05, 2.05], "soft", 1.5, [3, 4]);
    plot.line(beyond, found.mean, "blue", 2.5);
    series.drawSpectrum();
  }
  placeButtons();
  told("curve", why || series.words(points, found, beyond, took), found ? found.took : undefined);
}

function draw(s, found, exact) {
  const ticks = [-2, -1, 0, 1, 2];
  plot = new Plot(canvas, {from: -2.05, to: 2.05, ticks, name: "x"}, {from: -2.05, to: 2.05, ticks, name: "y"});
  if (found) {
    if (found.mean) plot.band(grid, found.low, found.high, "band");
    const reference = exact && (exact.mean || exact.huber);
    if (reference) plot.line(grid, reference, "soft", 2, [3, 4]);
    if (found.quantiles) found.quantiles.forEach((q, k) => plot.line(grid, q, "green", k === 1 ? 2.5 : 1.5, [8, 3]));
    if (found.mean) plot.line(grid, found.mean, "blue", 2.5);
    if (found.huber) plot.line(grid, found.huber, "orange", 2.5);
  }
  placeButtons();
}

function placeButtons() {
  while (buttons.length > points.length) buttons.pop().remove();
  while (buttons.length < points.length) buttons.push(newButton(buttons.length));
  points.forEach(([x, y], i) => {
    buttons[i].style.left = plot.px(x) + "px";
    buttons[i].style.top = plot.py(y) + "px";
    buttons[i].setAttribute("aria-label", `point ${i + 1} at ${x.toFixed(2)}, ${y.toFixed(2)}`);
  });
}

function say(s, found, exact) {
  if (!found) return told("curve", "Three points or more make a curve: click where they are, or take 40 points.");
  const n = points.length, words = [`${n} points.`];
  if (found.mean) {
    const inside = points.filter(([x, y]) => y >= at(found.low, x) && y <= at(found.high, x)).length;
    const what = s.band === "interval" ? "the 90 % interval" : "a standard deviation about the mean";
    words.push(Number.isFinite(found.low[0]) ?
      `${inside} of them, ${Math.round(100 * inside / n)} %, are inside ${what}.` :
      "They are too few for a 90 % interval: nine are needed.");
  }
  if (found.mean && found.huber) {
    const apart = found.mean.map((f, i) => Math.abs(f - found.huber[i])), most = Math.max(...apart);
    const where = grid[apart.indexOf(most)].toFixed(1);
    words.push(most < 0.05 ? "The squared and Huber's loss agree." :
      `The squared and Huber's loss are ${most.toFixed(2)} apart at x = ${where}: far points count less in Huber's.`);
  }
  if (found.quantiles) {
    const counts = found.quantiles.map(below).map(count => Math.round(100 * count / n));
    words.push(`Below the quantile curves are ${counts[0]}, ${counts[1]} and ${counts[2]} % of the points.`);
  }
  const pair = exact && [[found.mean, exact.mean], [found.huber, exact.huber]].find(([a, b]) => a && b);
  if (pair) {
    const off = Math.max(...pair[0].map((f, i) => Math.abs(f - pair[1][i])));
    words.push(`With ${s.components} features the curve is at most ${off.toFixed(off < 0.1 ? 3 : 2)} away from the ` +
      "exact one, which is dotted.");
  }
  told("curve", words.join(" "), found.took);
}

const within = v => Math.max(-HALF, Math.min(HALF, v));
function place(event) {
  const box = canvas.getBoundingClientRect();
  return plot.back(event.clientX - box.left, event.clientY - box.top).map(within);
}
function newButton(i) {
  const button = document.createElement("button");
  button.addEventListener("pointerdown", event => {
    held = i;
    if (event.isTrusted) button.setPointerCapture(event.pointerId);
    event.stopPropagation();
  });
  button.addEventListener("pointermove", event => {
    if (held !== i) return;
    points[i] = place(event);
    update();
  });
  for (const end of ["pointerup", "pointercancel"]) {
    button.addEventListener(end, () => {
      held = null;
      if (settings("curve").task === "series") update();
    });
  }
  button.addEventListener("keydown", event => {
    const far = event.shiftKey ? 0.25 : 0.05;
    const step = {ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, far], ArrowDown: [0, -far]}[event.key];
    if (step) points[i] = [within(points[i][0] + step[0]), within(points[i][1] + step[1])];
    else if (event.key === "Delete" || event.key === "Backspace") points.splice(i, 1);
    else return;
    event.preventDefault();
    update();
    if (!step && points.length) buttons[Math.min(i, points.length - 1)].focus();
  });
  return board.appendChild(button);
}
function add(point) {
  if (points.length >= MOST) return;
  points.push(point);
  update();
}

canvas.addEventListener("pointerdown", event => add(place(event)));
$("point").addEventListener("click", () => {
  add([0, 0]);
  buttons[buttons.length - 1].focus();
});
// Where the curve is low, far above it, and the other way round.
$("outlier").addEventListener("click", () => {
  const next = numbers(11 + points.length), x = -1.6 + 3.2 * next();
  add([x, Math.sin(2.2 * x) < 0 ? 1.6 + 0.3 * next() : -1.6 - 0.3 * next()]);
});
$("rhythms").addEventListener("click", () => {
  document.querySelector("input[name='curve.task'][value='series']").checked = true;
  points = series.sample();
  update();
});
$("few").addEventListener("click", () => { points = sample(40); update(); });
$("many").addEventListener("click", () => { points = sample(200); update(); });
$("no-points").addEventListener("click", () => { points = []; update(); });

tabs.curve = {
  update,
  save: () => writeRows(points),
  restore: text => {
    const read = () => readRows(text, 2, MOST).map(p => p.map(within));
    const curve = () => [...sample(40), [0.6, -1.7], [0.8, -1.8]];
    const usual = () => settings("curve").task === "series" ? series.sample() : curve();
    points = text === null ? usual() : read();
  },
};
}
