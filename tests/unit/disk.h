/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Helpers for tests of files: reading files, executing SQL, and errors of the disk and the system.
 * These errors are tested in child processes because producing them changes the process (user,
 * mounts, limits). Include cmocka.h and base/err.h before this header; it needs _GNU_SOURCE.
 */
#ifndef TESTS_UNIT_DISK_H
#define TESTS_UNIT_DISK_H

#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77 }; /* exit code of a child that lacks the permission for its test */

/*
 * For child processes: a failed cmocka assertion would continue with the parent's tests. Uses a
 * local `struct err e`.
 */
#define CHECK(x)                                                                               \
	do {                                                                                   \
		if (!(x)) {                                                                    \
			fprintf(stderr, "# %s:%d: %s (%s)\n", __FILE__, __LINE__, #x, e.text); \
			_exit(1);                                                              \
		}                                                                              \
	} while (0)

static inline void
in_child(void (*what)(void *), void *arg, const char *skip_because)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		what(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED) {
		print_message("# skipped: %s\n", skip_because);
		return; /* not skip(): cmocka prints it as "not ok" in TAP */
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Root would pass every permission check. */
static inline void
become_nobody(void)
{
	if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
		_exit(SKIPPED);
}

/* Mounts a file system of 1 MiB that only this process sees. */
static inline void
mount_small_disk(const char *folder)
{
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", folder, "tmpfs", 0, "size=1m") != 0)
		_exit(SKIPPED);
}

static inline void
fill_disk(const char *path)
{
	static const char zeroes[65536];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	size_t piece = sizeof zeroes;

	while (piece > 0)
		if (write(fd, zeroes, piece) <= 0)
			piece /= 2;
	close(fd);
}

static inline void
sql(const char *path, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static inline void
file_write(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* Returns the content of the file; the caller frees it. */
static inline uint8_t *
file_read(const char *path, size_t *len)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	uint8_t *data;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	data = malloc((size_t)st.st_size + 1);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	*len = (size_t)st.st_size;
	return data;
}

#endif
