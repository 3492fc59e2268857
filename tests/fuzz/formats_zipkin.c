/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as Zipkin's JSON. */
#define FORMAT format_zipkin
#include "tests/fuzz/formats_format.h"
