/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/system/cgroup.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static uint32_t
read_list(const char *folder, pid_t *ret, uint32_t n, uint32_t max)
{
	char path[PATH_MAX];
	FILE *list;
	int pid;

	if (snprintf(path, sizeof path, "%s/cgroup.procs", folder) >= (int)sizeof path ||
	    (list = fopen(path, "re")) == NULL)
		return n;
	while (n < max && fscanf(list, "%d", &pid) == 1)
		if (pid > 0) /* 0: of another pid namespace */
			ret[n++] = pid;
	fclose(list);
	return n;
}

static uint32_t
read_group(const char *folder, pid_t *ret, uint32_t n, uint32_t max, int depth)
{
	char path[PATH_MAX];
	const struct dirent *one;
	DIR *all;

	n = read_list(folder, ret, n, max);
	if (depth == CGROUP_DEPTH_MAX || (all = opendir(folder)) == NULL)
		return n;
	while (n < max && (one = readdir(all)) != NULL)
		if (one->d_type == DT_DIR && one->d_name[0] != '.' &&
		    snprintf(path, sizeof path, "%s/%s", folder, one->d_name) < (int)sizeof path)
			n = read_group(path, ret, n, max, depth + 1);
	closedir(all);
	return n;
}

uint32_t
cgroup_processes(const char *folder, pid_t *ret, uint32_t n, uint32_t max)
{
	return read_group(folder, ret, n, max, 0);
}
