#!/usr/bin/env bash
# Makes sure that Debian packages are there: installs those missing when it may, else names them and fails.
#   debian_packages.sh WANTED...    WANTED: a package, or command=package where any version on the PATH will do
set -euo pipefail

if ! command -v dpkg-query >/dev/null; then
  commands=() headers=()
  for wanted in "$@"; do
    if [[ $wanted != *=* ]]; then
      headers+=("$wanted")
    elif ! command -v "${wanted%%=*}" >/dev/null; then
      commands+=("${wanted%%=*}")
    fi
  done
  echo "This is not a Debian system: nothing is installed here, and what is found is used." >&2
  ((${#commands[@]} == 0)) || echo "  commands that were not found: ${commands[*]}" >&2
  ((${#headers[@]} == 0)) || echo "  packages that are needed, by Debian's names: ${headers[*]}" >&2
  exit 0
fi

missing=()
for wanted in "$@"; do
  package=${wanted##*=}
  if [[ $wanted == *=* ]] && command -v "${wanted%%=*}" >/dev/null; then
    continue
  fi
  if [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
    missing+=("$package")
  fi
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

if ((EUID == 0)); then
  as_root=()
elif command -v sudo >/dev/null && sudo --non-interactive true 2>/dev/null; then
  as_root=(sudo)
else
  echo "Missing Debian packages. Please have them installed, then try again:" >&2
  echo "  sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update --quiet
"${as_root[@]}" apt-get install --yes --quiet --no-install-recommends "${missing[@]}"
