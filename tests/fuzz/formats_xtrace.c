/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as X-Trace reports. */
#define FORMAT format_xtrace
#include "tests/fuzz/formats_format.h"
