/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/loglevel.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define OFF "off"

const char *
loglevel_word(uint8_t level)
{
	static const char *const words[LOGLEVELS] = {
#define LOGLEVEL(name, number, word) [number] = word,
#include "wire/loglevels.tbl.h"
#undef LOGLEVEL
	};

	assert(loglevel_fits(level));
	return level < LOGLEVELS ? words[level] : OFF;
}

bool
loglevel_read(const char *word, uint8_t *ret)
{
	static const struct {
		const char *word;
		uint8_t level;
	} all[] = {
#define LOGLEVEL(name, number, word) { word, number },
#define LOGLEVEL_ALIAS(name, word) { word, LOGLEVEL_##name },
#include "wire/loglevels.tbl.h"
#undef LOGLEVEL
#undef LOGLEVEL_ALIAS
		{ OFF, LOGLEVEL_NONE },
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (strcmp(all[i].word, word) == 0) {
			*ret = all[i].level;
			return true;
		}
	return false;
}
