// common.js -- the compiled library's memory, inputs and their state in the address, and plots.
const $ = id => document.getElementById(id);
const tabs = {};  // by name: {update, save and restore of what is no input, resized}
let wasm = null, restoring = true;

// Calls body with put(values), room(count) and take(at, count) of doubles in the library's memory, freed after it.
function withMemory(body) {
  const all = [], room = count => {
    all.push(wasm._malloc(8 * Math.max(1, count)));
    return all[all.length - 1];
  };
  const put = values => {
    const at = room(values.length);
    wasm.HEAPF64.set(values, at / 8);
    return at;
  };
  const take = (at, count) => Array.from(wasm.HEAPF64.subarray(at / 8, at / 8 + count));
  try {
    return body({put, room, take});
  } finally {
    all.forEach(at => wasm._free(at));
  }
}

// Reproducible numbers, uniform in (0, 1).
function numbers(seed) {
  let state = seed;
  return () => (state = (1103515245 * state + 12345) % 2147483648, (state + 0.5) / 2147483648);
}

const inputsOf = name => [...$(name).querySelectorAll("input[name]")];
// Ranges with data-power are exponents; numbers of features are even.
function numberOf(input) {
  const power = +input.dataset.power;
  if (power === 2) return 2 * Math.round(2 ** +input.value / 2);
  return power ? power ** +input.value : +input.value;
}
// The settings of a tab by the last part of their names.
function settings(name) {
  const found = {};
  for (const input of inputsOf(name)) {
    const key = input.name.split(".")[1];
    if (input.type === "range") found[key] = numberOf(input);
    else if (input.type === "checkbox") found[key] = input.checked;
    else if (input.checked) found[key] = input.value;
  }
  found.components = found.map === "exact" ? 0 : found.features;
  return found;
}
function showNumbers(name) {
  for (const input of inputsOf(name).filter(i => i.type === "range")) {
    const value = numberOf(input), power = +input.dataset.power;
    const text = power === 10 ? value.toPrecision(2) : power || input.step === "1" ? String(value) : value.toFixed(2);
    input.parentElement.querySelector("output").value = text;
    input.setAttribute("aria-valuetext", text);
  }
  const exact = inputsOf(name).find(i => i.value === "exact");
  if (exact) inputsOf(name).find(i => /features$/.test(i.name)).disabled = exact.checked;
}

// ---- what the address holds: the tab that is shown, and of each tab its inputs and what was drawn.

function saveState() {
  if (restoring) return;
  const kept = new URLSearchParams({tab: shownTab()});
  for (const name in tabs) {
    for (const input of inputsOf(name)) {
      if (input.type === "checkbox") kept.set(input.name, input.checked ? "1" : "0");
      else if (input.type === "range" || input.checked) kept.set(input.name, input.value);
    }
    if (tabs[name].save) kept.set(name, tabs[name].save());
  }
  history.replaceState(null, "", "#" + kept);
}
function restoreState() {
  const kept = new URLSearchParams(location.hash.slice(1));
  for (const name in tabs) {
    for (const input of inputsOf(name)) {
      const value = kept.get(input.name);
      if (value === null) continue;
      if (input.type === "checkbox") input.checked = value === "1";
      else if (input.type === "range" && Number.isFinite(parseFloat(value))) input.value = value;
      else if (input.type === "radio" && input.value === value) input.checked = true;
    }
    if (tabs[name].restore) tabs[name].restore(kept.get(name));
  }
  showTab(kept.get("tab") in tabs ? kept.get("tab") : "field");
}
// "1,2;3,4" -> [[1, 2], [3, 4]]; rows that are no `width` numbers are left out, and so is what is beyond `most`.
function readRows(text, width, most) {
  const rows = (text || "").split(";").map(row => row.split(",").map(cell => cell === "" ? NaN : Number(cell)));
  return rows.filter(row => row.length === width && row.every(Number.isFinite)).slice(0, most);
}
const writeRows = rows => rows.map(row => row.map(v => +v.toFixed(2)).join(",")).join(";");

const shownTab = () => Object.keys(tabs).find(name => !$(name).hidden);
function showTab(name) {
  for (const other in tabs) {
    $(other).hidden = other !== name;
    $("tab-" + other).setAttribute("aria-selected", other === name);
    $("tab-" + other).tabIndex = other === name ? 0 : -1;
  }
  tabs[name].update();
}
// What was fitted is told at once, and kept in the address a little later: browsers limit how often it may change.
let waiting = null;
function told(name, words, milliseconds) {
  const place = $(name + "-words");
  place.textContent = words + (milliseconds === undefined ? "" : ` Fitted in ${milliseconds.toFixed(1)} ms.`);
  if (milliseconds !== undefined) place.dataset.milliseconds = milliseconds;
  clearTimeout(waiting);
  waiting = setTimeout(saveState, 150);
}

