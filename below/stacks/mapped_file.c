/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "below/stacks/mapped_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "below/stacks/code_file.h"

struct maps_query { /* struct procmap_query of <linux/fs.h> */
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};

_Static_assert(sizeof(struct maps_query) == MAPPED_QUERY_BYTES, "the kernel's size");

static struct build_id
mapped_build_id(int maps_fd, const struct code_map *map)
{
	struct build_id id = { 0 };
	struct maps_query q = { .size = sizeof q,
		.query_addr = map->start,
		.build_id_size = BUILD_ID_MAX,
		.build_id_addr = (uintptr_t)id.bytes };

	if (maps_fd >= 0 && ioctl(maps_fd, MAPPED_QUERY, &q) == 0 &&
	    q.build_id_size <= BUILD_ID_MAX && q.inode == map->inode)
		id.len = (uint8_t)q.build_id_size;
	return id;
}

/* Opens a regular file. Opening anything else may wait or act on a device, so it is looked at first. */
static int
open_regular(const char *path, uint64_t bytes_max, struct stat *st)
{
	char link[64];
	int fd, at = open(path, O_PATH | O_CLOEXEC);

	if (at < 0)
		return -1;
	if (fstat(at, st) != 0 || !S_ISREG(st->st_mode) || (uint64_t)st->st_size > bytes_max) {
		close(at);
		return -1;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", at);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	close(at);
	return fd;
}

static int
open_vdso(void)
{
	enum { VDSO_BYTES_MAX = 64 << 10 };
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
	size_t size, n = 0;
	int fd;

	if (image == NULL)
		return -1;
	/* Its section headers are at its end. */
	size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	if (size > VDSO_BYTES_MAX || (fd = memfd_create("vdso", MFD_CLOEXEC)) < 0)
		return -1;
	while (n < size) {
		ssize_t w = write(fd, image + n, size - n);

		if (w <= 0) {
			close(fd);
			return -1;
		}
		n += (size_t)w;
	}
	return fd;
}

enum mapped_state
mapped_file_open(pid_t pid, int maps_fd, const struct code_map *map, uint64_t bytes_max, int *fd)
{
	struct file_facts facts = { .deleted = map->deleted };
	bool other = map->deleted;
	char path[PATH_MAX + 32];

	if (strcmp(map->path, "[vdso]") == 0)
		return (*fd = open_vdso()) >= 0 ? MAPPED_OPEN : MAPPED_UNREADABLE;
	facts.mapped = mapped_build_id(maps_fd, map);
	for (int way = 0; way < 3; way++) {
		struct stat st;

		if (way == 0)
			snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", (int)pid,
			    (unsigned long)map->start, (unsigned long)map->end);
		else if ((size_t)snprintf(path, sizeof path,
			     way == 1 ? "/proc/%d/root%s" : "%.0d%s", way == 1 ? (int)pid : 0,
			     map->path) >= sizeof path)
			continue;
		if ((*fd = open_regular(path, bytes_max, &st)) < 0)
			continue;
		facts.by_mapping = way == 0;
		facts.file = build_id_of(*fd);
		facts.same_inode = st.st_ino == map->inode && major(st.st_dev) == map->major &&
		                   minor(st.st_dev) == map->minor;
		if (file_is_mapped(&facts))
			return MAPPED_OPEN;
		other = true;
		close(*fd);
	}
	*fd = -1;
	return other ? MAPPED_REPLACED : MAPPED_UNREADABLE;
}
