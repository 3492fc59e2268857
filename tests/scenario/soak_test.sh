#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The soak in its short form (soak.sh): twenty seconds of load. `make soak` takes half an hour.
SOAK_SECONDS=20 exec bash "$(dirname "$0")/soak.sh"
