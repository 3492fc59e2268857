/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiles types: the tree of a struct becomes an array of instructions, one for each plain field. */
#include <string.h>

#include "agent/ctf/ctf_types.h"

enum { REGS_MAX = 64, OPS_MAX = 16384 };

struct compiler {
	struct ctf_parser *p;
	struct ctf_code *code;
	const char **names; /* of the instructions' fields, to find lengths and tags */
	uint32_t cap;
	ctf_slot_fn *slot;
	const void *about;
	const char **fields;
	uint32_t *nfields;
};

static void compile_field(
    struct compiler *c, const struct ctf_field *f, const struct ctf_field *next);

static uint32_t
count_ops(const struct ctf_type *t)
{
	uint32_t n = 2;

	if (t->kind == CTF_STRUCT)
		for (uint32_t i = 0; i < t->nfields && n < OPS_MAX; i++)
			n += count_ops(t->fields[i].type);
	return n;
}

static bool
set_align(struct compiler *c, struct ctf_op *op, uint32_t align_bits)
{
	uint32_t bytes = align_bits / 8;

	if (align_bits % 8 != 0 || bytes == 0 || (bytes & (bytes - 1)) != 0) {
		ctf_bad(c->p, "a field is not aligned to a byte");
		return false;
	}
	op->align_mask = bytes - 1;
	return true;
}

static bool
whole_bytes(const struct ctf_type *t)
{
	return t->size_bits == 8 || t->size_bits == 16 || t->size_bits == 32 || t->size_bits == 64;
}

/* The instruction for a plain field. False: the type is not plain, or p->rc is set. */
static bool
plain_op(struct compiler *c, struct ctf_op *op, const struct ctf_type *t)
{
	switch (t->kind) {
	case CTF_INT:
	case CTF_FLOAT:
		if (!whole_bytes(t)) {
			ctf_bad(c->p, "an integer that has neither 8, 16, 32 nor 64 bits");
			return false;
		}
		op->what = t->kind == CTF_FLOAT ? OP_FLOAT : t->nranges > 0 ? OP_ENUM : OP_INT;
		op->bytes = (uint8_t)(t->size_bits / 8);
		op->is_signed = t->is_signed;
		op->swap = t->swap && t->size_bits > 8;
		op->ranges = t->ranges;
		op->nranges = t->nranges;
		break;
	case CTF_STRING:
		op->what = OP_STRING;
		break;
	default:
		return false;
	}
	return set_align(c, op, t->align_bits);
}

/* The register with the value of the last field before that has this name. 0: p->rc is set. */
static uint32_t
find_register(struct compiler *c, const char *name)
{
	for (uint32_t i = c->code->nops; name != NULL && i-- > 0;) {
		struct ctf_op *op = &c->code->ops[i];
		if (c->names[i] == NULL || strcmp(c->names[i], name) != 0)
			continue;
		if (op->what != OP_INT && op->what != OP_ENUM)
			break;
		if (op->to == 0 && c->code->nregs + 1 < REGS_MAX)
			op->to = ++c->code->nregs;
		if (op->to == 0)
			break;
		return op->to;
	}
	ctf_bad(c->p, "a length or tag is no integer before its field");
	return 0;
}

static void
array_op(struct compiler *c, struct ctf_op *op, const struct ctf_type *t)
{
	const struct ctf_type *of = t->of;
	bool sequence = t->by != NULL;
	bool is_text = of->kind == CTF_INT && of->size_bits == 8 && of->is_text;

	if (of->kind == CTF_STRING)
		op->what = sequence ? OP_SKIP_STRINGS_BY : OP_SKIP_STRINGS;
	else if (is_text)
		op->what = sequence ? OP_TEXT_BY : OP_TEXT;
	else
		op->what = sequence ? OP_SKIP_BY : OP_SKIP;
	if (of->kind != CTF_STRING &&
	    ((of->kind != CTF_INT && of->kind != CTF_FLOAT) || !whole_bytes(of))) {
		ctf_bad(c->p, "an array of neither numbers nor strings");
		return;
	}
	op->bytes = (uint8_t)(of->size_bits / 8);
	op->length = t->length;
	op->by = sequence ? find_register(c, t->by) : 0;
	set_align(c, op, of->align_bits);
}

/* Adds the member that a range of the tag selects; an empty struct selects no value. */
static void
add_choice(struct compiler *c, struct ctf_op *op, const struct ctf_range *range,
    const struct ctf_type *member)
{
	struct ctf_choice *choice = &op->choices[op->nchoices];

	choice->low = range->low;
	choice->high = range->high;
	if (!(member->kind == CTF_STRUCT && member->nfields == 0)) {
		if ((choice->op = ctf_memory(c->p, 1, sizeof *choice->op)) == NULL)
			return;
		if (!plain_op(c, choice->op, member))
			ctf_bad(c->p, "a variant of neither numbers nor strings");
		choice->op->slot = op->slot;
	}
	op->nchoices++;
}

