#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the Debian packages of the tracked files (debian/control) into OUT, judges them by lintian, and lists them.
#
#   tools/deb.sh OUT
[ -n "${HONE_TOGETHER:-}" ] || exec "$(dirname "$0")/together.pl" "$0" "$@"	# an interrupt ends all of it
set -eu
cd "$(dirname "$0")/.."
out=$1
version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' debian/changelog)
rm -rf "$out"
mkdir -p "$out/hone-$version"
# not the inputs that fuzzers found: malformed programs that are in nobody's way but lintian's
git ls-files -z -- . ':!tests/fuzz/corpus' | xargs -0 cp -p --parents -t "$out/hone-$version"
# packages are built without a network
tools/uplot.sh "$out/hone-$version/npm/uplot/dist" || echo "deb: without uPlot, so the live page has time series as tables alone" >&2
cd "$out"
tar --sort=name --mtime="@$(git -C "$OLDPWD" log -1 --format=%ct)" --owner=0 --group=0 --mode=u=rwX,go=rX --exclude="hone-$version/debian" \
  -czf "hone_$version.orig.tar.gz" "hone-$version"
cd "hone-$version"
if ! dpkg-buildpackage -us -uc >"$out/build.log" 2>&1; then
  tail -n 40 "$out/build.log" >&2
  echo "deb: the packages were not built; the whole log: $out/build.log" >&2
  exit 1
fi
cd ..
# they are not for Debian's archive: they close no bug there, and nobody there writes to their maintainer
lintian --no-cfg --allow-root --suppress-tags initial-upload-closes-no-bugs,bogus-mail-host,bogus-mail-host-in-debian-changelog \
  --fail-on error,warning ./*.changes >lintian.log 2>&1 || { cat lintian.log >&2; exit 1; }
[ ! -s lintian.log ] || cat lintian.log
for deb in *.deb; do
  case $deb in *-dbgsym_*) continue ;; esac
  printf '%-40s %6s KiB  %s\n' "$(dpkg-deb -f "$deb" Package)" "$(($(stat -c %s "$deb") / 1024))" "$out/$deb"
done
