/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the types of the metadata language. */
#include <stdlib.h>
#include <string.h>

#include "agent/ctf/ctf_types.h"

enum { DEPTH_MAX = 16, MEMBERS_MAX = 4096 };

static struct ctf_type *parse_integer(struct ctf_parser *p);
static struct ctf_type *parse_float(struct ctf_parser *p);
static struct ctf_type *parse_string(struct ctf_parser *p);
static struct ctf_type *parse_enum(struct ctf_parser *p);
static struct ctf_type *parse_members(struct ctf_parser *p, enum ctf_kind kind);

int
ctf_bad(struct ctf_parser *p, const char *what)
{
	if (p->rc == 0)
		p->rc = err_set(p->e, ERR_INPUT, "metadata: %s, near \"%.*s\"", what,
		    (int)(p->lex.len > 60 ? 60 : p->lex.len), p->lex.len > 0 ? p->lex.start : "");
	return p->rc;
}

void *
ctf_memory(struct ctf_parser *p, size_t count, size_t size)
{
	void *m = NULL;

	if (p->rc != 0)
		return NULL;
	if (p->trace->arena.total_bytes <= p->trace->max_bytes &&
	    count * size <= p->trace->max_bytes)
		m = arena_calloc(&p->trace->arena, count, size);
	if (m == NULL)
		p->rc = err_set(
		    p->e, ERR_MEMORY, "metadata takes more than %zu bytes", p->trace->max_bytes);
	return m;
}

bool
ctf_accept(struct ctf_parser *p, int token)
{
	if (p->rc != 0 || p->lex.token != token)
		return false;
	ctf_lex_next(&p->lex);
	return true;
}

bool
ctf_expect(struct ctf_parser *p, int token, const char *what)
{
	if (!ctf_accept(p, token)) {
		ctf_bad(p, what);
		return false;
	}
	return true;
}

static bool
accept_word(struct ctf_parser *p, const char *word)
{
	if (p->rc != 0 || !ctf_lex_is(&p->lex, word))
		return false;
	ctf_lex_next(&p->lex);
	return true;
}

const char *
ctf_text(struct ctf_parser *p)
{
	char *copy;

	if (p->rc != 0 || (p->lex.token != TOKEN_WORD && p->lex.token != TOKEN_TEXT)) {
		ctf_bad(p, "a word or a text is missing");
		return NULL;
	}
	if ((copy = ctf_memory(p, 1, p->lex.len + 1)) == NULL)
		return NULL;
	if (p->lex.token == TOKEN_TEXT)
		ctf_lex_unescape(copy, p->lex.start, p->lex.len);
	else
		memcpy(copy, p->lex.start, p->lex.len);
	ctf_lex_next(&p->lex);
	return copy;
}

int64_t
ctf_number(struct ctf_parser *p)
{
	bool minus = ctf_accept(p, '-');
	uint64_t v = p->lex.number;

	if (!ctf_expect(p, TOKEN_NUMBER, "a number is missing"))
		return 0;
	return (int64_t)(minus ? 0 - v : v);
}

void
ctf_name_type(struct ctf_parser *p, const char *name, struct ctf_type *type)
{
	struct ctf_name *n = ctf_memory(p, 1, sizeof *n);

	if (n == NULL || name == NULL || type == NULL)
		return;
	n->name = name;
	n->type = type;
	n->next = p->trace->scope->names;
	p->trace->scope->names = n;
}

static struct ctf_type *
find_type(struct ctf_parser *p, const char *prefix, const char *name)
{
	char whole[256];
	size_t prefix_len = strlen(prefix);

	if (name == NULL || prefix_len + strlen(name) >= sizeof whole) {
		ctf_bad(p, "a type's name is too long");
		return NULL;
	}
	memcpy(whole, prefix, prefix_len);
	strcpy(whole + prefix_len, name);
	for (struct ctf_name *n = p->trace->scope->names; n != NULL; n = n->next)
		if (strcmp(n->name, whole) == 0)
			return n->type;
	ctf_bad(p, "the type is not defined");
	return NULL;
}

/* A type that is named by one or more words: "unsigned long", "uint8_t". keep_last: the last word is
 * the name of a field. */
