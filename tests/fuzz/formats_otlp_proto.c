/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as OTLP in protobuf. */
#define FORMAT format_otlp_proto
#include "tests/fuzz/formats_format.h"
