/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formats of `hone export`, by name. */
#ifndef CLI_EXPORT_EXPORT_FORMATS_H
#define CLI_EXPORT_EXPORT_FORMATS_H

#include "cli/export/sink.h"

struct export_format {
	const char *name;
	int (*open)(struct export_sink **ret, FILE *to, struct err *e);
};

extern const struct export_format export_formats[]; /* its last name is NULL */

const struct export_format *export_format(const char *name); /* or NULL */

#endif
