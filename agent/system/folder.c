/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/system/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/privilege.h"

int
folder_make(const char *path, struct err *e)
{
	return privilege_folder(&(struct privilege){ 0 }, path, 0700, e);
}

int
file_place(const char *temporary, const char *path, bool replace)
{
	if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, replace ? 0 : RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EISDIR || renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE) != 0)
		return -1;
	rmdir(temporary);
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
