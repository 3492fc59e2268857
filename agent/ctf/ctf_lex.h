/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens of the metadata language. */
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
	/* any other token: the character itself */
};

struct ctf_lexer {
	const char *at, *end;
	int token;
	const char *start; /* of the token; of a text without its quotes, with its escapes */
	size_t len;
	uint64_t number; /* value of TOKEN_NUMBER, without sign */
};

/* Puts the lexer on the first token of `text`. */
void ctf_lex_begin(struct ctf_lexer *l, const char *text, size_t len);
void ctf_lex_next(struct ctf_lexer *l);
/* Whether the present token is this word. */
bool ctf_lex_is(const struct ctf_lexer *l, const char *word);

/* The length of the first statement of `text`, with its ';'. 0: it is incomplete. */
size_t ctf_lex_statement(const char *text, size_t len);

/* Resolves escapes; `out` has room for len bytes. Returns the number of bytes written. */
size_t ctf_lex_unescape(char *out, const char *in, size_t len);

#endif
