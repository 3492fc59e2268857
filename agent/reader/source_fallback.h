/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two sources of the same records, of which the second takes over if the first does not understand the tracer's format:
 *
 *	first, until a poll after which stats.unknown_format is set -> second, from its next poll on
 *
 * It takes over only while the first has delivered no record: all programs of a node are traced by one version of the
 * tracer, so a program whose metadata alone is not understood later has other reasons, and its records are lost as they
 * would be without a second source. There is no way back.
 */
#ifndef AGENT_READER_SOURCE_FALLBACK_H
#define AGENT_READER_SOURCE_FALLBACK_H

#include "agent/reader/source.h"

struct source_second {
	const char *name; /* for texts */
	/* Finds its function when it is needed, since its object may have to be loaded. Errors of sources_open(). */
	int (*find)(source_open_fn **ret, struct err *e);
};

/*
 * Opens the first source. When the second has taken over, stats.trouble is why, unless the second has a trouble of its own;
 * if it cannot be opened, the first stays, and the trouble says both. The watermark does not decrease: records of the
 * second at or before the first's watermark are late. Adds one call of stats() and labels() to each poll of the first.
 * ERR_MEMORY; errors of the first.
 */
int source_fallback_open(struct source *ret, source_open_fn *first,
    const struct source_second *second, const struct source_place *place,
    const struct source_options *options, struct err *e);

#endif
