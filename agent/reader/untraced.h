/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that are alive and that LTTng does not trace: reported as losses for as long as they
 * live (untraced.c explains how this happens). One or two system calls a call for each process in
 * doubt.
 */
#ifndef AGENT_READER_UNTRACED_H
#define AGENT_READER_UNTRACED_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/reader/traced_process.h"

struct lttng_source;
struct session_folder;
struct traced_process;

struct untraced_process {
	struct session_folder *folder;
	char *name; /* of its folder */
	struct folder_name named;
	int64_t began_ns;             /* start of the process; 0: unknown */
	int64_t since_ns;             /* it may have been untraced since then */
	int64_t seen_ns, reported_ns; /* when we noticed; end of the last reported loss, 0: none */
	bool again;                   /* its folder was removed while it lives: it called exec */
};

/* A folder of this name was created in the shm folder. */
void untraced_born(
    struct lttng_source *src, struct session_folder *f, const char *name, int64_t now_ns);
/* The shm folder of p was removed. */
void untraced_died(struct lttng_source *src, const struct traced_process *p, int64_t now_ns);
/* Decides about all suspects and reports losses; after the folders were listed. */
void untraced_check(struct lttng_source *src, int64_t now_ns);
/* A process that is alive and not traced, the first found, or NULL; valid until the next check. */
const struct untraced_process *untraced_first(const struct lttng_source *src);
void untraced_forget(struct lttng_source *src); /* suspects in withdrawn folders */
void untraced_release(struct lttng_source *src);

#endif
