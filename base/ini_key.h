/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One key of a configuration (base/ini.h): its name, its type, its limits, and where its value is. */
#ifndef BASE_INI_KEY_H
#define BASE_INI_KEY_H

#include <stddef.h>

enum ini_type {
	INI_TEXT,  /* char *, owned by the configuration */
	INI_COUNT, /* int64_t, a whole number */
	INI_TIME,  /* int64_t in ns; written with ns, us, ms, s, min, h */
	INI_BYTES, /* int64_t; written with B, KiB, MiB, GiB */
	INI_SHARE, /* double; 1 is all; written as 10% or 0.1 */
	INI_BOOL,  /* int, 0 or 1; written as yes, no */
};

struct ini_key {
	const char *section, *name;
	enum ini_type type;
	size_t offset;        /* of the value in the configuration struct */
	const char *fallback; /* the default, written as in a file; NULL is "" */
	double min, max;      /* of numbers, in the unit of the value; both 0: no limits */
	const char *help;     /* one sentence */
};

#endif