static struct ctf_type *
parse_named(struct ctf_parser *p, bool keep_last)
{
	char name[256] = "";
	size_t len = 0;

	while (p->rc == 0 && p->lex.token == TOKEN_WORD) {
		struct ctf_lexer before = p->lex;
		ctf_lex_next(&p->lex);
		if (keep_last && len > 0 && p->lex.token != TOKEN_WORD) {
			p->lex = before;
			break;
		}
		if (len + before.len + 2 > sizeof name) {
			ctf_bad(p, "a type's name is too long");
			return NULL;
		}
		if (len > 0)
			name[len++] = ' ';
		memcpy(name + len, before.start, before.len);
		len += before.len;
		name[len] = '\0';
	}
	return p->rc != 0 ? NULL : find_type(p, "", name);
}

static struct ctf_type *
parse_one(struct ctf_parser *p, bool keep_last)
{
	if (accept_word(p, "integer"))
		return parse_integer(p);
	if (accept_word(p, "floating_point"))
		return parse_float(p);
	if (accept_word(p, "string"))
		return parse_string(p);
	if (accept_word(p, "enum"))
		return parse_enum(p);
	if (accept_word(p, "struct"))
		return parse_members(p, CTF_STRUCT);
	if (accept_word(p, "variant"))
		return parse_members(p, CTF_VARIANT);
	if (p->lex.token == TOKEN_WORD)
		return parse_named(p, keep_last);
	ctf_bad(p, "a type is missing");
	return NULL;
}

static struct ctf_type *
parse_type(struct ctf_parser *p, bool keep_last)
{
	struct ctf_type *t = NULL;

	if (++p->depth > DEPTH_MAX)
		ctf_bad(p, "types nest too deep");
	if (p->rc == 0)
		t = parse_one(p, keep_last);
	p->depth--;
	return p->rc == 0 ? t : NULL;
}

struct ctf_type *
ctf_parse_type(struct ctf_parser *p)
{
	return parse_type(p, false);
}

void
ctf_parse_alias(struct ctf_parser *p)
{
	struct ctf_type *t = ctf_parse_type(p);
	char name[256] = "";
	size_t len = 0;

	ctf_expect(p, TOKEN_ASSIGN, ":= is missing");
	while (p->rc == 0 && p->lex.token == TOKEN_WORD && len + p->lex.len + 2 < sizeof name) {
		if (len > 0)
			name[len++] = ' ';
		memcpy(name + len, p->lex.start, p->lex.len);
		len += p->lex.len;
		ctf_lex_next(&p->lex);
	}
	ctf_expect(p, ';', "; is missing");
	if (p->rc == 0)
		ctf_name_type(p, arena_text(&p->trace->arena, name, len), t);
}

static bool
host_is_big(void)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

/* Parses one "key = value;" of a type in braces. False: the closing brace was read. */
static bool
attribute(struct ctf_parser *p, struct ctf_type *t)
{
	struct ctf_lexer key = p->lex;

	if (ctf_accept(p, '}') || !ctf_expect(p, TOKEN_WORD, "an attribute is missing") ||
	    !ctf_expect(p, '=', "= is missing"))
		return false;
	if (ctf_lex_is(&key, "size") || ctf_lex_is(&key, "align")) {
		int64_t v = ctf_number(p);
		if (v < 1 || v > 64)
			ctf_bad(p, "a size or alignment is not of 1 to 64 bits");
		*(ctf_lex_is(&key, "size") ? &t->size_bits : &t->align_bits) = (uint32_t)v;
	} else if (ctf_lex_is(&key, "exp_dig") || ctf_lex_is(&key, "mant_dig")) {
		t->size_bits += (uint32_t)(ctf_number(p) & 0xff);
	} else if (ctf_lex_is(&key, "signed")) {
		t->is_signed = ctf_lex_is(&p->lex, "true") || p->lex.number == 1;
		ctf_lex_next(&p->lex);
	} else if (ctf_lex_is(&key, "byte_order")) {
		bool big = ctf_lex_is(&p->lex, "be") || ctf_lex_is(&p->lex, "network");
		if (!ctf_lex_is(&p->lex, "native"))
			t->swap = big != host_is_big();
		ctf_lex_next(&p->lex);
	} else if (ctf_lex_is(&key, "encoding")) {
		t->is_text = !ctf_lex_is(&p->lex, "none");
		ctf_lex_next(&p->lex);
	} else { /* base, map: they do not change how bytes are read */
		while (p->lex.token != ';' && p->lex.token != TOKEN_END && p->lex.token != '}')
			ctf_lex_next(&p->lex);
	}
	return ctf_expect(p, ';', "; is missing");
}

