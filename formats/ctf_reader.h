/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface between format_ctf.c and the shared object that it loads to read CTF. */
#ifndef FORMATS_CTF_READER_H
#define FORMATS_CTF_READER_H

#include <string.h>

#include "formats/reading.h"

typedef bool ctf_visit(void *ctx, const char *path); /* false: stop */

/* Calls fn for each folder at or below `path` (at most 12 levels) that is a CTF trace, in the order
 * of names. False: a call returned false. Folders that cannot be listed are passed over.
 * O(entries). */
bool ctf_each_trace(const char *path, ctf_visit *fn, void *ctx);

/* Reads all traces at or below `path`, merged by time. As format.read_folder; the shared object
 * exports it. */
typedef int ctf_read(struct reading *r, const char *path, struct err *e);
ctf_read ctf_read_babeltrace;
#define CTF_READ "ctf_read_babeltrace"

/* Loads the shared object, which stays loaded, and finds what it exports by this name. ERR_SYSTEM. */
int ctf_object_symbol(void **ret, const char *name, struct err *e);

/* What a text of babeltrace2 about why it stopped means: records that go back in time, or data that
 * ends in the middle. */
static inline enum skip
ctf_stopped_by(const char *text)
{
	return strstr(text, "timestamp is less than") != NULL ||
	               strstr(text, "non-monotonic") != NULL
	           ? SKIP_CLOCK
	           : SKIP_TRUNCATED;
}

#endif
