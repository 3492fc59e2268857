/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folders written by LTTng. They are read by a shared object, because loading babeltrace2 and its
 * dependencies takes longer than the analysis of a small file:
 *
 *	PREFIX/bin/hone			also where it was built, with $(O) for PREFIX
 *	PREFIX/lib/hone/ctf.so		of format_ctf_babeltrace.c
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/shared_object.h"
#include "formats/ctf_reader.h"

enum { DEPTH_MAX = 12 };

/* ---- which folders ---- */

static bool
has_metadata(const char *path)
{
	char file[PATH_MAX];
	struct stat st;

	return snprintf(file, sizeof file, "%s/metadata", path) < (int)sizeof file &&
	       stat(file, &st) == 0 && S_ISREG(st.st_mode);
}

static bool
each_below(const char *path, int depth, ctf_visit *fn, void *ctx)
{
	struct dirent **names;
	bool on = true;
	int n;

	if (has_metadata(path))
		return fn(ctx, path);
	if (depth == DEPTH_MAX || (n = scandir(path, &names, NULL, alphasort)) < 0)
		return true;
	for (int i = 0; i < n; i++) {
		char below[PATH_MAX];
		struct stat st;

		if (on && names[i]->d_name[0] != '.' &&
		    snprintf(below, sizeof below, "%s/%s", path, names[i]->d_name) <
			(int)sizeof below &&
		    lstat(below, &st) == 0 && S_ISDIR(st.st_mode))
			on = each_below(below, depth + 1, fn, ctx);
		free(names[i]);
	}
	free(names);
	return on;
}

bool
ctf_each_trace(const char *path, ctf_visit *fn, void *ctx)
{
	return each_below(path, 0, fn, ctx);
}

static bool
stop(void *ctx, const char *path)
{
	(void)ctx;
	(void)path;
	return false;
}

static bool
is_ctf(const char *path)
{
	return !ctf_each_trace(path, stop, NULL);
}

/* ---- the shared object ---- */

int
ctf_object_symbol(void **ret, const char *name, struct err *e)
{
	return shared_object_symbol(
	    ret, "ctf.so", name, "the CTF reader, which uses babeltrace2, cannot be loaded", e);
}

static int
read_folder(struct reading *r, const char *path, struct err *e)
{
	void *symbol;
	ctf_read *read;
	int rc = ctf_object_symbol(&symbol, CTF_READ, e);

	if (rc != 0)
		return rc;
	memcpy(&read, &symbol, sizeof read);
	return read(r, path, e);
}

const struct format format_ctf = {
	.name = "ctf",
	.what = "folders of LTTng-UST traces (CTF 1.8), through babeltrace2",
	.draws_ids = true,
	.is_folder = is_ctf,
	.read_folder = read_folder,
};
