/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of ctf_*.c: types as the metadata writes them, and the code they become. */
#ifndef AGENT_CTF_CTF_TYPES_H
#define AGENT_CTF_CTF_TYPES_H

#include "agent/ctf/ctf.h"
#include "agent/ctf/ctf_lex.h"

enum ctf_kind { CTF_INT, CTF_FLOAT, CTF_STRING, CTF_STRUCT, CTF_VARIANT, CTF_ARRAY };

struct ctf_range { /* of an enum; bounds as the integer's 64-bit pattern */
	uint64_t low, high;
	const char *text;
	uint32_t len;
};

struct ctf_field {
	const char *name;
	struct ctf_type *type;
};

struct ctf_type {
	enum ctf_kind kind;
	uint32_t size_bits, align_bits;
	bool is_signed, swap,
	    is_text; /* swap: not this machine's byte order; is_text: its bytes are characters */
	struct ctf_range *ranges; /* of an enum */
	uint32_t nranges;
	struct ctf_field *fields; /* of a struct or variant */
	uint32_t nfields;
	const char *by;      /* a variant's tag, or the field that is a sequence's length */
	uint64_t length;     /* of an array with by == NULL */
	struct ctf_type *of; /* its elements */
};

struct ctf_name { /* one named type */
	struct ctf_name *next;
	const char *name;
	struct ctf_type *type;
};

struct ctf_scope {
	struct ctf_name *names;
	bool swap; /* the trace's byte order is not this machine's */
};

/* What the parser carries with it. The first error sticks. */
struct ctf_parser {
	struct ctf_lexer lex;
	struct ctf_trace *trace;
	struct err *e;
	int rc;
	int depth;
};

void *ctf_memory(struct ctf_parser *p, size_t count, size_t size); /* cleared; NULL: p->rc is set */
int ctf_bad(struct ctf_parser *p, const char *what);               /* "what, near ..." */
bool ctf_expect(struct ctf_parser *p, int token, const char *what);
bool ctf_accept(struct ctf_parser *p, int token);
const char *ctf_text(struct ctf_parser *p);            /* a copy of this word or text; moves on */
int64_t ctf_number(struct ctf_parser *p);              /* with a sign; moves on */
struct ctf_type *ctf_parse_type(struct ctf_parser *p); /* NULL: p->rc is set */
void ctf_parse_alias(struct ctf_parser *p);            /* behind "typealias", up to its ';' */
void ctf_name_type(struct ctf_parser *p, const char *name, struct ctf_type *type);

enum ctf_what {
	OP_INT,
	OP_ENUM,
	OP_FLOAT,
	OP_STRING,
	OP_TEXT,
	OP_TEXT_BY,
	OP_SKIP,
	OP_SKIP_BY,
	OP_SKIP_STRINGS,
	OP_SKIP_STRINGS_BY,
	OP_VARIANT,
	OP_ALIGN
};

struct ctf_choice {
	uint64_t low, high; /* of the tag */
	struct ctf_op *ops; /* at most one; NULL: an empty struct */
};

struct ctf_op {
	uint8_t what, bytes; /* bytes: of the integer, float or element */
	uint8_t slot;        /* where the value goes */
	bool is_signed, swap;
	uint32_t align_mask; /* bytes, less one */
	uint32_t to, by;     /* registers: kept for later; the length or tag */
	uint64_t length;
	const struct ctf_range *ranges;
	uint32_t nranges, nchoices;
	struct ctf_choice *choices;
};

/* Which slot a field's value goes to: its number, CTF_TRASH, or UINT32_MAX to make it the next
 * payload value. */
typedef uint32_t ctf_place(const char *name, const void *about);

/* Code for a struct. fields: room for RECORD_VALUES_MAX names, or NULL where no value is payload.
 */
void ctf_compile(struct ctf_parser *p, struct ctf_code *code, const struct ctf_type *type,
    ctf_place *place, const void *about, const char **fields, uint32_t *nfields);

/* Where a fixed struct's member lies, in bytes; UINT32_MAX: not there. *bytes: the whole struct, or
 * 0 where it is not of fixed size. */
uint32_t ctf_offset(const struct ctf_type *type, const char *name, uint32_t from, uint32_t *bytes);

enum ctf_context { CONTEXT_TRACE_ID, CONTEXT_UNIT_ID, CONTEXT_VTID, CONTEXT_VPID };

#endif
