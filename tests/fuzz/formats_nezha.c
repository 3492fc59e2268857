/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the CSV of the Nezha set. */
#define FORMAT format_nezha
#include "tests/fuzz/formats_format.h"
