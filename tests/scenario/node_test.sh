#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Nodes of the examples (examples/node.sh) in a root of its own, as a container has it and a chroot: the programs of a node see this
# root and not the machine's; a plain chroot, in which no nodes can be made, is told so at once.
. "$(dirname "$0")/lib.sh"
needs root lttng-sessiond nsenter setpriv chroot
own_node

D=$(mktemp -d -p /tmp)
end() {
	in_root stop "$D" n1 > /dev/null 2>&1
	umount --lazy "$D" && rmdir "$D"
}
trap end EXIT
mount -t tmpfs tmpfs "$D" || bail "no tmpfs"
R=$D/root
mkdir -p "$R"/{run/lttng,dev,tmp,proc,work} && mkdir -p "$R$D" && touch "$R/of_the_root"
for at in /usr /bin /sbin /lib /lib64 /etc /var; do
	if [ -L "$at" ]; then cp -P "$at" "$R"; elif [ -d "$at" ]; then mkdir "$R$at" && mount --rbind "$at" "$R$at"; fi
done
mount --rbind /dev "$R/dev" && mount --bind /proc "$R/proc" && mount --bind "$PWD" "$R/work" || bail "no root"

in_root() { chroot "$R" /bin/bash /work/examples/node.sh "$@"; }
said() { has "$1" < "$D/said"; }

start=$SECONDS
in_root start "$D" n1 > "$D/said" 2>&1
check "in a plain chroot no node is made" [ $? = 1 ]
check "the reason and the remedy are told" said "not a mount point.*mount --bind"
check "it is told within seconds" [ $((SECONDS - start)) -lt 10 ]

setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin examples/node.sh start "$D" n1 > "$D/said" 2>&1
check "without CAP_SYS_ADMIN, as in a container, no node is made" [ $? = 1 ]
check "that is told, too" said "CAP_SYS_ADMIN"

mount --rbind "$R" "$R" || bail "no bind mount"
check "in a root that is a mount a node starts" in_root start "$D" n1
check "a program of the node sees this root" in_root exec "$D" n1 test -e /of_the_root
check "the session daemon of the node answers" in_root exec "$D" n1 lttng -n list
check "the node has processes" eval '[ -n "$(in_root pids "$D" n1)" ]'
token=$(cat "$R$D/n1/token")
check "the node ends" in_root stop "$D" n1
check "no process of it is left" eval '[ -n "$token" ] && [ -z "$(grep -ls -- "$token " /proc/[0-9]*/mountinfo)" ]'
echo "1..$N"
exit $FAILED
