#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the packages of `make deb` into a root of their own, which is this machine's below what they write there, and runs
# their test (debian/tests/diagnosis) in it. This machine stays as it is. For root.
#
#   tools/deb_try.sh FOLDER_OF_PACKAGES
[ -n "${HONE_TOGETHER:-}" ] || exec "$(dirname "$0")/together.pl" "$0" "$@"	# an interrupt ends all of it
set -eu
deb=$(realpath "$1")
if [ -z "${HONE_ROOT:-}" ]; then
	HONE_ROOT=$(mktemp -d)
	export HONE_ROOT
	trap 'rm -rf "$HONE_ROOT"' EXIT
	unshare --mount --pid --fork --net --propagation private bash "$0" "$@"
	exit
fi
R=$HONE_ROOT
mount -t tmpfs tmpfs "$R"
mkdir "$R/upper" "$R/work" "$R/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$R/upper,workdir=$R/work" "$R/root"
cd "$R/root"
for at in run dev/shm tmp; do mount -t tmpfs -o mode=1777 tmpfs "$R/root/$at"; done
mount -t proc proc "$R/root/proc"
for at in null zero random urandom tty; do mount --bind "/dev/$at" "$R/root/dev/$at" 2>/dev/null || { touch "$R/root/dev/$at"; mount --bind "/dev/$at" "$R/root/dev/$at"; }; done
mkdir -p run/lttng var/tmp/deb
cp "$deb"/*.deb var/tmp/deb
rm -f var/tmp/deb/*dbgsym*
cp "$deb"/hone-*/debian/tests/diagnosis var/tmp/deb
chroot . sh -c 'ip link set lo up; cd /var/tmp/deb; DEBIAN_FRONTEND=noninteractive dpkg -i ./*.deb > dpkg.log 2>&1 || { tail -n 20 dpkg.log; exit 1; }; ./diagnosis'
