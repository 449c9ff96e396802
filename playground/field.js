// field.js -- arrows in the plane and the vector field that is learnt from them.
{
const GRID = 21, HALF = 2, LENGTH = 0.35;  // points each way, half of the plane's width, a unit arrow's length on it
const EXAMPLE = [
  [-1.2, -0.2, 0.9, 0.9], [-0.6, 0.4, 1.1, 0.3], [0, 0.7, 1, -0.5], [0.7, 0.4, 0.5, -1.1], [1.1, -0.3, -0.4, -1.2],
  [0.5, -0.9, -1.1, -0.5], [-0.3, -1.1, -1, 0.4], [-1, -0.9, -0.3, 1], [1.5, 1.4, -0.5, -0.4], [-1.5, 1.4, 0.4, -0.5]];
const plane = $("plane");
let arrows = [], drawn = null, cross = [0, 0], field = null, pen = null;

const grid = Array.from({length: GRID * GRID}, (_, i) =>
  [-HALF + 2 * HALF * (i % GRID) / (GRID - 1), -HALF + 2 * HALF * Math.floor(i / GRID) / (GRID - 1)]);
const pixel = ([x, y]) =>
  [(x + HALF * 1.05) / (2.1 * HALF) * plane.clientWidth, (HALF * 1.05 - y) / (2.1 * HALF) * plane.clientHeight];

// gradient and flow (m, 2), deviation (m) at the places `at`; null where there is nothing to fit.
function fitField(seen, at, s, components) {
  if (seen.length === 0) return null;
  return withMemory(({put, room, take}) => {
    const n = seen.length, m = at.length;
    const weights = [s.kind === "flow" ? 0 : 1, s.kind === "gradient" ? 0 : 1];
    const X = put(seen.flatMap(a => [a[0], a[1]])), Y = put(seen.flatMap(a => [a[2], a[3]])), to = put(at.flat());
    const gradient = room(2 * m), flow = room(2 * m), deviation = room(m);
    const out = [gradient, flow, deviation];
    if (wasm._fit_field(...weights, s.width, components, s.alpha, n, X, Y, m, to, ...out)) return null;
    const parts = {gradient: take(gradient, 2 * m), flow: take(flow, 2 * m)};
    return {...parts, whole: parts.gradient.map((g, i) => g + parts.flow[i]), deviation: take(deviation, m)};
  });
}

function update() {
  const s = settings("field"), seen = drawn ? [...arrows, drawn] : arrows, start = performance.now();
  field = fitField(seen, grid, s, s.components);
  const took = performance.now() - start, exact = s.components ? fitField(seen, grid, s, 0) : null;
  showNumbers("field");
  draw(s, seen, exact);
  say(s, seen, exact, took);
}

function arrow([x, y, u, v], name, thick) {
  const [a, b] = pixel([x, y]), [c, d] = pixel([x + LENGTH * u, y + LENGTH * v]), long = Math.hypot(c - a, d - b);
  if (long < 1) return;
  const head = Math.min(9 * thick / 2, long / 1.6), ux = (c - a) / long, uy = (d - b) / long;
  pen.strokeStyle = pen.fillStyle = name;
  pen.lineWidth = thick;
  pen.beginPath(); pen.moveTo(a, b); pen.lineTo(c - head * ux, d - head * uy); pen.stroke();
  pen.beginPath(); pen.moveTo(c, d);
  pen.lineTo(c - head * (ux - uy / 2), d - head * (uy + ux / 2));
  pen.lineTo(c - head * (ux + uy / 2), d - head * (uy - ux / 2));
  pen.fill();
}
function fieldOfArrows(values, name, thick) {
  grid.forEach(([x, y], i) => arrow([x, y, 0.55 * values[2 * i], 0.55 * values[2 * i + 1]], name, thick));
}

function draw(s, seen, exact) {
  pen = penOf(plane);
  const thin = plane.clientWidth < 420 ? 1.3 : 1.7;
  if (field) {
    const most = Math.max(...field.deviation), half = HALF / (GRID - 1);
    grid.forEach(([u, v], i) => {
      const [left, bottom] = pixel([u - half, v - half]).map(Math.round);
      const [right, top] = pixel([u + half, v + half]).map(Math.round);
      pen.fillStyle = `rgba(125, 125, 125, ${0.45 * field.deviation[i] / most})`;
      pen.fillRect(left, top, right - left, bottom - top);
    });
    if (exact) fieldOfArrows(exact[s.show], colour("soft"), thin);
    fieldOfArrows(field[s.show], colour("blue"), thin);
  }
  seen.forEach(a => arrow(a, colour("orange"), 3));
  if (document.activeElement === plane) {
    const [x, y] = pixel(cross);
    pen.strokeStyle = colour("ink"); pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x - 9, y); pen.lineTo(x + 9, y);
    pen.moveTo(x, y - 9); pen.lineTo(x, y + 9);
    pen.stroke();
  }
}

