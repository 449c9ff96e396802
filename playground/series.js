// series.js -- points as a series: a spectral mixture is learnt from it and continues it; its spectrum.
const series = {
  LEAST: 10, LEARNT: 64, END: 3.5, TRENDS: {none: 0, linear: 1, automatic: 2}, model: null,

  // Two rhythms, a slope, a little noise.
  sample: () => {
    const next = numbers(5);
    return Array.from({length: 60}, (_, i) => {
      const x = -1.95 + 3.9 * i / 59, noise = next() + next() + next() - 1.5;
      const turn = 2 * Math.PI * x;
      return [x, 0.2 * x + 0.75 * Math.sin(turn / 0.9) + 0.35 * Math.cos(turn / 0.37) + 0.1 * noise];
    });
  },
  why: points => {
    if (points.length < series.LEAST) {
      return `A series has ${series.LEAST} points or more: click where they are, or take one.`;
    }
    const xs = points.map(p => p[0]);
    return Math.max(...xs) - Math.min(...xs) < 0.2 ? "A series goes on in x: these points are above each other." : "";
  },

  learn: (points, s) => withMemory(({put, room, take}) => {
    const Q = s.mixtures, found = room(3 * Q + 2), start = performance.now();
    wasm._learn_series(points.length, put(points.map(p => p[0])), put(points.map(p => p[1])), Q, series.TRENDS[s.trend],
      series.LEARNT, found);
    const all = take(found, 3 * Q + 2), part = k => all.slice(k * Q, (k + 1) * Q);
    series.model = {weights: part(0), means: part(1), scales: part(2), noise: all[3 * Q], line: all[3 * Q + 1]};
    return performance.now() - start;
  }),
  forecast: (points, grid) => withMemory(({put, room, take}) => {
    const m = grid.length, mean = room(m), deviation = room(m), start = performance.now();
    wasm._forecast_series(points.length, put(points.map(p => p[0])), put(points.map(p => p[1])), m, put(grid), mean,
      deviation);
    return {took: performance.now() - start, mean: take(mean, m), deviation: take(deviation, m)};
  }),

  // Both signs of a frequency are one.
  density: f => {
    const {weights, means, scales} = series.model;
    return weights.reduce((sum, w, q) => sum + [-1, 1].reduce((both, sign) => both +
      w * Math.exp(-(((f - sign * means[q]) / scales[q]) ** 2) / 2) / scales[q] / Math.sqrt(2 * Math.PI), 0), 0);
  },
  drawSpectrum: () => {
    const {means, scales} = series.model;
    const most = Math.max(1, ...means.map((m, q) => Math.abs(m) + 3 * Math.min(scales[q], 1)));
    const to = Math.min(6, Math.ceil(most + 0.2)), at = Array.from({length: 601}, (_, i) => to * i / 600);
    means.forEach(m => { if (Math.abs(m) < to) at.push(Math.abs(m)); });
    at.sort((a, b) => a - b);
    const density = at.map(series.density), top = 10 ** Math.ceil(Math.log10(Math.max(...density)));
    const ticks = Array.from({length: to + 1}, (_, i) => i);
    const powers = [0, 2, 4].map(k => +(top / 10 ** k).toPrecision(1));
    const plot = new Plot($("spectrum"), {from: 0, to, ticks, name: "frequency: cycles in 1 of x"},
      {from: top / 1e5, to: top, ticks: powers, name: "density", log: true},
      [["spectral density", "blue"], ["means of the components", "soft", [3, 4]]]);
    means.forEach(m => plot.line([Math.abs(m), Math.abs(m)], [top / 1e5, top], "soft", 1.5, [3, 4]));
    plot.line(at, density.map(v => Math.max(v, top / 1e6)), "blue", 2.5);
  },
  words: (points, found, grid, took) => {
    const {weights, means, scales, noise, line} = series.model, last = Math.max(...points.map(p => p[0]));
    const rhythms = weights.map((w, q) => [w, 1 / Math.abs(means[q]), scales[q]]).filter(([, period, scale]) =>
      period < 2 && scale * period < 0.5).sort((a, b) => b[0] - a[0]).slice(0, 2);
    const nearest = x => grid.reduce((best, g, i) => Math.abs(g - x) < Math.abs(grid[best] - x) ? i : best, 0);
    const deviationAt = x => found.deviation[nearest(x)];
    const said = [`${points.length} points.`];
    said.push(rhythms.length ? `It repeats itself each ${rhythms.map(r => r[1].toFixed(2)).join(" and each ")} of x.` :
      "No rhythm stands out.");
    said.push(`A line beside it has ${Math.round(100 * line)} % of the evidence.`);
    said.push(`The noise has a deviation of ${Math.sqrt(noise).toFixed(2)}; a forecast of the next point one of ` +
      `${deviationAt(last + 0.05).toFixed(2)}, at the end one of ${found.deviation[grid.length - 1].toFixed(2)}.`);
    said.push(took === undefined ? "The mixture is learnt anew when you let go." : `Learnt in ${took.toFixed(0)} ms.`);
    return said.join(" ");
  },
};
