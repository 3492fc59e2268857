#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every part of a node killed at a few moments each; see matrix.py, which `make kill-matrix` runs for many.
# O: the folder that `make matrix-scenario` built. MOMENTS, NODES, SEED: 6 of each kind, on 8 nodes in parallel, 1.
. "$(dirname "$0")/lib.sh"
needs root python3 lttng lttng-sessiond
echo 1..1
check "every combination of processes that are killed or stopped keeps the promises of docs/reliability.md" tests/scenario/matrix.py --moments "${MOMENTS:-6}" \
	--nodes "${NODES:-8}" --seed "${SEED:-1}" --suspend 6
exit $FAILED