static struct ctf_type *
new_type(struct ctf_parser *p, enum ctf_kind kind)
{
	struct ctf_type *t = ctf_memory(p, 1, sizeof *t);

	if (t != NULL) {
		t->kind = kind;
		t->swap = p->trace->scope->swap;
	}
	return t;
}

static struct ctf_type *
parse_integer(struct ctf_parser *p)
{
	struct ctf_type *t = new_type(p, CTF_INT);

	if (t == NULL || !ctf_expect(p, '{', "{ is missing"))
		return NULL;
	while (attribute(p, t))
		;
	if (t->size_bits == 0)
		ctf_bad(p, "an integer without a size");
	if (t->align_bits == 0)
		t->align_bits = t->size_bits % 8 == 0 ? 8 : 1;
	return t;
}

static struct ctf_type *
parse_float(struct ctf_parser *p)
{
	struct ctf_type *t = new_type(p, CTF_FLOAT);

	if (t == NULL || !ctf_expect(p, '{', "{ is missing"))
		return NULL;
	while (attribute(p, t))
		;
	if (t->size_bits != 32 && t->size_bits != 64)
		ctf_bad(p, "a floating point number that has neither 32 nor 64 bits");
	if (t->align_bits == 0)
		t->align_bits = 8;
	return t;
}

static struct ctf_type *
parse_string(struct ctf_parser *p)
{
	struct ctf_type *t = new_type(p, CTF_STRING);

	if (t == NULL)
		return NULL;
	t->align_bits = 8;
	if (ctf_accept(p, '{'))
		while (attribute(p, t))
			;
	return t;
}

/* A label of an enum: "RED" = 0, "MANY" = 2 ... 9, or "NEXT" */
static void
parse_range(struct ctf_parser *p, struct ctf_range *r, uint64_t next)
{
	r->text = ctf_text(p);
	r->len = r->text == NULL ? 0 : (uint32_t)strlen(r->text);
	if (r->len > VALUE_TEXT_MAX)
		r->len = VALUE_TEXT_MAX;
	r->low = r->high = next;
	if (ctf_accept(p, '=')) {
		r->low = r->high = (uint64_t)ctf_number(p);
		if (ctf_accept(p, TOKEN_DOTS))
			r->high = (uint64_t)ctf_number(p);
	}
}

static size_t
count_members(const struct ctf_lexer *from, int by)
{
	struct ctf_lexer l = *from;
	size_t n = 1;

	for (int depth = 0; depth >= 0 && l.token != TOKEN_END && l.token != TOKEN_BAD;
	     ctf_lex_next(&l)) {
		depth += (l.token == '{') - (l.token == '}');
		n += depth == 0 && l.token == by;
	}
	return n;
}

static struct ctf_type *
parse_enum(struct ctf_parser *p)
{
	const char *name = NULL;
	struct ctf_type *base = NULL, *t;

	if (p->lex.token == TOKEN_WORD)
		name = ctf_text(p);
	if (p->lex.token != ':' && p->lex.token != '{')
		return p->rc != 0 ? NULL : find_type(p, "enum ", name);
	base = ctf_accept(p, ':') ? ctf_parse_type(p) : p->rc == 0 ? find_type(p, "", "int") : NULL;
	if (base == NULL || (t = new_type(p, CTF_INT)) == NULL)
		return NULL;
	if (base->kind != CTF_INT)
		ctf_bad(p, "the enum is of no integer type");
	*t = *base;
	t->nranges = 0;
	ctf_expect(p, '{', "{ is missing");
	size_t room = count_members(&p->lex, ',') + 1;
	if ((t->ranges = ctf_memory(p, room, sizeof *t->ranges)) == NULL)
		return NULL;
	while (p->rc == 0 && p->lex.token != '}') {
		if (t->nranges == room) {
			ctf_bad(p, "malformed labels");
			break;
		}
		parse_range(p, &t->ranges[t->nranges],
		    t->nranges > 0 ? t->ranges[t->nranges - 1].high + 1 : 0);
		t->nranges++;
		if (!ctf_accept(p, ','))
			break;
	}
	ctf_expect(p, '}', "} is missing");
	if (name != NULL && p->rc == 0) {
		char whole[256] = "enum ";
		strncat(whole, name, sizeof whole - 6);
		ctf_name_type(p, arena_text(&p->trace->arena, whole, strlen(whole)), t);
	}
	return t;
}

