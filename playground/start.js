// start.js -- unpacks the library, and wires the tabs and their inputs.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
for (const name in tabs) {
  inputsOf(name).forEach(input => input.addEventListener("input", () => tabs[name].update()));
  $("tab-" + name).addEventListener("click", () => showTab(name));
  $("tab-" + name).addEventListener("keydown", event => {
    const names = Object.keys(tabs), step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    const next = names[(names.indexOf(name) + step + names.length) % names.length];
    showTab(next);
    $("tab-" + next).focus();
  });
}
addEventListener("resize", () => { if (wasm) tabs[shownTab()].update(); });
unpack(COMPRESSED).then(wasmBinary => makeCarmina({wasmBinary})).then(module => {
  wasm = module;
  restoreState();
  restoring = false;
  saveState();
  addEventListener("hashchange", restoreState);  // another address for the same page
});
