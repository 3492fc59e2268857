#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Debian packages, from their source to a diagnosis in a clean root:
#
#   1. builds them twice, at two places and under two time zones, locales and file modes, and compares the packages byte by byte;
#   2. makes a clean root (debootstrap, Debian 12) and installs them there with apt, which gets what they depend on, and nothing else;
#   3. looks whether what they installed is whole: programs, manual pages, completions, users, modules that their servers load;
#   4. runs their tests (debian/tests) in it, with nothing of this machine: a program is built against libhone-dev, traced and diagnosed;
#      and the demo, whose shop is built from their source, with their programs and modules;
#   5. upgrades them to packages with a later version, purges them, and looks what is left.
#
# For root. It needs the network for Debian's mirror (HONE_MIRROR), some 15 minutes, and 2 GB in TMPDIR. This machine stays as it is.
# HONE_BASE: a folder with the root that debootstrap has made before, which is copied.
#
#   tools/deb_check.sh FOLDER [built]		built: the packages are in FOLDER/one and FOLDER/two already
[ -n "${HONE_TOGETHER:-}" ] || exec "$(dirname "$0")/together.pl" "$0" "$@"	# an interrupt ends all of it
set -eu
here=$(realpath "$(dirname "$0")/..")
if [ -z "${HONE_ROOT:-}" ]; then
	mkdir -p "$1"
	out=$(realpath "$1")
	if [ "${2:-}" != built ]; then
		"$here/tools/deb.sh" "$out/one"
		(umask 027 && TZ=Pacific/Kiritimati LC_ALL=C "$here/tools/deb.sh" "$out/two" >/dev/null)
	fi
	n=0
	for deb in "$out"/one/*.deb; do
		cmp "$deb" "$out/two/$(basename "$deb")" || { echo "deb-check: $(basename "$deb") is not reproducible"; exit 1; }
		n=$((n + 1))
	done
	for source in "$out"/one/hone_*.orig.tar.gz "$out"/one/hone_*.debian.tar.xz; do
		cmp "$source" "$out/two/$(basename "$source")" || { echo "deb-check: $(basename "$source") is not reproducible"; exit 1; }
	done
	echo "ok: $n packages and their source are the same byte by byte when they are built again"
	[ -n "$(zcat "$out"/one/hone-*/build/controlplane/web/uplot.js.gz)" ] || { echo "deb-check: the live page has no uPlot, which npm brings"; exit 1; }
	echo "ok: the live page of the packages has uPlot"
	n=0
	while read -r elf; do
		readelf --wide --dyn-syms "$elf" | grep -q __stack_chk_fail || { echo "deb-check: ${elf##*/} has no stack protector"; exit 1; }
		readelf --wide --dynamic "$elf" | grep -q "FLAGS.*NOW" || { echo "deb-check: ${elf##*/} is not linked with -z now"; exit 1; }
		n=$((n + 1))
	done < <(find "$out"/one/hone-*/debian/*/usr -type f ! -path '*/debian/tmp/*' ! -path '*/debug/*' \
		-exec sh -c 'head -c 4 "$1" | grep -q ELF' - {} \; -print)
	[ $n -gt 0 ]
	echo "ok: $n programs and libraries have a stack protector and no lazy binding"
	HONE_ROOT=$(mktemp -d)
	export HONE_ROOT
	trap 'rm -rf --one-file-system "$HONE_ROOT"' EXIT
	unshare --mount --pid --ipc --uts --fork --kill-child --propagation private bash "$0" "$out"
	exit
fi

# ---- in namespaces of its own: what is mounted and started here ends with them --------
out=$1 R=$HONE_ROOT/root
if [ -n "${HONE_BASE:-}" ]; then
	cp -a "$HONE_BASE" "$R"
else
	debootstrap --variant=minbase bookworm "$R" "${HONE_MIRROR:-http://deb.debian.org/debian}" >"$out/debootstrap.log" 2>&1 ||
		{ tail -n 20 "$out/debootstrap.log"; exit 1; }
fi
mount --bind "$R" "$R"	# nodes of the demo need a mount at /
mount -t proc proc "$R/proc"
mount -t sysfs -o ro sysfs "$R/sys"
for at in dev run tmp; do mount -t tmpfs -o mode=1777 tmpfs "$R/$at"; done
mkdir "$R/dev/shm" "$R/run/lock"
mount -t tmpfs -o mode=1777 tmpfs "$R/dev/shm"
for at in null zero full random urandom tty; do touch "$R/dev/$at"; mount --bind "/dev/$at" "$R/dev/$at"; done
ln -s /proc/self/fd "$R/dev/fd"
ln -s fd/0 "$R/dev/stdin" && ln -s fd/1 "$R/dev/stdout" && ln -s fd/2 "$R/dev/stderr"
cp /etc/resolv.conf "$R/etc/resolv.conf"
for conf in /etc/apt/apt.conf /etc/apt/apt.conf.d/*proxy*; do [ ! -f "$conf" ] || cp "$conf" "$R$conf"; done
printf '#!/bin/sh\nexit 101\n' >"$R/usr/sbin/policy-rc.d"	# no package starts a service here
chmod 755 "$R/usr/sbin/policy-rc.d"
mkdir "$R/var/tmp/deb"
cp "$out"/one/*.deb "$R/var/tmp/deb"
rm -f "$R"/var/tmp/deb/*dbgsym*
dpkg-source --no-check -x "$out"/one/hone_*.dsc "$R/var/tmp/source" >"$out/source.log" 2>&1 || { cat "$out/source.log"; exit 1; }
rm -f "$R"/var/tmp/hone_*	# a copy of the archive
in_root() { chroot "$R" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
said() {	# WHAT COMMAND...: shows what the command said only if it fails
	local what=$1
	shift
	"$@" >"$out/said.log" 2>&1 || { tail -n 40 "$out/said.log"; echo "deb-check: failed: $what"; exit 1; }
	echo "ok: $what"
}
checked() { said "$1" in_root sh -euc "$2"; }

checked "a clean root of Debian $(cat "$R/etc/debian_version") has a list of packages" 'apt-get update -q'
in_root dpkg-query -W -f '${Package}\n' | sort >"$out/before.txt"
checked "apt installs all packages, with what they depend on and nothing recommended" \
	'apt-get install -qy --no-install-recommends /var/tmp/deb/*.deb'
in_root dpkg-query -W -f '${Package}\n' | sort | comm -13 "$out/before.txt" - >"$out/installed.txt"
echo "    $(wc -l <"$out/installed.txt") packages, of which Hone's are: $(cd "$R/var/tmp/deb" && for d in *.deb; do printf '%s ' "${d%%_*}"; done)"

# ---- what is installed --------------------------------------------------------------
checked "no file differs from its package" 'test -z "$(dpkg --verify $(dpkg-query -W -f "\${Package}\n" | grep hone) | tee /dev/stderr)"'
checked "each program starts, and knows its version" '
	for p in hone honed hone-agent hone-otel; do $p --version 2>/dev/null || $p -V; done'
checked "no library is missing" '
	for f in $(dpkg -L $(dpkg-query -W -f "\${Package}\n" | grep hone) | sort -u); do
		if [ -f "$f" ] && head -c 4 "$f" | grep -q ELF && ldd "$f" 2>&1 | grep "not found"; then echo "$f"; exit 1; fi
	done'
checked "each command of the packages has a manual page" '
	mkdir -p /var/tmp/man
	for d in /var/tmp/deb/*.deb; do dpkg-deb -c "$d" | sed -n "s,.* \./usr/share/man/man[0-9]/\(.*\)\.[0-9]\.gz.*,\1,p"; done | sort -u > /var/tmp/man/pages
	for d in /var/tmp/deb/*.deb; do dpkg-deb -c "$d" | sed -n "s,^-.* \./usr/s*bin/,,p"; done | sort -u > /var/tmp/man/programs
	test -s /var/tmp/man/programs && test -z "$(comm -23 /var/tmp/man/programs /var/tmp/man/pages)" || { comm -23 /var/tmp/man/programs /var/tmp/man/pages; exit 1; }'
checked "the completions of bash and zsh are where both look" '
	test -s /usr/share/bash-completion/completions/hone && ls /usr/share/zsh/vendor-completions/_hone*'
checked "the daemons have their users" 'getent passwd hone hone-below honed'
checked "nginx loads its module" 'nginx -t -g "load_module /usr/lib/hone/ngx_http_hone_module.so;"'
checked "configurations are as the daemons read them" 'honed -n && hone-agent -n'
checked "systemd finds no fault with their units" '
	said=$(systemd-analyze verify --man=no honed.service hone-agent.service hone-otel.service 2>&1) || echo "it ended with $?"
	echo "$said"; test -z "$said"'
checked "a daemon is stopped when its package is removed, and restarted by an upgrade" '
	for p in hone-controller:honed hone-agent:hone-agent hone-otel:hone-otel; do
		grep -q "deb-systemd-invoke stop .*${p#*:}.service" "/var/lib/dpkg/info/${p%:*}.prerm"
		grep -q "_dh_action=restart" "/var/lib/dpkg/info/${p%:*}.postinst"
	done'

# ---- what it does: as autopkgtest would, the tests of debian/tests/control ------------
tests=$(sed -n 's/^Tests: *//p' "$R/var/tmp/source/debian/tests/control")
needs=$(sed -n 's/^Depends: *//p' "$R/var/tmp/source/debian/tests/control" | tr ',\n' '  ')
checked "apt installs what the tests need" "apt-get install -qy --no-install-recommends $needs"
for t in $tests; do
	said "the test \"$t\"" unshare --net sh -c 'ip link set lo up 2>/dev/null; exec "$@"' - \
		chroot "$R" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 sh -c "cd /var/tmp/source && debian/tests/$t"
	sed -n '$s/^/    /p' "$out/said.log"
done

# ---- a later version, and what is left -----------------------------------------------
mkdir "$R/var/tmp/later"
later() {	# the same packages with a later version
	local deb to=$HONE_ROOT/later version
	version=$(dpkg-deb -f "$out"/one/hone_*.deb Version)
	for deb in "$R"/var/tmp/deb/*.deb; do
		rm -rf "$to"
		dpkg-deb -R "$deb" "$to" && sed -i "/^Version:/s/\$/+later/; s/(= $version)/(= $version+later)/g" "$to/DEBIAN/control" &&
			dpkg-deb -Znone -b "$to" "$R/var/tmp/later" || return 1
	done
}
said "the packages are made again with a later version" later
checked "apt upgrades them to it; data of honed stay" '
	echo data > /var/lib/hone/forest.db
	apt-get install -qy --no-install-recommends /var/tmp/later/*.deb
	for p in $(dpkg-query -W -f "\${Package}\n" | grep hone); do dpkg-query -W -f "\${Version} \${db:Status-Abbrev}\n" $p | grep "+later ii "; done
	grep -x data /var/lib/hone/forest.db && nginx -t -g "load_module /usr/lib/hone/ngx_http_hone_module.so;" && honed -n && hone-agent -n'
checked "apt removes them; data of honed stay" 'apt-get remove -qy $(dpkg-query -W -f "\${Package}\n" | grep hone); grep -x data /var/lib/hone/forest.db'
checked "apt purges them" 'apt-get purge -qy $(dpkg-query -W -f "\${Package}\n" | grep hone)'
checked "nothing of them is left but their users" '
	test -z "$(dpkg-query -W -f "\${Package} \${Status}\n" | grep hone | tee /dev/stderr)"
	left=$(find / /run /tmp /dev/shm -xdev \( -path /var/tmp/deb -o -path /var/tmp/later -o -path /var/tmp/source -o -path /var/tmp/man -o -path /var/log \) -prune -o -name "*hone*" ! -name "*phone*" -print)
	echo "$left"; test -z "$left"'
