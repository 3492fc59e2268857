/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of the metadata language. */
#ifndef AGENT_CTF_CTF_LEX_H
#define AGENT_CTF_CTF_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ctf_token {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_NUMBER,
	TOKEN_TEXT,
	TOKEN_ASSIGN /* := */,
	TOKEN_DOTS /* ... */,
	TOKEN_BAD,
	/* any other: the character itself */
};

struct ctf_lexer {
	const char *at, *end;
	int token;
	const char *start; /* of the token; a text without its quotes, escapes as written */
	size_t len;
	uint64_t number; /* of a number, without sign */
};

/* Stands on the first token of text. */
void ctf_lex_begin(struct ctf_lexer *l, const char *text, size_t len);
void ctf_lex_next(struct ctf_lexer *l);
bool ctf_lex_is(const struct ctf_lexer *l, const char *word); /* is this token that word? */

/* The first statement of text: its length up to and with its ';', or 0 where it is not whole yet.
 */
size_t ctf_lex_statement(const char *text, size_t len);

/* Undoes escapes; out has room for len bytes. Return: bytes written. */
size_t ctf_lex_unescape(char *out, const char *in, size_t len);

#endif
