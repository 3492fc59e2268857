/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a run ended without a verdict, a hypothesis was withdrawn, a tracepoint was enabled or
 * disabled: one of a closed list, kept by number and sent by word. Text is made of it by who
 * prints.
 */
#ifndef FOREST_REASON_H
#define FOREST_REASON_H

#include <stdbool.h>

enum reason {
#define REASON(name, number, word, text) REASON_##name = number,
#include "forest/reasons.tbl.h"
#undef REASON
};

bool reason_valid(unsigned number);
/* "over-budget"; "" for REASON_NONE and for a number that is not in the table. Static. */
const char *reason_word(enum reason r);
/* Its text, with "{}" where the subject belongs; "" like reason_word(). Static. */
const char *reason_text(enum reason r);
/* The reason with that word; REASON_NONE where there is none. O(table). */
enum reason reason_of_word(const char *word);

#endif