/* The tag is an enum: the label of its value names the member. */
static void
variant_op(struct compiler *c, struct ctf_op *op, const struct ctf_type *t)
{
	op->what = OP_VARIANT;
	op->by = find_register(c, t->by);
	if (c->p->rc != 0)
		return;
	const struct ctf_op *tag = NULL;
	for (uint32_t i = 0; i < c->code->nops && tag == NULL; i++)
		if (c->code->ops[i].to == op->by)
			tag = &c->code->ops[i];
	op->choices = ctf_memory(c->p, tag->nranges + 1, sizeof *op->choices);
	for (uint32_t r = 0; c->p->rc == 0 && r < tag->nranges; r++)
		for (uint32_t i = 0; i < t->nfields; i++)
			if (strcmp(t->fields[i].name, tag->ranges[r].text) == 0) {
				add_choice(c, op, &tag->ranges[r], t->fields[i].type);
				break;
			}
}

/* The length of a text and the tag of a variant are no values of their own. */
static bool
is_helper(const struct ctf_field *f, const struct ctf_field *next)
{
	if (next == NULL || next->type->by == NULL || strcmp(next->type->by, f->name) != 0)
		return false;
	return next->type->kind == CTF_VARIANT || next->type->of->is_text ||
	       next->type->of->kind == CTF_STRING;
}

static bool
is_length(const struct ctf_field *f, const struct ctf_field *next)
{
	return next != NULL && next->type->kind == CTF_ARRAY && next->type->by != NULL &&
	       strcmp(next->type->by, f->name) == 0;
}

static bool
has_value(const struct ctf_type *t)
{
	if (t->kind == CTF_ARRAY)
		return t->of->kind == CTF_INT && t->of->size_bits == 8 && t->of->is_text;
	return true;
}

static uint8_t
choose_slot(struct compiler *c, const struct ctf_field *f, const struct ctf_field *next)
{
	const char *name = f->name + (f->name[0] == '_');
	uint32_t slot;

	if (!has_value(f->type) || is_helper(f, next))
		return CTF_TRASH;
	if (is_length(f, next) && name[0] == '_')
		name++;
	slot = c->slot(name, c->about);
	if (slot == UINT32_MAX && *c->nfields < RECORD_VALUES_MAX) {
		slot = (*c->nfields)++;
		c->fields[slot] = name;
	}
	return slot == UINT32_MAX ? CTF_TRASH : (uint8_t)slot;
}

static void
compile_struct(struct compiler *c, const struct ctf_type *t)
{
	for (uint32_t i = 0; i < t->nfields && c->p->rc == 0; i++)
		compile_field(c, &t->fields[i], i + 1 < t->nfields ? &t->fields[i + 1] : NULL);
}

static void
compile_field(struct compiler *c, const struct ctf_field *f, const struct ctf_field *next)
{
	struct ctf_op op = { .what = OP_ALIGN, .slot = CTF_TRASH };

	if (f->type->kind == CTF_STRUCT) {
		if (!set_align(c, &op, f->type->align_bits < 8 ? 8 : f->type->align_bits))
			return;
	} else {
		op.slot = choose_slot(c, f, next);
		if (f->type->kind == CTF_ARRAY)
			array_op(c, &op, f->type);
		else if (f->type->kind == CTF_VARIANT)
			variant_op(c, &op, f->type);
		else
			plain_op(c, &op, f->type);
	}
	if (c->p->rc != 0)
		return;
	if (c->code->nops == c->cap) {
		ctf_bad(c->p, "too many fields");
		return;
	}
	c->names[c->code->nops] = f->name;
	c->code->ops[c->code->nops++] = op;
	if (f->type->kind == CTF_STRUCT)
		compile_struct(c, f->type);
}

void
ctf_compile(struct ctf_parser *p, struct ctf_code *code, const struct ctf_type *type,
    ctf_slot_fn *slot, const void *about, const char **fields, uint32_t *nfields)
{
	uint32_t none = 0;
	struct compiler c = { p, code, NULL, count_ops(type), slot, about, fields,
		nfields != NULL ? nfields : &none };

	memset(code, 0, sizeof *code);
	if (type->kind != CTF_STRUCT) {
		ctf_bad(p, "fields are no struct");
		return;
	}
	code->ops = ctf_memory(p, c.cap, sizeof *code->ops);
	c.names = ctf_memory(p, c.cap, sizeof *c.names);
	if (p->rc == 0)
		compile_struct(&c, type);
}

uint32_t
ctf_offset(const struct ctf_type *type, const char *name, uint32_t from, uint32_t *bytes)
{
	uint64_t at = (uint64_t)from * 8;
	uint32_t found = UINT32_MAX;

	*bytes = 0;
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct ctf_field *f = &type->fields[i];
		const struct ctf_type *one = f->type->kind == CTF_ARRAY ? f->type->of : f->type;
		uint64_t count = f->type->kind == CTF_ARRAY ? f->type->length : 1;
		if ((one->kind != CTF_INT && one->kind != CTF_FLOAT) || f->type->by != NULL ||
		    !whole_bytes(one) || count > 4096 || at > 1 << 20)
			return UINT32_MAX;
		at = (at + one->align_bits - 1) / one->align_bits * one->align_bits;
		if (at % 8 != 0)
			return UINT32_MAX;
		if (strcmp(f->name, name) == 0)
			found = (uint32_t)(at / 8);
		at += count * one->size_bits;
	}
	*bytes = (uint32_t)(at / 8) - from;
	return found;
}
