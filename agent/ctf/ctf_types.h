/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For ctf_*.c only: types as the metadata declares them, and the code that they are compiled to. */
#ifndef AGENT_CTF_CTF_TYPES_H
#define AGENT_CTF_CTF_TYPES_H

#include "agent/ctf/ctf_trace.h"
#include "agent/ctf/ctf_lex.h"

enum ctf_kind { CTF_INT, CTF_FLOAT, CTF_STRING, CTF_STRUCT, CTF_VARIANT, CTF_ARRAY };

struct ctf_range { /* of an enum; bounds are 64-bit patterns, compared by the enum's sign */
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
	bool is_signed;
	bool swap;                /* not in this machine's byte order */
	bool is_text;             /* its bytes are characters */
	struct ctf_range *ranges; /* of an enum */
	uint32_t nranges;
	struct ctf_field *fields; /* of a struct or variant */
	uint32_t nfields;
	const char *by;      /* field with a variant's tag or a sequence's length; NULL: an array */
	uint64_t length;     /* of an array */
	struct ctf_type *of; /* type of the elements */
};

struct ctf_name { /* one named type */
	struct ctf_name *next;
	const char *name;
	struct ctf_type *type;
};

struct ctf_scope {
	struct ctf_name *names;
	bool swap; /* the trace is not in this machine's byte order */
};

/* State of the parser. The first error stays. */
struct ctf_parser {
	struct ctf_lexer lex;
	struct ctf_trace *trace;
	struct err *e;
	int rc;
	int depth;
};

/* Cleared memory of the trace's arena; NULL: p->rc is set. */
void *ctf_memory(struct ctf_parser *p, size_t count, size_t size);
/* Sets the error "what, near ...", if it is the first. */
int ctf_bad(struct ctf_parser *p, const char *what);
/* Skips the token if it is the present one; expect makes it an error if it is not. */
bool ctf_expect(struct ctf_parser *p, int token, const char *what);
bool ctf_accept(struct ctf_parser *p, int token);
/* The present word or text, copied, and the present number with its sign; both move on. NULL or 0:
 * p->rc is set. */
const char *ctf_text(struct ctf_parser *p);
int64_t ctf_number(struct ctf_parser *p);
struct ctf_type *ctf_parse_type(struct ctf_parser *p); /* NULL: p->rc is set */
/* The statement behind "typealias", with its ';'. */
void ctf_parse_alias(struct ctf_parser *p);
void ctf_name_type(struct ctf_parser *p, const char *name, struct ctf_type *type);

enum ctf_opcode {
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
	struct ctf_op *op;  /* NULL: an empty struct */
};

struct ctf_op {
	uint8_t what;  /* enum ctf_opcode */
	uint8_t bytes; /* of the integer, float or element */
	uint8_t slot;  /* index of the value that it sets */
	bool is_signed, swap;
	uint32_t align_mask; /* alignment in bytes - 1 */
	uint32_t to, by;     /* registers: to set; with the length or tag. 0: none */
	uint64_t length;
	const struct ctf_range *ranges;
	uint32_t nranges, nchoices;
	struct ctf_choice *choices;
};

/* Chooses the slot of a field's value: its number, CTF_TRASH, or UINT32_MAX for the next payload
 * value. */
typedef uint32_t ctf_slot_fn(const char *name, const void *about);

/* Compiles a struct. `about` is passed to slot. `fields`: room for the names of RECORD_VALUES_MAX
 * payload values, their number in *nfields; NULL, NULL: the struct has no payload value. On failure
 * p->rc is set. */
void ctf_compile(struct ctf_parser *p, struct ctf_code *code, const struct ctf_type *type,
    ctf_slot_fn *slot, const void *about, const char **fields, uint32_t *nfields);

/* The offset of a member of a fixed-size struct that begins at `from`, in bytes; UINT32_MAX: no such
 * member. *bytes: the size of the struct; 0: it is not of fixed size. */
uint32_t ctf_offset(const struct ctf_type *type, const char *name, uint32_t from, uint32_t *bytes);

enum ctf_context { CONTEXT_TRACE_ID, CONTEXT_UNIT_ID, CONTEXT_VTID, CONTEXT_VPID };

#endif
