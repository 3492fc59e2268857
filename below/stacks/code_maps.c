/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/stacks/code_maps.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Reads a number up to the character `after`, and moves behind it. */
static bool
number(const char **at, int radix, char after, uint64_t *ret)
{
	char *end;

	if (!((**at >= '0' && **at <= '9') || (**at >= 'a' && **at <= 'f')))
		return false;
	*ret = strtoull(*at, &end, radix);
	if (*end != after)
		return false;
	*at = end + 1;
	return true;
}

/* "55e0-55f1 r-xp 00002000 fe:01 1234    /usr/bin/x (deleted)". False: no code, or malformed. */
static bool
parse_line(const char *at, struct code_map *ret)
{
	static const char gone[] = " (deleted)";
	uint64_t major, minor;
	size_t len;
	char *end;

	if (!number(&at, 16, '-', &ret->start) || !number(&at, 16, ' ', &ret->end) ||
	    strnlen(at, 5) < 5 || at[2] != 'x' || at[4] != ' ')
		return false;
	at += 5;
	if (!number(&at, 16, ' ', &ret->offset) || !number(&at, 16, ':', &major) ||
	    !number(&at, 16, ' ', &minor) || *at < '0' || *at > '9' || ret->start >= ret->end)
		return false;
	ret->inode = strtoull(at, &end, 10);
	ret->major = (uint32_t)major;
	ret->minor = (uint32_t)minor;
	end += strspn(end, " ");
	ret->path = end;
	len = strlen(end);
	ret->deleted = len > sizeof gone - 1 && strcmp(end + len - (sizeof gone - 1), gone) == 0;
	if (ret->deleted)
		end[len - (sizeof gone - 1)] = '\0';
	return true;
}

bool
code_maps_parse(struct code_maps *ret, char *text, size_t len)
{
	memset(ret, 0, sizeof *ret);
	while (len > 0 && ret->count < CODE_MAPS_MAX) {
		char *end = memchr(text, '\n', len);
		struct code_map map = { 0 };

		if (end == NULL) /* a line that was cut */
			break;
		*end = '\0';
		if (parse_line(text, &map) &&
		    (ret->count == 0 || ret->maps[ret->count - 1].end <= map.start)) {
			if (!array_reserve(ret->maps, ret->cap, ret->count + 1)) {
				code_maps_release(ret);
				return false;
			}
			ret->maps[ret->count++] = map;
		}
		len -= (size_t)(end + 1 - text);
		text = end + 1;
	}
	return true;
}

void
code_maps_release(struct code_maps *m)
{
	free(m->maps);
	memset(m, 0, sizeof *m);
}

int
code_maps_find(const struct code_maps *m, uint64_t address)
{
	uint32_t low = 0, high = m->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (address >= m->maps[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->count && address >= m->maps[low].start ? (int)low : -1;
}

bool
file_is_mapped(const struct file_facts *f)
{
	if (f->by_mapping) /* 1 */
		return true;
	if (f->mapped.len != 0 && f->file.len != 0) /* 2 */
		return f->mapped.len == f->file.len &&
		       memcmp(f->mapped.bytes, f->file.bytes, f->file.len) == 0;
	if (f->deleted) /* 3 */
		return false;
	return f->same_inode; /* 4 */
}
