/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/files/kernel_counts.h"

static const char *const words[KERNEL_ODDITIES] = {
#define ODDITY(name, word, text) word,
#include "kernel/files/oddities.tbl.h"
#undef ODDITY
};

static const char *const texts[KERNEL_ODDITIES] = {
#define ODDITY(name, word, text) text,
#include "kernel/files/oddities.tbl.h"
#undef ODDITY
};

const char *
kernel_oddity_word(enum kernel_oddity o)
{
	return (unsigned)o < KERNEL_ODDITIES ? words[o] : "";
}

const char *
kernel_oddity_text(enum kernel_oddity o)
{
	return (unsigned)o < KERNEL_ODDITIES ? texts[o] : "";
}
