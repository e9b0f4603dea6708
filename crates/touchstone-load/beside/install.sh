#!/usr/bin/env bash
# Installs the generators that `compare.py` runs beside ours, each from its registry, into a folder: install.sh FOLDER
# What cannot be installed is named, and passed over. wrk is Debian's package; the others need cargo, go and python3.
set -uo pipefail
folder=$(realpath -m "${1:?the folder to install into}")
mkdir -p "$folder/bin"

try() { # NAME COMMAND…
  local name=$1
  shift
  if "$@" >"$folder/$name.log" 2>&1; then echo "installed: $name"; else echo "not installed: $name, see $folder/$name.log"; fi
}

command -v wrk >/dev/null || try wrk apt-get install -y -qq wrk
[ -x "$folder/bin/oha" ] || try oha cargo install oha --version 1.16.0 --locked --root "$folder" --no-default-features --features rustls
[ -x "$folder/bin/k6" ] || try k6 env GOBIN="$folder/bin" go install go.k6.io/k6@v1.8.1
[ -x "$folder/venv/bin/locust" ] || { python3 -m venv "$folder/venv" && try locust "$folder/venv/bin/pip" install --quiet locust==2.47.0; }
