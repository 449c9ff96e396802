// approximation.js -- a kernel, what Fourier features and a sub-sample of rows make of it, and what theorems promise.
{
const REACH = 2, GRID = 401, PROBABILITY = 0.95, MOST_ROWS = 128;
const KERNELS = {gaussian: ["Gaussian", 0], matern52: ["Matérn 5/2", 2.5], matern32: ["Matérn 3/2", 1.5],
  laplacian: ["Laplacian", 1]};
const SIZES = Array.from({length: 12}, (_, i) => 2 ** (i + 1));  // numbers of features of the lower plot
const grid = Array.from({length: GRID}, (_, i) => -REACH + 2 * REACH * i / (GRID - 1));
let errors = null, plot = null;

function estimate(s, components) {
  return withMemory(({put, room, take}) => {
    const exact = room(GRID), found = room(GRID);
    wasm._approximate_kernel(KERNELS[s.kernel][1], s.width, components, s.seed, GRID, put(grid), exact, found);
    return {exact: take(exact, GRID), estimate: take(found, GRID)};
  });
}
// Rows drawn evenly from the interval, by the seed: those of fewer are the first of more.
function fromRows(s, count) {
  const share = i => (0.137 * s.seed + (i + 1) * 0.6180339887) % 1;
  const rows = Array.from({length: count}, (_, i) => -REACH + 2 * REACH * share(i));
  return withMemory(({put, room, take}) => {
    const found = room(GRID);
    wasm._approximate_by_rows(KERNELS[s.kernel][1], s.width, count, put(rows), GRID, put(grid), found);
    return take(found, GRID);
  });
}
const largest = (a, b) => Math.max(...a.map((v, i) => Math.abs(v - b[i])));

// Errors at all sizes; they do not change with the slider of the features.
function measure(s) {
  const key = [s.kernel, s.width, s.seed, s.rows].join();
  if (errors && errors.key === key) return;
  const nu = KERNELS[s.kernel][1], uniform = wasm._has_uniform_bound(nu), {exact} = estimate(s, 2);
  const bound = (D, all) => wasm._error_bound(nu, s.width, REACH, D, PROBABILITY, all);
  errors = {
    key, uniform, fourier: SIZES.map(D => largest(estimate(s, D).estimate, exact)),
    all: uniform ? SIZES.map(D => bound(D, 1)) : null, one: SIZES.map(D => bound(D, 0)),
    rows: s.rows ? SIZES.filter(D => D <= MOST_ROWS).map(D => Math.max(1e-6, largest(fromRows(s, D), exact))) : null,
  };
}

const digits = v => v.toFixed(v < 0.01 ? 4 : v < 0.1 ? 3 : 2);
function update() {
  const s = settings("approximation"), nu = KERNELS[s.kernel][1], start = performance.now();
  showNumbers("approximation");
  const {exact, estimate: found} = estimate(s, s.features), took = performance.now() - start;
  const rows = s.rows ? fromRows(s, Math.min(MOST_ROWS, s.features)) : null, off = largest(found, exact);
  measure(s);
  const promised = wasm._error_bound(nu, s.width, REACH, s.features, PROBABILITY, errors.uniform);
  const one = wasm._error_bound(nu, s.width, REACH, s.features, PROBABILITY, 0);
  drawKernel(exact, found, rows, one);
  drawErrors(s, off);
  const name = KERNELS[s.kernel][0], frequencies = s.features / 2;
  const words = [`${s.features} features, ${frequencies} ${frequencies === 1 ? "frequency" : "frequencies"}: the ` +
    `estimate of the ${name} kernel is off by at most ${digits(off)}, for rows up to ${REACH} apart.`];
  if (errors.uniform) {
    words.push(`The theorem promises ${digits(promised)} for all such pairs at once, ` + (promised < 1 ?
      `with a probability of 95 %: ${(promised / off).toFixed(1)} times what is seen.` :
      "which says nothing of a kernel of at most 1."));
  } else {
    words.push("Its frequencies have no second moment: no theorem holds for all pairs at once. For any one pair the " +
      `error is below ${digits(promised)} with a probability of 95 %.`);
  }
  words.push(`The error falls with the root of the number: ${4 * s.features} would about halve it.`);
  if (rows) {
    const count = Math.min(MOST_ROWS, s.features);
    words.push(`A sub-sample of ${count} rows is off by ${digits(largest(rows, exact))}: it knows where the rows are.`);
  }
  told("approximation", words.join(" "));
  $("approximation-words").dataset.milliseconds = took;
  $("approximation-words").dataset.error = off;
}

const dashed = [4, 4];
function drawKernel(exact, found, rows, one) {
  const legend = [["exact", "ink", [6, 4]], ["features", "blue"], ["bound, one pair", "orange", dashed],
    ...(rows ? [["rows", "green"]] : [])];
  const plot = new Plot($("kernel-plot"), {from: -REACH, to: REACH, ticks: [-2, -1, 0, 1, 2], name: "x − z"},
    {from: -0.7, to: 1.3, ticks: [-0.5, 0, 0.5, 1], name: "kernel"}, legend);
  for (const sign of [-1, 1]) plot.line(grid, exact.map(v => v + sign * one), "orange", 1.5, dashed);
  plot.line(grid, exact, "ink", 2.5, [6, 4]);
  if (rows) plot.line(grid, rows, "green");
  plot.line(grid, found, "blue", 2);
}

function drawErrors(s, off) {
  const top = Math.max(10, ...(errors.all || errors.one).filter(Number.isFinite).map(v => Math.min(v, 30)));
  const legend = [["features, seen", "blue"], ["bound, one pair", "orange", dashed],
    ...(errors.all ? [["bound, all pairs", "orange"]] : []), ...(errors.rows ? [["rows, seen", "green"]] : [])];
  plot = new Plot($("error-plot"),
    {from: 1.8, to: 5000, log: true, ticks: [2, 8, 32, 128, 512, 2048], name: "features"},
    {from: 0.004, to: top, log: true, ticks: [0.01, 0.1, 1, 10], name: "largest error"}, legend);
  if (errors.all) plot.line(SIZES, errors.all, "orange", 2);
  plot.line(SIZES, errors.one, "orange", 2, dashed);
  plot.line(SIZES, errors.fourier, "blue");
  plot.dots(SIZES, errors.fourier, "blue");
  if (errors.rows) plot.line(SIZES.slice(0, errors.rows.length), errors.rows, "green");
  plot.dots([s.features], [off], "ink", 6);
}

// The lower plot chooses the number of features too.
function choose(event) {
  if (!plot || !(event.buttons || event.type === "pointerdown")) return;
  const box = $("error-plot").getBoundingClientRect();
  const input = inputsOf("approximation").find(i => /features$/.test(i.name));
  input.value = Math.log2(plot.back(event.clientX - box.left, 0)[0]);
  update();
}
for (const type of ["pointerdown", "pointermove"]) $("error-plot").addEventListener(type, choose);
$("again").addEventListener("click", () => {
  const seed = inputsOf("approximation").find(i => /seed$/.test(i.name));
  seed.value = (+seed.value + 1) % 51;
  update();
});
tabs.approximation = {update};
}
