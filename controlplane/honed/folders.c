/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/folders.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

enum { SOCKETS = 2, PATHS = 4, PATH_BYTES = 4096 }; /* sockets come first */

static void
list_paths(const struct config *c, const char *paths[PATHS])
{
	paths[0] = c->agents;
	paths[1] = c->operators;
	paths[2] = c->database;
	paths[3] = c->space;
}

/* The folder of a file or a local socket; "" for another URL, which has none. */
static int
folder_of(const char *path, char out[PATH_BYTES], struct err *e)
{
	char *slash;

	out[0] = '\0';
	if (strncmp(path, "ipc://", 6) == 0)
		path += 6;
	else if (strstr(path, "://") != NULL)
		return 0;
	if (snprintf(out, PATH_BYTES, "%s", path) >= PATH_BYTES)
		return err_set(
		    e, ERR_INPUT, "%.80s...: a path of over %d bytes", path, PATH_BYTES - 1);
	if ((slash = strrchr(out, '/')) == NULL)
		strcpy(out, ".");
	else
		slash[slash == out] = '\0';
	return 0;
}

int
folders_make(const struct config *c, const struct privilege *who, struct err *e)
{
	char folder[PATH_BYTES];
	const char *paths[PATHS];
	struct stat st;
	int rc;

	list_paths(c, paths);
	for (int i = 0; i < PATHS; i++) {
		if ((rc = folder_of(paths[i], folder, e)) != 0)
			return rc;
		if (folder[0] == '\0' || stat(folder, &st) == 0)
			continue;
		/* Of sockets, others may have to pass it; a folder of databases alone is for us. */
		if (privilege_folder(who, folder, i < SOCKETS ? 0755 : 0700, e) != 0)
			return err_prefix(
			    e, "make this folder, or configure another path in honed.conf");
	}
	return 0;
}

int
folders_check(const struct config *c, struct err *e)
{
	char folder[PATH_BYTES];
	const char *paths[PATHS];
	int rc;

	list_paths(c, paths);
	for (int i = 0; i < PATHS; i++) {
		if ((rc = folder_of(paths[i], folder, e)) != 0)
			return rc;
		if (folder[0] == '\0')
			continue;
		if (access(folder, W_OK | X_OK) != 0)
			return err_errno(e,
			    "%s: honed runs as user %ld and must be able to write there: give it to that user "
			    "(chown), or configure another controller.user or another path in honed.conf",
			    folder, (long)geteuid());
		if (access(paths[i], F_OK) == 0 && access(paths[i], W_OK) != 0)
			return err_errno(e,
			    "%s: honed runs as user %ld and must be able to write it: give it to that user "
			    "(chown)",
			    paths[i], (long)geteuid());
	}
	return 0;
}

/* fstat and fchmod of one descriptor: the file may be replaced meanwhile by who owns its folder. */
static void
make_private(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077) != 0 &&
	    st.st_uid == geteuid() && fchmod(fd, 0600) == 0)
		log_line(LOG_WARN,
		    "%s: other users could open it (mode %04o); its mode is 0600 now", path,
		    (unsigned)(st.st_mode & 07777));
	close(fd);
}

void
folders_private(const struct config *c)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal", ".lock" };
	const char *databases[] = { c->database, c->space };
	char path[PATH_BYTES];

	umask(0077);
	for (size_t i = 0; i < sizeof databases / sizeof databases[0]; i++)
		for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++)
			if (snprintf(path, sizeof path, "%s%s", databases[i], ends[k]) < PATH_BYTES)
				make_private(path);
}
