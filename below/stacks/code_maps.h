/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the code of a process is mapped, as /proc/PID/maps says it, and whether a file is still the one that was mapped.
 * Pure. */
#ifndef BELOW_STACKS_CODE_MAPS_H
#define BELOW_STACKS_CODE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CODE_MAPS_MAX = 16384 }; /* mappings of code of a process; more are ignored */

struct code_map {
	uint64_t start, end, offset; /* [start, end) in memory; `offset` of `start` in the file */
	uint64_t inode;
	uint32_t major, minor; /* of the file's device */
	bool deleted;          /* the name no longer leads to the file */
	const char *path;      /* in the text; "": no file, as of code that is made at run time */
};

struct code_maps { /* all zeroes is empty */
	struct code_map *maps;
	uint32_t count, cap;
};

/*
 * Reads the mappings with code of `text`, which is changed and must outlive *ret. They are in order of address and do
 * not overlap; lines that are malformed or not in order are ignored. False: out of memory. O(len).
 */
bool code_maps_parse(struct code_maps *ret, char *text, size_t len);
void code_maps_release(struct code_maps *m);

/* The index of the mapping that contains the address; -1: none. O(log n). */
int code_maps_find(const struct code_maps *m, uint64_t address);

enum { BUILD_ID_MAX = 20 };

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	uint8_t len; /* 0: unknown, or the file has none */
};

struct file_facts {      /* of a file that was opened for a mapping */
	bool by_mapping; /* through /proc/PID/map_files: the kernel opened what is mapped */
	struct build_id mapped, file; /* of the mapping, as the kernel tells it, and of the file */
	bool deleted;                 /* code_map.deleted */
	bool same_inode;              /* device and inode are those of the mapping */
};

/*
 * Whether the opened file holds what is mapped. The first of these that applies:
 *	1. the kernel opened the mapping itself: yes
 *	2. both build ids are known: whether they are equal
 *	3. the name of the mapped file is gone: no
 *	4. whether device and inode are equal. File systems in layers may show others in the mapping (btrfs, overlayfs
 *	   before Linux 6.8); then the answer is no without a build id, since a wrong name is worse than none.
 */
bool file_is_mapped(const struct file_facts *f);

#endif
