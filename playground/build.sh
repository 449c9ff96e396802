#!/usr/bin/env bash
# Compiles the playground for the browser and puts it into one page: playground/build.sh FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$1
mkdir -p "$out"
make --no-print-directory --jobs="${JOBS:-$(nproc)}" --file playground/core.mk OUT="$out/compiled"
python3 playground/join.py playground/page.html "$out/compiled" "$out/playground.html"
