/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/reader/session_folders.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "agent/reader/cpu_stream.h"
#include "agent/reader/lttng_source.h"
#include "agent/reader/traced_process.h"
#include "agent/reader/untraced.h"
#include "base/array.h"

static void
watch(struct lttng_source *src, struct watched_folder *r, bool *relist)
{
	if (r->watch >= 0)
		return;
	r->watch = inotify_add_watch(src->inotify, r->path,
	    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR);
	if (r->watch >= 0)
		*relist = true;
}

static void
relist_all(struct lttng_source *src)
{
	src->relist = true;
	for (uint32_t i = 0; i < src->nfolders; i++)
		src->folders[i]->relist = true;
	for (uint32_t i = 0; i < src->nprocesses; i++)
		src->processes[i]->relist = true;
}

static bool
is_event_of(struct watched_folder *r, const struct inotify_event *i, bool *relist)
{
	if (r->watch != i->wd)
		return false;
	*relist = true;
	if ((i->mask & IN_IGNORED) != 0)
		r->watch = -1;
	return true;
}

static void
watch_event(struct lttng_source *src, const struct inotify_event *i, int64_t now_ns)
{
	if ((i->mask & IN_Q_OVERFLOW) != 0) {
		relist_all(src);
		return;
	}
	if (is_event_of(&src->followed, i, &src->relist))
		return;
	for (uint32_t k = 0; k < src->nfolders; k++) {
		struct session_folder *f = src->folders[k];
		if (f->shm.watch == i->wd && i->len > 0 && (i->mask & IN_CREATE) != 0)
			untraced_born(src, f, i->name, now_ns);
		if (is_event_of(&f->shm, i, &f->relist) || is_event_of(&f->output, i, &f->relist))
			return;
	}
	for (uint32_t k = 0; k < src->nprocesses; k++) {
		struct traced_process *p = src->processes[k];
		if (p->watch != i->wd)
			continue;
		p->relist = true;
		if ((i->mask & IN_IGNORED) != 0)
			p->watch = -1;
		return;
	}
}

/* Reads all inotify events up to now. The kernel queues an event before the system call that
 * caused it returns. */
static void
read_watches(struct lttng_source *src, int64_t now_ns)
{
	char events[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	while ((n = read(src->inotify, events, sizeof events)) > 0)
		for (char *at = events; at < events + n;) {
			const struct inotify_event *i = (const struct inotify_event *)(const void *)
			    at;
			watch_event(src, i, now_ns);
			at += sizeof *i + i->len;
		}
}

/* ---- processes of a folder ---- */

static struct traced_process *
find_process(const struct lttng_source *src, const struct session_folder *f, const char *name)
{
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (src->processes[i]->folder == f && strcmp(src->processes[i]->name, name) == 0)
			return src->processes[i];
	return NULL;
}

/* The name holds the process' pid and the time of its start: it is the same in all sessions. One in quarantine is preferred. */
static const struct traced_process *
find_decided(const struct lttng_source *src, const char *name)
{
	const struct traced_process *found = NULL;

	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct traced_process *p = src->processes[i];
		if (strcmp(p->name, name) == 0 &&
		    (found == NULL || p->quarantine != QUARANTINE_NONE))
			found = p;
	}
	return found;
}

static void
add_process(
    struct lttng_source *src, struct session_folder *f, const char *name, bool live, int64_t now_ns)
{
	const struct traced_process *same = find_decided(src, name);
	struct traced_process *p;

	if (!array_reserve(src->processes, src->processes_cap, src->nprocesses + 1))
		return;
	if ((p = traced_process_new(src, f, name, live, now_ns)) == NULL)
		return;
	p->seen = live;
	src->processes[src->nprocesses++] = p;
	if (same != NULL)
		p->quarantine = same->quarantine;
	else
		traced_process_judge_user(src, p);
}

/* Lists the output folder; before list_shm(). The daemons make a process' shm folder first and
 * remove it before the output is complete, so a process that is only in this older listing has come
 * and gone. */
static void
list_output(const struct session_folder *f, char ***names, uint32_t *n)
{
	DIR *dir = opendir(f->output.path);
	uint32_t cap = 0;
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		if (d->d_name[0] == '.')
			continue;
		if (!array_reserve(*names, cap, *n + 1))
			break;
		if (((*names)[*n] = strdup(d->d_name)) != NULL)
			++*n;
	}
	if (dir != NULL)
		closedir(dir);
}

static void
list_shm(struct lttng_source *src, struct session_folder *f, int64_t now_ns)
{
	DIR *dir = opendir(f->shm.path);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		struct traced_process *p;
		if (d->d_name[0] == '.')
			continue;
		if ((p = find_process(src, f, d->d_name)) != NULL)
			p->seen = true;
		else
			add_process(src, f, d->d_name, true, now_ns);
	}
	if (dir != NULL)
		closedir(dir);
}