/* An array [4] or a sequence [ length ], behind the name of a member. */
static struct ctf_type *
parse_dimension(struct ctf_parser *p, struct ctf_type *of)
{
	struct ctf_type *t = new_type(p, CTF_ARRAY);

	if (t == NULL)
		return NULL;
	t->of = of;
	t->align_bits = of->align_bits;
	if (p->lex.token == TOKEN_NUMBER) {
		t->length = p->lex.number;
		ctf_lex_next(&p->lex);
	} else {
		t->by = ctf_text(p);
	}
	ctf_expect(p, ']', "] is missing");
	return t;
}

static void
parse_member(struct ctf_parser *p, struct ctf_type *t)
{
	struct ctf_field *f = &t->fields[t->nfields];
	struct ctf_type *type = parse_type(p, true);

	f->name = ctf_text(p);
	while (p->rc == 0 && ctf_accept(p, '['))
		type = parse_dimension(p, type);
	ctf_expect(p, ';', "; is missing");
	if (p->rc != 0)
		return;
	f->type = type;
	t->nfields++;
	if (t->kind == CTF_STRUCT && type->align_bits > t->align_bits)
		t->align_bits = type->align_bits;
}

static void
parse_align(struct ctf_parser *p, struct ctf_type *t)
{
	if (!accept_word(p, "align") || !ctf_expect(p, '(', "( is missing"))
		return;
	int64_t v = ctf_number(p);
	if (v < 1 || v > 4096 || (v & (v - 1)) != 0)
		ctf_bad(p, "an alignment is no power of two");
	else if (v > t->align_bits)
		t->align_bits = (uint32_t)v;
	ctf_expect(p, ')', ") is missing");
}

/* struct NAME { ... } align(8), variant NAME <tag> { ... }; the name or the members may be missing. */
static struct ctf_type *
parse_members(struct ctf_parser *p, enum ctf_kind kind)
{
	const char *prefix = kind == CTF_STRUCT ? "struct " : "variant ";
	const char *name = NULL, *by = NULL;
	struct ctf_type *t;

	if (p->lex.token == TOKEN_WORD)
		name = ctf_text(p);
	if (kind == CTF_VARIANT && ctf_accept(p, '<')) {
		by = ctf_text(p);
		ctf_expect(p, '>', "> is missing");
	}
	if (p->rc == 0 && p->lex.token != '{') {
		struct ctf_type *known = find_type(p, prefix, name);
		if (known == NULL || (t = new_type(p, kind)) == NULL)
			return NULL;
		*t = *known;
		if (by != NULL)
			t->by = by;
		return t;
	}
	if (!ctf_expect(p, '{', "{ is missing") || (t = new_type(p, kind)) == NULL)
		return NULL;
	t->by = by;
	t->align_bits = 1;
	size_t room = count_members(&p->lex, ';');
	if (room > MEMBERS_MAX)
		ctf_bad(p, "too many fields");
	t->fields = ctf_memory(p, room, sizeof *t->fields);
	while (p->rc == 0 && p->lex.token != '}') {
		if (t->nfields == room) /* malformed: it was counted differently */
			ctf_bad(p, "malformed fields");
		else
			parse_member(p, t);
	}
	ctf_expect(p, '}', "} is missing");
	if (kind == CTF_STRUCT)
		parse_align(p, t);
	if (name != NULL && p->rc == 0) {
		char whole[256];
		strcpy(whole, prefix);
		strncat(whole, name, sizeof whole - strlen(prefix) - 1);
		ctf_name_type(p, arena_text(&p->trace->arena, whole, strlen(whole)), t);
	}
	return t;
}
