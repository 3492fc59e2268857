/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between format_ctf.c and the object that it loads to read with. */
#ifndef FORMATS_CTF_READER_H
#define FORMATS_CTF_READER_H

#include "formats/reading.h"

typedef bool ctf_visit(void *ctx, const char *path); /* false: no further */

/* Calls with each folder at or below `path` that is a trace, by name; false: one call said so.
 * O(entries). */
bool ctf_each_trace(const char *path, ctf_visit *fn, void *ctx);

/* Reads all of them, by time, to the end. As format.read_folder; in the object. */
typedef int ctf_read(struct reading *r, const char *path, struct err *e);
ctf_read ctf_read_babeltrace;
#define CTF_READ "ctf_read_babeltrace"

#endif
