#!/usr/bin/env bash
# Compiles the playground for the browser and puts it into one page: playground/build.sh FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$1
mkdir -p "$out"
export NODE_PATH=/usr/share/nodejs  # Debian's acorn, whichever node it is
functions='["_fit_field","_malloc","_free"]'
em++ -std=c++20 -O3 -msimd128 -DNDEBUG -fno-rtti -Iinclude -isystem /usr/include/eigen3 \
  playground/field.cpp -o "$out/field.js" --no-entry -s MODULARIZE=1 -s EXPORT_NAME=makeField -s SINGLE_FILE=1 \
  -s ENVIRONMENT=web,node -s ALLOW_MEMORY_GROWTH=1 -s FILESYSTEM=0 -s EXPORTED_FUNCTIONS="$functions" \
  -s EXPORTED_RUNTIME_METHODS='["HEAPF64"]'
python3 - playground/page.html "$out" <<'PYTHON'
"""The page with the compiled fit in it: one file that needs no server."""
import pathlib
import sys

page, out = map(pathlib.Path, sys.argv[1:])
text, script = page.read_text(), (out / "field.js").read_text()
marker = "<!-- field.js -->"
assert text.count(marker) == 1
(out / "field.html").write_text(text.replace(marker, f"<script>{script}</script>"))
PYTHON
