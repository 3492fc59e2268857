/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sessions' folders, and processes' in them, as they come and go. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "agent/reader/source_inside.h"

static void
watch(struct lttng_source *src, struct root *r, bool *relist)
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
is_of(struct root *r, const struct inotify_event *i, bool *relist)
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
	if (is_of(&src->followed, i, &src->relist))
		return;
	for (uint32_t k = 0; k < src->nfolders; k++) {
		struct folder *f = src->folders[k];
		if (f->shm.watch == i->wd && i->len > 0 && (i->mask & IN_CREATE) != 0)
			untraced_born(src, f, i->name, now_ns);
		if (is_of(&f->shm, i, &f->relist) || is_of(&f->output, i, &f->relist))
			return;
	}
	for (uint32_t k = 0; k < src->nprocesses; k++) {
		struct process *p = src->processes[k];
		if (p->watch != i->wd)
			continue;
		p->relist = true;
		if ((i->mask & IN_IGNORED) != 0)
			p->watch = -1;
		return;
	}
}

/* What happened in the folders up to now. The kernel queues an event before the call that caused it
 * returns. */
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

static struct process *
find_process(const struct lttng_source *src, const struct folder *f, const char *name)
{
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (src->processes[i]->folder == f && strcmp(src->processes[i]->name, name) == 0)
			return src->processes[i];
	return NULL;
}

static void
add_process(struct lttng_source *src, struct folder *f, const char *name, bool live, int64_t now_ns)
{
	struct process *p;

	if (src->nprocesses == src->processes_cap) {
		uint32_t cap = src->processes_cap > 0 ? src->processes_cap * 2 : 16;
		struct process **grown = realloc(src->processes, cap * sizeof *grown);
		if (grown == NULL)
			return;
		src->processes = grown;
		src->processes_cap = cap;
	}
	if ((p = process_new(src, f, name, live, now_ns)) == NULL)
		return;
	p->seen = live;
	src->processes[src->nprocesses++] = p;
}

/* The daemons make the shm folder first and remove it before the other is complete; so who is only
 * in a listing of the output that is older than that of the shm folders, has come and gone. */
static void
list_output(const struct folder *f, char ***names, size_t *n)
{
	DIR *dir = opendir(f->output.path);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		if (d->d_name[0] == '.')
			continue;
		char **grown = realloc(*names, (*n + 1) * sizeof **names);
		if (grown == NULL)
			break;
		*names = grown;
		if (((*names)[*n] = strdup(d->d_name)) != NULL)
			++*n;
	}
	if (dir != NULL)
		closedir(dir);
}

static void
list_shm(struct lttng_source *src, struct folder *f, int64_t now_ns)
{
	DIR *dir = opendir(f->shm.path);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		struct process *p;
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
list_processes(struct lttng_source *src, struct folder *f, int64_t now_ns)
{
	char **names = NULL;
	size_t n = 0;

	f->relist = false;
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (src->processes[i]->folder == f)
			src->processes[i]->seen = false;
	list_output(f, &names, &n);
	list_shm(src, f, now_ns);
	for (size_t i = 0; i < n; i++) {
		if (find_process(src, f, names[i]) == NULL)
			add_process(src, f, names[i], false, now_ns);
		free(names[i]);
	}
	free(names);
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		struct process *p = src->processes[i];
		if (p->folder != f || !p->live || p->seen)
			continue;
		process_died(src, p, now_ns);
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
folder_free(struct folder *f)
{
	free(f->shm.path);
	free(f->output.path);
	free(f);
}

struct folder *
folder_add(struct lttng_source *src, uint32_t number, const char *output_dir, const char *shm_dir)
{
	struct folder **grown = realloc(src->folders, (src->nfolders + 1) * sizeof *grown), *f;

	if (grown == NULL)
		return NULL;
	src->folders = grown;
	if ((f = calloc(1, sizeof *f)) == NULL)
		return NULL;
	f->number = number;
	f->shm = (struct root){ root_path(shm_dir), -1 };
	f->output = (struct root){ root_path(output_dir), -1 };
	if (f->shm.path == NULL || f->output.path == NULL) {
		folder_free(f);
		return NULL;
	}
	return src->folders[src->nfolders++] = f;
}

void
folders_release(struct lttng_source *src)
{
	for (uint32_t i = 0; i < src->nfolders; i++)
		folder_free(src->folders[i]);
	free(src->folders);
	free(src->followed.path);
}

static void
found(struct lttng_source *src, const char *name)
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
	struct folder *f = folder_add(src, number, output, shm);
	if (f == NULL)
		src->relist = true; /* out of memory: try again */
	else
		f->seen = true;
}

/* Nothing was on in its session: a ring that was idle is one that nothing is missing of, whatever
 * the daemons still write to it. The others are read as far as they can be. */
static void
withdraw(struct lttng_source *src, struct folder *f, int64_t now_ns)
{
	f->withdrawn = true;
	if (f->shm.watch >= 0)
		inotify_rm_watch(src->inotify, f->shm.watch);
	if (f->output.watch >= 0)
		inotify_rm_watch(src->inotify, f->output.watch);
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		struct process *p = src->processes[i];
		if (p->folder != f)
			continue;
		for (uint32_t k = 0; k < p->nstreams; k++)
			if (p->streams[k]->quiet_at != 0) {
				stream_wake(src, p->streams[k]);
				ring_unmap(&p->streams[k]->ring);
			}
		if (p->live)
			process_died(src, p, now_ns);
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
			found(src, d->d_name);
	if (dir != NULL)
		closedir(dir);
	for (uint32_t i = 0; i < src->nfolders; i++)
		if (!src->folders[i]->seen && !src->folders[i]->withdrawn)
			withdraw(src, src->folders[i], now_ns);
}

static bool
has_processes(const struct lttng_source *src, const struct folder *f)
{
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (src->processes[i]->folder == f)
			return true;
	return false;
}

/* A new folder is watched, then listed; so nothing that was made before now is missed. */
void
folders_poll(struct lttng_source *src, int64_t now_ns)
{
	if (src->followed.path != NULL)
		watch(src, &src->followed, &src->relist);
	read_watches(src, now_ns);
	if (src->relist && src->followed.path != NULL)
		list_folders(src, now_ns);
	untraced_forget(src);
	for (uint32_t i = 0; i < src->nfolders; i++) {
		struct folder *f = src->folders[i];
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
	untraced_look(src, now_ns);
}
