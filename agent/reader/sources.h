/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens the sources that agent.reader names, out of those in sources.tbl.h. */
#ifndef AGENT_READER_SOURCES_H
#define AGENT_READER_SOURCES_H

#include "agent/reader/source.h"

/* Whether `names` is a list of sources, separated by spaces or commas, that can be open at the same
 * time. 0; ERR_INPUT: it is not, the text says why. */
int sources_check(const char *names, struct err *e);

/* Opens all of them as one source (source_set.h). On success *ret is the caller's. ERR_INPUT: see
 * sources_check(); ERR_SYSTEM: a source that has to be loaded is not installed; or as the source.
 */
int sources_open(struct source *ret, const char *names, const struct source_place *place,
    const struct source_options *options, struct err *e);

#endif
