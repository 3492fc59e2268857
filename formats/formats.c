/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of formats. */
#include "formats/reading.h"

#define X(name) extern const struct format format_##name;
#include "formats/formats.tbl.h"
#undef X

const struct format *const formats[] = {
#define X(name) &format_##name,
#include "formats/formats.tbl.h"
#undef X
	NULL
};
