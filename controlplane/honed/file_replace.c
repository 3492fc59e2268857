/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "controlplane/honed/file_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
file_beside(char **ret, const char *path, const char *beside, const char *name, struct err *e)
{
	const char *slash = strrchr(beside, '/');
	int folder = slash != NULL ? (int)(slash + 1 - beside) : 0, n;

	n = path[0] != '\0' ? asprintf(ret, "%s", path)
	                    : asprintf(ret, "%.*s%s", folder, beside, name);
	if (n >= 0)
		return 0;
	*ret = NULL;
	return err_set(e, ERR_MEMORY, "out of memory");
}

static int
write_all(const char *path, const uint8_t *data, size_t len, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), rc = 0;
	size_t done = 0;

	if (fd < 0)
		return err_errno(e, "%s", path);
	while (rc == 0 && done < len) {
		ssize_t n = write(fd, data + done, len - done);

		if (n < 0 && errno != EINTR)
			rc = err_errno(e, "%s", path);
		done += n > 0 ? (size_t)n : 0;
	}
	if (rc == 0 && fsync(fd) != 0)
		rc = err_errno(e, "%s", path);
	close(fd);
	return rc;
}

/* A name in a folder is durable when the folder is written. */
static int
sync_folder(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash == NULL   ? strdup(".")
	               : slash == path ? strdup("/")
	                               : strndup(path, (size_t)(slash - path));
	int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int rc = fd < 0 || fsync(fd) != 0 ? err_errno(e, "%s: its folder", path) : 0;

	if (fd >= 0)
		close(fd);
	free(folder);
	return rc;
}

void
file_remove_logs(const char *path)
{
	static const char *const endings[] = { "-wal", "-shm", "-journal" };
	char *name;

	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
		if (asprintf(&name, "%s%s", path, endings[i]) >= 0) {
			unlink(name);
			free(name);
		}
}

int
file_replace(const char *path, const void *data, size_t len,
    int (*check)(const char *fresh, struct err *e), void (*before_rename)(const char *path),
    struct err *e)
{
	char *fresh = NULL;
	int rc;

	if (asprintf(&fresh, "%s.new", path) < 0)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	file_remove_logs(fresh); /* of one that was not checked to its end */
	if ((rc = write_all(fresh, data, len, e)) == 0 && check != NULL)
		rc = check(fresh, e);
	if (rc == 0 && before_rename != NULL)
		before_rename(path);
	if (rc == 0 && rename(fresh, path) != 0)
		rc = err_errno(e, "%s", path);
	if (rc == 0)
		rc = sync_folder(path, e);
	else
		unlink(fresh);
	free(fresh);
	return rc;
}