static void
list_processes(struct lttng_source *src, struct session_folder *f, int64_t now_ns)
{
	char **names = NULL;
	uint32_t n = 0;

	f->relist = false;
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (src->processes[i]->folder == f)
			src->processes[i]->seen = false;
	list_output(f, &names, &n);
	list_shm(src, f, now_ns);
	for (uint32_t i = 0; i < n; i++) {
		if (find_process(src, f, names[i]) == NULL)
			add_process(src, f, names[i], false, now_ns);
		free(names[i]);
	}
	free(names);
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		struct traced_process *p = src->processes[i];
		if (p->folder != f || !p->live || p->seen)
			continue;
		traced_process_died(src, p, now_ns);
		untraced_died(src, p, now_ns);
	}
}

/* ---- folders ---- */

static char *
root_path(const char *dir)
{
	char *path = NULL;

	if (strlen(dir) > 3800 || asprintf(&path, "%s/ust/pid", dir) < 0)
		return NULL;
	return path;
}

static void
folder_free(struct session_folder *f)
{
	free(f->shm.path);
	free(f->output.path);
	free(f);
}

struct session_folder *
session_folder_add(
    struct lttng_source *src, uint32_t number, const char *output_dir, const char *shm_dir)
{
	struct session_folder *f;

	if (!array_reserve(src->folders, src->folders_cap, src->nfolders + 1) ||
	    (f = calloc(1, sizeof *f)) == NULL)
		return NULL;
	f->number = number;
	f->shm = (struct watched_folder){ root_path(shm_dir), -1 };
	f->output = (struct watched_folder){ root_path(output_dir), -1 };
	if (f->shm.path == NULL || f->output.path == NULL) {
		folder_free(f);
		return NULL;
	}
	return src->folders[src->nfolders++] = f;
}

void
session_folders_release(struct lttng_source *src)
{
	for (uint32_t i = 0; i < src->nfolders; i++)
		folder_free(src->folders[i]);
	free(src->folders);
	free(src->followed.path);
}

static void
folder_found(struct lttng_source *src, const char *name)
{
	char output[4096], shm[4096];
	uint32_t number = (uint32_t)strtoul(name, NULL, 10);

	for (uint32_t i = 0; i < src->nfolders; i++)
		if (src->folders[i]->number == number && !src->folders[i]->withdrawn) {
			src->folders[i]->seen = true;
			return;
		}
	snprintf(output, sizeof output, "%s/%u/out", src->followed.path, number);
	snprintf(shm, sizeof shm, "%s/%u/shm", src->followed.path, number);
	struct session_folder *f = session_folder_add(src, number, output, shm);
	if (f == NULL)
		src->relist = true; /* out of memory: try again in the next poll */
	else
		f->seen = true;
}

/* Called when all tracepoints of the folder's session have been disabled. All records of an idle
 * ring were read, even if the daemons still write to it. The others are read as far as possible. */
static void
withdraw(struct lttng_source *src, struct session_folder *f, int64_t now_ns)
{
	assert(!f->withdrawn);
	f->withdrawn = true;
	if (f->shm.watch >= 0)
		inotify_rm_watch(src->inotify, f->shm.watch);
	if (f->output.watch >= 0)
		inotify_rm_watch(src->inotify, f->output.watch);
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		struct traced_process *p = src->processes[i];
		if (p->folder != f)
			continue;
		for (uint32_t k = 0; k < p->nstreams; k++)
			if (p->streams[k]->idle_at != 0) {
				cpu_stream_wake(src, p->streams[k]);
				ring_unmap(&p->streams[k]->ring);
			}
		if (p->live)
			traced_process_died(src, p, now_ns);
	}
}

static void
list_folders(struct lttng_source *src, int64_t now_ns)
{
	DIR *dir = opendir(src->followed.path);
	struct dirent *d;

	src->relist = false;
	for (uint32_t i = 0; i < src->nfolders; i++)
		src->folders[i]->seen = false;
	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (strspn(d->d_name, "0123456789") == strlen(d->d_name))
			folder_found(src, d->d_name);
	if (dir != NULL)
		closedir(dir);
	for (uint32_t i = 0; i < src->nfolders; i++)
		if (!src->folders[i]->seen && !src->folders[i]->withdrawn)
			withdraw(src, src->folders[i], now_ns);
}

static bool
has_processes(const struct lttng_source *src, const struct session_folder *f)
{
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (src->processes[i]->folder == f)
			return true;
	return false;
}

/* A new folder is watched before it is listed, so that no entry is missed. */
void
session_folders_poll(struct lttng_source *src, int64_t now_ns)
{
	if (src->followed.path != NULL)
		watch(src, &src->followed, &src->relist);
	read_watches(src, now_ns);
	if (src->relist && src->followed.path != NULL)
		list_folders(src, now_ns);
	untraced_forget(src);
	for (uint32_t i = 0; i < src->nfolders; i++) {
		struct session_folder *f = src->folders[i];
		if (f->withdrawn) {
			if (has_processes(src, f))
				continue;
			folder_free(f);
			src->folders[i--] = src->folders[--src->nfolders];
			continue;
		}
		watch(src, &f->shm, &f->relist);
		watch(src, &f->output, &f->relist);
		if (f->relist)
			list_processes(src, f, now_ns);
	}
	untraced_check(src, now_ns);
}
