/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as OTLP in JSON. */
#define FORMAT format_otlp_json
#include "tests/fuzz/formats_format.h"