function say(s, seen, exact, took) {
  if (!field) return told("field", "No arrows yet: draw one, or take the example.");
  const energy = values => values.reduce((sum, v) => sum + v * v, 0);
  const g = energy(field.gradient), f = energy(field.flow), share = Math.round(100 * g / (g + f || 1));
  const at = fitField(seen, seen.map(a => [a[0], a[1]]), s, s.components), wanted = seen.flatMap(a => [a[2], a[3]]);
  const missed = Math.sqrt(energy(wanted.map((v, i) => at.whole[i] - v)) / (energy(wanted) || 1));
  const fits = missed < 0.1 ? "goes through the arrows" : missed < 0.4 ? "follows the arrows roughly" :
    "cannot follow these arrows";
  const is = {
    both: `${share} % of its energy is a gradient, ${100 - share} % a flow without sources.`,
    gradient: "It is a gradient: nothing turns in a circle.",
    flow: "It has no sources or sinks: what flows in flows out.",
  };
  const off = exact && Math.sqrt(energy(field.whole.map((v, i) => v - exact.whole[i])) / (energy(exact.whole) || 1));
  const beside = exact ? ` With ${s.components} features it is ${Math.round(100 * off)} % of its length away from ` +
    "the exact one, which is grey." : "";
  const count = `${seen.length} ${seen.length === 1 ? "arrow" : "arrows"}`, part = Math.round(100 * missed);
  told("field", `${count}. The field ${fits}: it misses ${part} % of their length. ${is[s.kind]}${beside}`, took);
}

const inside = v => Math.max(-HALF, Math.min(HALF, v));
function place(event) {
  const box = plane.getBoundingClientRect();
  const x = (event.clientX - box.left) / box.width - 0.5, y = 0.5 - (event.clientY - box.top) / box.height;
  return [inside(2.1 * HALF * x), inside(2.1 * HALF * y)];
}
function pull([x, y]) {
  drawn = [drawn[0], drawn[1], (x - drawn[0]) / LENGTH, (y - drawn[1]) / LENGTH];
  update();
}
function finish() {
  if (drawn && Math.hypot(drawn[2], drawn[3]) > 0.15) arrows.push(drawn);
  drawn = null;
  update();
}

plane.addEventListener("pointerdown", event => {
  if (event.isTrusted) plane.setPointerCapture(event.pointerId);
  drawn = [...place(event), 0, 0];
});
plane.addEventListener("pointermove", event => { if (drawn) pull(place(event)); });
plane.addEventListener("pointerup", finish);
plane.addEventListener("pointercancel", () => { drawn = null; update(); });
plane.addEventListener("focus", update);
plane.addEventListener("blur", update);
plane.addEventListener("keydown", event => {
  const step = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1]}[event.key];
  if (step) {
    cross = [inside(cross[0] + step[0]), inside(cross[1] + step[1])];
    if (drawn) pull(cross);
  } else if (event.key === "Enter") {
    if (drawn) finish(); else drawn = [...cross, 0, 0];
  } else if (event.key === "Escape") drawn = null;
  else if (event.key === "Delete" && arrows.length) {
    const far = a => Math.hypot(a[0] - cross[0], a[1] - cross[1]);
    arrows.splice(arrows.indexOf(arrows.reduce((a, b) => far(b) < far(a) ? b : a)), 1);
  } else return;
  event.preventDefault();
  update();
});
$("example").addEventListener("click", () => { arrows = EXAMPLE.map(a => [...a]); update(); });
$("undo").addEventListener("click", () => { arrows.pop(); update(); });
$("clear").addEventListener("click", () => { arrows = []; update(); });

tabs.field = {
  update,
  save: () => writeRows(arrows),
  restore: text => { arrows = text === null ? EXAMPLE.map(a => [...a]) : readRows(text, 4, 200); },
};
}
