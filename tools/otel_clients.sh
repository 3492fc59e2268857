#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the packages of FOLDER/package-lock.json (tests/scenario/otel) into a cache folder, once for each state of that file, and
# prints the folder. Exit 1: they are not there and cannot be fetched.
set -eu
from=$(cd "${1:-$(dirname "$0")/../tests/scenario/otel}" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/hone/${from##*/}-$(sha256sum "$from/package-lock.json" | cut -c 1-16)
if [ ! -e "$cache/done" ]; then
  command -v npm >/dev/null 2>&1 || { echo "otel_clients: npm is not installed" >&2; exit 1; }
  mkdir -p "$cache"
  cp "$from/package.json" "$from/package-lock.json" "$cache"
  (cd "$cache" && timeout "${NPM_S:-300}" npm ci --ignore-scripts --no-audit --no-fund) >"$cache/log" 2>&1 || {
    echo "otel_clients: npm ci failed:" >&2
    tail -n 5 "$cache/log" >&2
    exit 1
  }
  touch "$cache/done"
fi
echo "$cache"
