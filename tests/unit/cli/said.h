/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What hone prints and exits with, run in this process. Behind cmocka.h. */
#ifndef TESTS_UNIT_CLI_SAID_H
#define TESTS_UNIT_CLI_SAID_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/command_line.h"

struct said {
	enum exit_code code;
	char *out, *err; /* of malloc() */
};

/* Runs hone with `command`, unless that is NULL, `first`, and the further words up to a NULL; at most 31 in all. */
static inline struct said
said_by(const char *command, const char *first, va_list more)
{
	char *argv[33] = { "hone", (char *)(uintptr_t)command };
	struct pen out = { .columns = 100 }, err = { .columns = 100 };
	int argc = command != NULL ? 2 : 1;
	size_t out_len, err_len;
	struct said s;

	for (const char *a = first; a != NULL; a = va_arg(more, const char *)) {
		assert_true(argc < 32);
		argv[argc++] = (char *)(uintptr_t)a;
	}
	out.out = open_memstream(&s.out, &out_len);
	err.out = open_memstream(&s.err, &err_len);
	s.code = command_run(argc, argv, &out, &err);
	fclose(out.out);
	fclose(err.out);
	pen_release(&out);
	pen_release(&err);
	return s;
}

static inline void
said_drop(struct said *s)
{
	free(s->out);
	free(s->err);
}

/* Fails unless it exited with this code and both texts have these words. */
static inline void
said_has(struct said *s, enum exit_code code, const char *out_words, const char *err_words)
{
	if (s->code != code || strstr(s->out, out_words) == NULL ||
	    strstr(s->err, err_words) == NULL)
		fail_msg("code %d, out '%s', err '%s'", s->code, s->out, s->err);
}

#endif
