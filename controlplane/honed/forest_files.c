/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "controlplane/honed/forest_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "controlplane/honed/file_replace.h"
#include "controlplane/honed/healthy_keeper.h"
#include "controlplane/honed/levels_keeper.h"
#include "controlplane/relay/forest_entries.h"
#include "forest/store_copy.h"

int
forest_file_path(char **ret, const struct config *c, enum forest_file which, struct err *e)
{
	switch (which) {
	case FOREST_FILE_SPACE:
		return file_beside(ret, c->space, c->database, "", e);
	case FOREST_FILE_HEALTHY:
		return file_beside(ret, c->watch_healthy, c->database, HEALTHY_FILE, e);
	case FOREST_FILE_LEVELS:
		break;
	}
	return file_beside(ret, c->levels_file, c->database, LEVELS_FILE, e);
}

static int
read_text_file(struct buf *ret, const char *path, struct err *e)
{
	FILE *f = fopen(path, "re");
	uint8_t piece[4096];
	size_t n;
	int rc = 0;

	if (f == NULL)
		return errno == ENOENT ? err_set(e, ERR_MISSING, "%s: there is none", path)
		                       : err_errno(e, "%s", path);
	while (ret->len <= FOREST_FILE_MAX && (n = fread(piece, 1, sizeof piece, f)) > 0)
		buf_bytes(ret, piece, n);
	if (ferror(f))
		rc = err_errno(e, "%s", path);
	else if (ret->len > FOREST_FILE_MAX)
		rc = err_set(e, ERR_FULL, "%s: has over %d bytes", path, FOREST_FILE_MAX);
	else if (ret->failed)
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", path);
	fclose(f);
	return rc;
}

int
forest_file_read(struct buf *ret, const char *path, enum forest_file which, struct err *e)
{
	return which == FOREST_FILE_LEVELS ? read_text_file(ret, path, e)
	                                   : database_image(ret, path, FOREST_FILE_MAX, e);
}

static int
check_space(const char *fresh, struct err *e)
{
	struct space_version *all = NULL;
	uint32_t n;
	int rc = space_versions(&all, &n, fresh, e);

	free(all);
	return rc;
}

static int
check_healthy(const char *fresh, struct err *e)
{
	struct healthy_store *s = NULL;
	int rc = healthy_store_open(&s, fresh, e);

	healthy_store_close(s);
	return rc;
}

static int
check_levels(const char *fresh, struct err *e)
{
	struct level_rules rules;
	struct buf b = { 0 };
	int rc = read_text_file(&b, fresh, e);

	if (rc == 0)
		rc = levels_read(&rules, fresh, (const char *)b.data, b.len, e);
	buf_release(&b);
	return rc;
}

int
forest_file_write(
    const char *path, enum forest_file which, const void *data, size_t len, struct err *e)
{
	static int (*const checks[])(
	    const char *, struct err *) = { [FOREST_FILE_SPACE] = check_space,
		[FOREST_FILE_HEALTHY] = check_healthy,
		[FOREST_FILE_LEVELS] = check_levels };

	_Static_assert(
	    sizeof checks / sizeof checks[0] == FOREST_FILES, "one for each file of the log");
	return file_replace(path, data, len, checks[which],
	    which != FOREST_FILE_LEVELS ? file_remove_logs : NULL, e);
}
