/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "instrument/redis/redis_names.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Redis 7.0 has 241 commands; modules add theirs. Half of the slots stay free, so that probing is
 * short. */
enum { SLOTS = 2048, NAMES_MAX = SLOTS / 2, NAME_MAX_BYTES = 40, ROOM_BYTES = 32 << 10 };

static const char PREFIX[] = "redis.";
static const struct name OTHER = { "other", "redis.other" };

static struct name slots[SLOTS];
static unsigned count;
static char room[ROOM_BYTES];
static size_t used;

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* The slot of the name in any case, or else the free slot where it belongs. Linear probing by FNV-1a. */
static struct name *
slot_of(const char *name, size_t length)
{
	uint32_t h = 2166136261;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)lower(name[i])) * 16777619;
	for (h ^= h >> 15;; h++) {
		struct name *n = &slots[h % SLOTS];

		if (n->text == NULL ||
		    (strlen(n->text) == length && strncasecmp(n->text, name, length) == 0))
			return n;
	}
}

void
names_add(const char *name, size_t length)
{
	struct name *n;
	char *at = room + used;
	size_t size = sizeof PREFIX + length;

	if (length == 0 || length > NAME_MAX_BYTES || count == NAMES_MAX ||
	    size > ROOM_BYTES - used)
		return;
	n = slot_of(name, length);
	if (n->text != NULL)
		return;
	memcpy(at, PREFIX, sizeof PREFIX - 1);
	n->type = at;
	n->text = at += sizeof PREFIX - 1;
	for (size_t i = 0; i < length; i++)
		*at++ = lower(name[i]);
	*at = '\0';
	used += size;
	count++;
}

void
names_clear(void)
{
	memset(slots, 0, sizeof slots);
	count = 0;
	used = 0;
}

const struct name *
names_find(const char *name, size_t length)
{
	const struct name *n;

	if (length == 0 || length > NAME_MAX_BYTES)
		return &OTHER;
	n = slot_of(name, length);
	return n->text != NULL ? n : &OTHER;
}
