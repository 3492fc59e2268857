#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# uPlot, which draws time series on honed's page: from npm/uplot/dist, which a source package has, else as npm/uplot/package-lock.json pins it
# (tools/otel_clients.sh).
#
#	tools/uplot.sh JS CSS	writes its script and its style by gzip, for the program that has them inside (controlplane/web/web_files.c).
#				Where it is in neither place both are empty, and a line says so: then the page has time series as tables alone.
#				HONE_OFFLINE: only npm/uplot/dist is asked, as in the build of a package, which has no network
#	tools/uplot.sh FOLDER	copies it there, for a source package; exit 1: it is not there
set -eu
export npm_config_fetch_retries=0 npm_config_fetch_timeout=20000 NPM_S=60	# behind a network that drops packets a build goes on soon
source=$(dirname "$0")/../npm/uplot
from=$source/dist
[ -e "$from/uPlot.iife.js" ] || {
  why="npm is missing or has not got uPlot"
  [ -z "${HONE_OFFLINE:-}" ] || why="npm/uplot/dist is not there, and nothing is fetched here"
  [ -z "${HONE_OFFLINE:-}" ] && got=$("$(dirname "$0")/otel_clients.sh" "$source") && from=$got/node_modules/uplot/dist || from=
}
if [ $# = 1 ]; then
  [ -n "$from" ] || exit 1
  mkdir -p "$1"
  cp "$from/uPlot.iife.js" "$from/../LICENSE" "$1"
  sed 's/}/}\n/g' "$from/uPlot.min.css" > "$1/uPlot.min.css"
  exit 0
fi
mkdir -p "$(dirname "$1")"
if [ -z "$from" ]; then
  echo "uplot: the page of honed has time series as tables alone, since $why; to try again: rm $1" >&2
  : | gzip -9n > "$2"
  : | gzip -9n > "$1"
  exit 0
fi
# Without the blanks that lines begin with, and lines that are comments: no text of it has several lines.
sed -E 's/^[[:blank:]]+//; s|^//.*||' "$from/uPlot.iife.js" | sed '/^$/d' | gzip -9n > "$1"
tr -d '\n' < "$from/uPlot.min.css" | gzip -9n > "$2"
