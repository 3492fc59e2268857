# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the examples that build a program from Debian's source packages.
#
#   debian_source NAME DIR [VERSION]   unpacks the source package NAME (the newest of $suite, or VERSION) into DIR/source,
#                                      without Debian's own changes, unless it is there; 1 and the reason if it cannot

suite=bookworm

# apt-get has package lists of its own here, so that the machine's sources stay unchanged. It checks the tarball against
# Debian's signature itself.
debian_source() {
  local name=$1 dir=$2 version=${3:-}
  [ ! -d "$dir/source" ] || { echo "$name: the source is there: $dir/source"; return 0; }
  command -v apt-get >/dev/null || { echo "$name: the source comes from Debian by apt-get, which is not here" >&2; return 1; }
  mkdir -p "$dir/apt/lists/partial" "$dir/unpacked" && cd "$dir" || return 1
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" \
    >apt/sources.list
  echo "$name: fetching the source package $name${version:+ $version} of Debian $suite by apt-get"
  set -- -q -o Dir::Etc::sourcelist="$PWD/apt/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$PWD/apt/lists" -o APT::Sandbox::User="$(id -un)"
  { apt-get "$@" update && apt-get "$@" source --download-only --tar-only "$name${version:+=$version}"; } >apt/log 2>&1 ||
    { echo "$name: apt-get: $(tail -5 apt/log)" >&2; return 1; }
  tar -xf "$name"_*.orig.tar.* --strip-components=1 -C unpacked && mv unpacked source && rm -rf apt
}
