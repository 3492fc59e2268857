/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include "agent/files.h"
#include "base/hash.h"

int
folder_make(const char *path, struct err *e)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return err_set(e, ERR_INPUT, "%.60s...: the path is too long", path);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, i == len ? 0700 : 0755) != 0 && errno != EEXIST)
			return err_errno(e, "%s", part);
	}
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)!remove(path);
	return 0;
}

bool
folder_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT;
	nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	return lstat(path, &st) != 0 && errno == ENOENT;
}

bool
folder_is_memory(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

/* Reads a small file whole, with a final 0. Its length, or -1. */
static ssize_t
slurp(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n;
}

uint64_t
process_program(pid_t pid)
{
	char path[64];
	struct stat st;
	uint64_t id[4];

	snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
	if (stat(path, &st) != 0)
		return 0;
	id[0] = st.st_dev;
	id[1] = st.st_ino;
	id[2] = (uint64_t)st.st_size;
	id[3] = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return hash_bytes(0, id, sizeof(id)) | 1;
}

bool
process_is(pid_t pid, const char *comm)
{
	char path[64], name[64];

	snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	if (slurp(path, name, sizeof(name)) <= 0)
		return false;
	name[strcspn(name, "\n")] = '\0';
	return strcmp(name, comm) == 0;
}

int64_t
process_cpu_us(pid_t pid)
{
	char path[64], text[1024], *after;
	unsigned long user, system;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (slurp(path, text, sizeof(text)) <= 0 || (after = strrchr(text, ')')) == NULL)
		return 0;
	if (sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
		return 0;
	return (int64_t)(user + system) * (1000000 / sysconf(_SC_CLK_TCK));
}

int64_t
process_memory_bytes(void)
{
	char text[128];
	long pages;

	if (slurp("/proc/self/statm", text, sizeof(text)) <= 0 || sscanf(text, "%*d %ld", &pages) != 1)
		return 0;
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* A child belongs to the thread that made it. */
int64_t
process_family_cpu_us(pid_t pid)
{
	char path[300], text[1024], *at;
	int64_t sum_us = process_cpu_us(pid);
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
	if ((tasks = opendir(path)) == NULL)
		return sum_us;
	while ((entry = readdir(tasks)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%ld/task/%s/children", (long)pid, entry->d_name);
		if (entry->d_name[0] == '.' || slurp(path, text, sizeof(text)) <= 0)
			continue;
		for (at = text; *at >= '0' && *at <= '9'; at += *at == ' ')
			sum_us += process_cpu_us((pid_t)strtol(at, &at, 10));
	}
	closedir(tasks);
	return sum_us;
}

pid_t
pid_in_file(const char *path)
{
	char text[32];

	return slurp(path, text, sizeof(text)) > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}