// ---- drawing

const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
// A pen for a canvas in units of the page, cleared.
function penOf(canvas) {
  const scale = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
    canvas.width = Math.round(w * scale);
    canvas.height = Math.round(h * scale);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.fillStyle = colour("paper");
  pen.fillRect(0, 0, w, h);
  pen.lineJoin = "round";
  return pen;
}

// Axes with their names; x and y are {from, to, ticks, name, log}. The legend stands above: [words, colour, dashes].
class Plot {
  constructor(canvas, x, y, legend = []) {
    Object.assign(this, {pen: penOf(canvas), x, y, left: 46});
    this.right = canvas.clientWidth - 8;
    this.bottom = canvas.clientHeight - 38;
    const pen = this.pen;
    pen.font = "13px system-ui, sans-serif";
    this.top = 8 + this.explain(legend);
    pen.lineWidth = 1;
    pen.textAlign = "center";
    for (const t of x.ticks) {
      pen.strokeStyle = colour("line");
      pen.fillStyle = colour("ink");
      this.segment([this.px(t), this.bottom], [this.px(t), this.bottom + 4]);
      pen.fillText(t, this.px(t), this.bottom + 17);
    }
    pen.fillText(x.name, (this.left + this.right) / 2, this.bottom + 33);
    pen.textAlign = "right";
    for (const t of y.ticks) {
      pen.fillText(t, this.left - 7, this.py(t) + 4);
      pen.globalAlpha = 0.45;
      this.segment([this.left, this.py(t)], [this.right, this.py(t)]);
      pen.globalAlpha = 1;
    }
    pen.save();
    pen.translate(12, (this.top + this.bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(y.name, 0, 0);
    pen.restore();
    pen.textAlign = "left";
  }
  static share(axis, v) {
    const to = axis.log ? Math.log : Number;
    return (to(v) - to(axis.from)) / (to(axis.to) - to(axis.from));
  }
  px(v) { return this.left + (this.right - this.left) * Plot.share(this.x, v); }
  py(v) { return this.bottom - (this.bottom - this.top) * Plot.share(this.y, v); }
  // The x of a place on the canvas, and its y.
  back(px, py) {
    const of = (axis, s) => axis.log ? axis.from * (axis.to / axis.from) ** s : axis.from + (axis.to - axis.from) * s;
    const right = (px - this.left) / (this.right - this.left), up = (this.bottom - py) / (this.bottom - this.top);
    return [of(this.x, right), of(this.y, up)];
  }
  segment(a, b) {
    this.pen.beginPath();
    this.pen.moveTo(...a);
    this.pen.lineTo(...b);
    this.pen.stroke();
  }
  inside(body) {
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(this.left, this.top, this.right - this.left, this.bottom - this.top);
    this.pen.clip();
    body(this.pen);
    this.pen.restore();
  }
  trace(xs, ys) { xs.forEach((x, i) => this.pen[i ? "lineTo" : "moveTo"](this.px(x), this.py(ys[i]))); }
  line(xs, ys, name, thick = 2, dashes = []) {
    this.inside(pen => {
      pen.strokeStyle = colour(name);
      pen.lineWidth = thick;
      pen.setLineDash(dashes);
      pen.beginPath();
      this.trace(xs, ys);
      pen.stroke();
    });
  }
  band(xs, low, high, name) {
    this.inside(pen => {
      pen.fillStyle = colour(name);
      pen.beginPath();
      this.trace(xs, low);
      [...xs].reverse().forEach((x, i) => pen.lineTo(this.px(x), this.py(high[xs.length - 1 - i])));
      pen.fill();
    });
  }
  dots(xs, ys, name, size = 3) {
    this.inside(pen => {
      pen.fillStyle = colour(name);
      xs.forEach((x, i) => {
        pen.beginPath();
        pen.arc(this.px(x), this.py(ys[i]), size, 0, 7);
        pen.fill();
      });
    });
  }
  // Returns how high it is.
  explain(legend) {
    const pen = this.pen;
    let x = this.left, y = 14;
    for (const [words, name, dashes] of legend) {
      const wide = pen.measureText(words).width + 50;
      if (x > this.left && x + wide > this.right + 18) [x, y] = [this.left, y + 18];
      pen.strokeStyle = colour(name);
      pen.lineWidth = 2;
      pen.setLineDash(dashes || []);
      this.segment([x, y - 4], [x + 26, y - 4]);
      pen.setLineDash([]);
      pen.fillStyle = colour("ink");
      pen.fillText(words, x + 32, y);
      x += wide;
    }
    return legend.length ? y - 2 : 0;
  }
}
