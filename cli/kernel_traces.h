/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes traces of recordings of the kernel: kernel/files reads them, kernel/requests finds the requests. */
#ifndef CLI_KERNEL_TRACES_H
#define CLI_KERNEL_TRACES_H

#include <jansson.h>

#include "kernel/files/kernel_files.h"
#include "kernel/requests/requests.h"

struct kernel_traces;

struct kernel_traces_options {
	const char *gateways;                /* of kernel_gateways(); NULL: the default */
	const char *format, *meta, *counted; /* of kernel_files_options, or NULL */
	bool all;                            /* RULE_ALL, else RULE_CURRENT */
	size_t memory_max_bytes;
	int (*take)(void *ctx, struct trace *t, struct err *e); /* of requests_options */
	void *ctx;
};

/* Adds a list as gateways_add() does, in which an item may also be cgroup:PATH: all processes that are in this control group now, and in
 * those below it. PATH is below /sys/fs/cgroup, or begins with it. ERR_INPUT, ERR_SYSTEM: no such group; ERR_MEMORY. */
int kernel_gateways(struct gateways *g, const char *list, struct err *e);

/* Whether the values of --gateway and --rule can be used; NULL: not given. ERR_INPUT, ERR_SYSTEM, ERR_MEMORY; *flag: of which one. */
int kernel_traces_check(const char *gateways, const char *rule, const char **flag, struct err *e);

/* Labels are made in `labels` by the thread that reads. The strings must outlive *ret. ERR_INPUT: gateways; ERR_MEMORY. */
int kernel_traces_new(struct kernel_traces **ret, const struct kernel_traces_options *o,
    struct labels *labels, struct err *e);
void kernel_traces_free(struct kernel_traces *k); /* NULL is fine */

/* Reads all files, once. The errors of kernel_files_read(). */
int kernel_traces_read(struct kernel_traces *k, char *const *files, int nfiles, struct err *e);

/* Names by the node numbers of events, see requests_nodes(). */
const char *const *kernel_traces_nodes(const struct kernel_traces *k);
/* From any thread. */
void kernel_traces_progress(struct kernel_traces *k, uint64_t *read_bytes, uint64_t *size_bytes);

/* After the reading: how many events; appends what was not used to the list "skipped" of documents. */
uint64_t kernel_traces_events(const struct kernel_traces *k);
uint64_t kernel_traces_made(const struct kernel_traces *k);
void kernel_traces_skipped(const struct kernel_traces *k, json_t *skipped);

/* Whether this is a format of recordings of the kernel alone. */
bool kernel_traces_format(const char *name);

/* Whether all of these are recordings of the kernel. *some: whether one of them is. */
bool kernel_traces_are(char *const *files, int nfiles, bool *some);

#endif
