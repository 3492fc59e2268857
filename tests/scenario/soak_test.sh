#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The soak in its short form (soak.sh): half a minute of load. `make soak` takes half an hour.
SOAK_SECONDS=35 exec bash "$(dirname "$0")/soak.sh"
