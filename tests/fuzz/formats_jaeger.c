/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as Jaeger's JSON. */
#define FORMAT format_jaeger
#include "tests/fuzz/formats_format.h"
