/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for nftw(), strsep() */
#include "cli/kernel_traces.h"

#include <ftw.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/call.h"
#include "report/document.h"

struct kernel_traces {
	struct kernel_traces_options o;
	struct kernel_names names;
	struct gateways *gateways;
	struct requests *requests;
	struct kernel_files_counts files;
	struct kernel_files_progress progress;
};

/* ---- gateways ---- */

#define CGROUPS "/sys/fs/cgroup"

struct cgroup_visit { /* while nftw() walks, which passes no context */
	struct gateways *to;
	uint32_t processes;
	int rc;
	struct err *e;
};
static struct cgroup_visit visit;

static int
add_group(const char *path, const struct stat *st, int what, struct FTW *ftw)
{
	const char *name = path + ftw->base;
	unsigned pid;
	FILE *f;

	(void)st;
	if (what != FTW_F || strcmp(name, "cgroup.procs") != 0 || (f = fopen(path, "r")) == NULL)
		return 0;
	while (visit.rc == 0 && fscanf(f, "%u", &pid) == 1) {
		visit.rc = gateways_add_process(visit.to, GATEWAY_ANY_HOST, pid, visit.e);
		visit.processes++;
	}
	fclose(f);
	return visit.rc;
}

static int
add_cgroup(struct gateways *g, const char *name, struct err *e)
{
	char path[PATH_MAX];
	bool whole = strncmp(name, CGROUPS "/", sizeof CGROUPS) == 0;

	snprintf(path, sizeof path, "%s%s", whole ? "" : CGROUPS "/", name);
	visit = (struct cgroup_visit){ .to = g, .e = e };
	if (nftw(path, add_group, 16, FTW_PHYS) == -1)
		return err_errno(e, "cgroup:%.200s", name);
	if (visit.rc == 0 && visit.processes == 0)
		return err_set(e, ERR_INPUT, "cgroup:%.200s: no process is in it", name);
	return visit.rc;
}

int
kernel_gateways(struct gateways *g, const char *list, struct err *e)
{
	static const char group[] = "cgroup:";
	char *copy = strdup(list), *at = copy, *item;
	int rc = copy != NULL ? 0 : err_set(e, ERR_MEMORY, "out of memory");

	while (rc == 0 && (item = strsep(&at, ",")) != NULL)
		rc = strncmp(item, group, sizeof group - 1) == 0
		         ? add_cgroup(g, item + sizeof group - 1, e)
		         : gateways_add(g, item, e);
	free(copy);
	return rc;
}

int
kernel_traces_check(const char *gateways, const char *rule, const char **flag, struct err *e)
{
	struct gateways *g = gateways != NULL ? gateways_new() : NULL;
	int rc = 0;

	*flag = "--gateway";
	if (gateways != NULL)
		rc = g != NULL ? kernel_gateways(g, gateways, e)
		               : err_set(e, ERR_MEMORY, "out of memory");
	gateways_free(g);
	if (rc != 0 || rule == NULL || strcmp(rule, "all") == 0 || strcmp(rule, "current") == 0)
		return rc;
	*flag = "--rule";
	return err_set(e, ERR_INPUT, "unknown rule; must be all or current");
}

/* ---- traces ---- */

int
kernel_traces_new(struct kernel_traces **ret, const struct kernel_traces_options *o,
    struct labels *labels, struct err *e)
{
	struct kernel_traces *k = calloc(1, sizeof *k);
	struct requests_options with = requests_defaults();
	int rc;

	if (k == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	k->o = *o;
	with.rule = o->all ? RULE_ALL : RULE_CURRENT;
	with.take = o->take;
	with.ctx = o->ctx;
	if ((rc = kernel_names_new(&k->names, e)) != 0)
		goto fail;
	if (o->gateways != NULL) {
		if ((k->gateways = gateways_new()) == NULL) {
			rc = err_set(e, ERR_MEMORY, "out of memory");
			goto fail;
		}
		if ((rc = kernel_gateways(k->gateways, o->gateways, e)) != 0)
			goto fail;
		with.gateways = k->gateways;
	}
	if ((rc = requests_new(&k->requests, &with, &k->names, labels, e)) != 0)
		goto fail;
	*ret = k;
	return 0;
fail:
	kernel_traces_free(k);
	return rc;
}

void
kernel_traces_free(struct kernel_traces *k)
{
	if (k == NULL)
		return;
	requests_free(k->requests);
	gateways_free(k->gateways);
	kernel_names_release(&k->names);
	free(k);
}

int
kernel_traces_read(struct kernel_traces *k, char *const *files, int nfiles, struct err *e)
{
	struct kernel_files_options o = { .format = k->o.format,
		.meta = k->o.meta,
		.counted = k->o.counted,
		.memory_max_bytes = k->o.memory_max_bytes,
		.take = requests_event,
		.of = k->requests,
		.progress = &k->progress };
	int rc = kernel_files_read(files, nfiles, &o, &k->names, &k->files, e);

	return rc == 0 ? requests_end(k->requests, e) : rc;
}

const char *const *
kernel_traces_nodes(const struct kernel_traces *k)
{
	return requests_nodes(k->requests);
}

void
kernel_traces_progress(struct kernel_traces *k, uint64_t *read_bytes, uint64_t *size_bytes)
{
	*read_bytes = atomic_load(&k->progress.read_bytes);
	*size_bytes = atomic_load(&k->progress.size_bytes);
}

uint64_t
kernel_traces_events(const struct kernel_traces *k)
{
	return k->files.events;
}

uint64_t
kernel_traces_made(const struct kernel_traces *k)
{
	struct requests_counts n;

	requests_counts(k->requests, &n);
	return n.traces;
}

static void
add_skipped(json_t *all, const char *reason, uint64_t count, const char *file, const char *why)
{
	if (count > 0)
		json_array_append_new(
		    all, json_pack("{s:s, s:I, s:o, s:n, s:o}", "reason", reason, "count",
			     (json_int_t)count, "file",
			     file[0] != '\0' ? text_json(file, strlen(file)) : json_null(),
			     "offset", "why", text_json(why, strlen(why))));
}

void
kernel_traces_skipped(const struct kernel_traces *k, json_t *skipped)
{
	struct requests_counts n;

	for (int i = 0; i < KERNEL_ODDITIES; i++)
		add_skipped(skipped, kernel_oddity_word((enum kernel_oddity)i),
		    k->files.odd[i].count, k->files.odd[i].file, k->files.odd[i].why);
	requests_counts(k->requests, &n);
#define REQUEST_COUNT(member, text) add_skipped(skipped, "request_" #member, n.member, "", "");
#include "kernel/requests/request_counts.tbl.h"
#undef REQUEST_COUNT
}

bool
kernel_traces_format(const char *name)
{
	return name != NULL && (strcmp(name, "ftrace") == 0 || strcmp(name, "psv") == 0);
}

bool
kernel_traces_are(char *const *files, int nfiles, bool *some)
{
	int n = 0;

	for (int i = 0; i < nfiles; i++)
		n += strcmp(files[i], "-") != 0 && kernel_files_is(files[i]);
	*some = n > 0;
	return n == nfiles;
}
