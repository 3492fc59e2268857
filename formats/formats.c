/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of formats. */
#include <stdio.h>

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

const char *
formats_names(char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (const struct format *const *f = formats; *f != NULL && len < size; f++)
		len += (size_t)snprintf(out + len, size - len, "%s%s",
		    f == formats   ? ""
		    : f[1] == NULL ? " or "
				   : ", ",
		    (*f)->name);
	return out;
}
