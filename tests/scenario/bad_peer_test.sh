#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The bad peer in its short form (bad_peer.sh). `make bad-peer BAD_PEER_SECONDS=600` runs longer.
BAD_PEER_SECONDS=10 exec bash "$(dirname "$0")/bad_peer.sh"
