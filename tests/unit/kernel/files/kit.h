/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of recordings: reads them, and keeps the events. */
#ifndef TESTS_KERNEL_FILES_KIT_H
#define TESTS_KERNEL_FILES_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "kernel/files/kernel_files.h"

struct kit {
	struct kernel_names names;
	struct kernel_files_counts counts;
	struct kernel_event *events;
	uint32_t nevents, cap;
	struct err e;
};

static inline int
kit_take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct kit *k = of;

	(void)e;
	assert_true(k->nevents == 0 || ev->time_ns >= k->events[k->nevents - 1].time_ns);
	assert_true(ev->kind < KERNEL_KINDS);
	assert_int_equal(ev->reserved, 0);
	assert_true(array_reserve(k->events, k->cap, k->nevents + 1));
	k->events[k->nevents++] = *ev;
	return 0;
}

static inline int
kit_read_with(struct kit *k, char *const *paths, int n, struct kernel_files_options *options)
{
	*k = (struct kit){ 0 };
	assert_int_equal(kernel_names_new(&k->names, &k->e), 0);
	options->take = kit_take;
	options->of = k;
	return kernel_files_read(paths, n, options, &k->names, &k->counts, &k->e);
}

static inline int
kit_read(struct kit *k, const char *path)
{
	struct kernel_files_options o = { 0 };

	return kit_read_with(k, (char *[]){ (char *)path }, 1, &o);
}

static inline void
kit_release(struct kit *k)
{
	kernel_names_release(&k->names);
	free(k->events);
}

static inline const char *
kit_text(const struct kit *k, uint32_t number)
{
	return texts_get(k->names.texts, number);
}

/* A folder that is removed with all in it. */
static inline void
kit_folder(char path[64])
{
	snprintf(path, 64, "/tmp/hone_kernel_XXXXXX");
	assert_non_null(mkdtemp(path));
}

static inline void
kit_remove(const char *path)
{
	char command[256];

	snprintf(command, sizeof command, "rm -rf -- '%s'", path);
	assert_int_equal(system(command), 0);
}

/* Unpacks an archive of the real traces into a folder; false, after a word about it: it is not there. */
static inline bool
kit_unpack(const char *archive, char folder[64])
{
	const char *data = getenv("HONE_DATA");
	char path[512], command[700];

	snprintf(
	    path, sizeof path, "%s/kernel/%s", data != NULL ? data : "../shared/data", archive);
	if (access(path, R_OK) != 0) {
		print_message(
		    "# %s is not there (HONE_DATA says where real traces are): skipped\n", path);
		return false;
	}
	kit_folder(folder);
	snprintf(command, sizeof command, "tar -xzf '%s' -C '%s'", path, folder);
	assert_int_equal(system(command), 0);
	return true;
}

#endif
