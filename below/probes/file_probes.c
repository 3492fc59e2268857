/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/probes/file_probes.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "below/probes/probe_price.h"

enum { INSTRUCTION_BYTES_MAX = 15 };

/* False: it is too dear, or its name is too long. */
static bool
take(struct file_probe *to, const struct usdt_probe *p, const uint8_t *file, size_t len)
{
	struct usdt_argument all[USDT_ARGUMENTS_MAX];
	size_t left = len - p->offset;
	enum probe_way way = probe_price_of(
	    file + p->offset, left < INSTRUCTION_BYTES_MAX ? left : INSTRUCTION_BYTES_MAX)
	                         .way;

	memset(to, 0, sizeof *to);
	if (way == PROBE_STEPPED || way == PROBE_NO_CODE || strchr(p->provider, ':') != NULL ||
	    snprintf(to->name, sizeof to->name, "%s:%s", p->provider, p->name) >=
		(int)sizeof to->name)
		return false;
	to->offset = p->offset;
	to->semaphore = p->semaphore != 0 ? p->semaphore_offset : 0;
	to->nvalues = usdt_arguments(all, p->arguments);
	if (to->nvalues > FILE_PROBE_VALUES_MAX)
		to->nvalues = FILE_PROBE_VALUES_MAX;
	memcpy(to->values, all, to->nvalues * sizeof *all);
	return true;
}

void
file_probes_read(struct file_probes *ret, int fd, uint32_t from)
{
	struct usdt_notes notes = { 0 };
	struct arena a = { 0 };
	struct stat st;
	struct err e;
	uint8_t *file;

	memset(ret, 0, sizeof *ret);
	if (fstat(fd, &st) != 0 || st.st_size <= 0)
		return;
	/* Shared: into private mappings of a file that is probed, by whomever, the kernel writes its breakpoints. */
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		return;
	if (usdt_notes_read(&notes, file, (size_t)st.st_size, &a, &e) == 0) {
		ret->left_out = notes.left_out;
		for (uint32_t i = 0; i < notes.count; i++) {
			struct file_probe p;

			if (!take(&p, &notes.probes[i], file, (size_t)st.st_size)) {
				ret->left_out++;
				continue;
			}
			if (ret->total >= from && ret->count < FILE_PROBES_MAX)
				ret->list[ret->count++] = p;
			ret->total++;
		}
	}
	arena_release(&a);
	munmap(file, (size_t)st.st_size);
}
