/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file as bytes, and whether it is there. */
#ifndef TESTS_UNIT_BELOW_PROBES_ELF_FILE_H
#define TESTS_UNIT_BELOW_PROBES_ELF_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL: it is not there. */
static inline const uint8_t *
elf_file(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0)
		/* Shared, since a private one has the breakpoints of whoever probes the file now. */
		at = mmap(NULL, *len = (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return at != MAP_FAILED ? at : NULL;
}

#endif
