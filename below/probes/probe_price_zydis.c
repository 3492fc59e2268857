/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/probes/probe_price.h"

#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

enum { ENTRY_BYTES_MAX = 64 };

static bool
decode(const uint8_t *code, size_t len, ZydisDecodedInstruction *ret,
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT])
{
	ZydisDecoder decoder;

	return ZYAN_SUCCESS(
		   ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, len, ret, operands));
}

static bool
has_prefix(const ZydisDecodedInstruction *i, uint8_t value)
{
	for (uint8_t k = 0; k < i->raw.prefix_count; k++)
		if (i->raw.prefixes[k].value == value)
			return true;
	return false;
}

/* Branches with an operand-size prefix are refused by the kernel, as are all instructions with these prefixes. */
static bool
is_refused(const ZydisDecodedInstruction *i)
{
	static const uint8_t refused[] = { 0x26, 0x2e, 0x36, 0x3e, 0xf0 };

	for (size_t k = 0; k < sizeof refused; k++)
		if (has_prefix(i, refused[k]))
			return true;
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
	case ZYDIS_MNEMONIC_IN:
	case ZYDIS_MNEMONIC_OUT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		return false;
	}
}

static bool
is_conditional_jump(const ZydisDecodedInstruction *i)
{
	return (i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && i->opcode >= 0x70 &&
		   i->opcode <= 0x7f) ||
	       (i->opcode_map == ZYDIS_OPCODE_MAP_0F && i->opcode >= 0x80 && i->opcode <= 0x8f);
}

static enum probe_way
way_of(const ZydisDecodedInstruction *i)
{
	bool plain = i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;

	if (i->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return PROBE_STEPPED;
	if (plain && i->opcode == 0x90 && i->mnemonic == ZYDIS_MNEMONIC_NOP)
		return is_refused(i) ? PROBE_NO_CODE : PROBE_EMULATED;
	if (is_conditional_jump(i) ||
	    (plain && (i->opcode == 0xe8 || i->opcode == 0xe9 || i->opcode == 0xeb)))
		return is_refused(i) || has_prefix(i, 0x66) ? PROBE_NO_CODE : PROBE_EMULATED;
	if (is_refused(i))
		return PROBE_NO_CODE;
	/* push of a register: one byte, or two with REX.B alone (0x41). */
	if (plain && i->opcode >= 0x50 && i->opcode <= 0x57 &&
	    (i->length == 1 || (i->length == 2 && has_prefix(i, 0x41))))
		return PROBE_EMULATED;
	if (i->mnemonic == ZYDIS_MNEMONIC_NOP && i->opcode_map == ZYDIS_OPCODE_MAP_0F &&
	    i->opcode == 0x1f)
		return PROBE_LONG_NOP;
	return PROBE_STEPPED;
}

struct probe_price
probe_price_of(const uint8_t *code, size_t len)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct probe_price none = { PROBE_NO_CODE, 0 };
	ZydisDecodedInstruction i;
	enum probe_way way;

	if (!decode(code, len, &i, operands) || (way = way_of(&i)) == PROBE_NO_CODE)
		return none;
	return (struct probe_price){ way, i.length };
}

uint32_t
probe_price_ns(enum probe_way way, bool and_return)
{
	static const uint32_t ns[][2] = { [PROBE_EMULATED] = { 580, 1160 },
		[PROBE_LONG_NOP] = { 410, 820 },
		[PROBE_STEPPED] = { 12600, 13200 },
		[PROBE_NO_CODE] = { 0, 0 } };

	return ns[way][and_return];
}

static bool
changes_stack_pointer(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands)
{
	for (uint8_t k = 0; k < i->operand_count; k++)
		if (operands[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (operands[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 &&
		    ZydisRegisterGetLargestEnclosing(
			ZYDIS_MACHINE_MODE_LONG_64, operands[k].reg.value) == ZYDIS_REGISTER_RSP)
			return true;
	return false;
}

static bool
ends_straight_way(const ZydisDecodedInstruction *i)
{
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
		return true;
	default:
		return false;
	}
}

/* Whether a direct branch of the function leads to an address from `from` on and not behind the place. */
static bool
leads_back(const uint8_t *code, size_t len, uint32_t from, uint32_t place, bool *decoded)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;

	*decoded = true;
	for (size_t at = 0; at < len; at += i.length) {
		if (!decode(code + at, len - at, &i, operands)) {
			*decoded = false;
			return false;
		}
		for (uint8_t k = 0; k < i.operand_count; k++)
			if (operands[k].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			    operands[k].imm.is_relative) {
				int64_t to = (int64_t)at + i.length + operands[k].imm.value.s;

				if (to >= (int64_t)from && to <= (int64_t)place)
					return true;
			}
	}
	return false;
}

bool
probe_place_of(const uint8_t *code, size_t len, bool long_nops, uint32_t *offset)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	bool decoded;

	for (size_t at = 0; at < len && at < ENTRY_BYTES_MAX; at += i.length) {
		enum probe_way way;

		if (!decode(code + at, len - at, &i, operands))
			return false;
		way = way_of(&i);
		if (way == PROBE_EMULATED || (way == PROBE_LONG_NOP && long_nops)) {
			*offset = (uint32_t)at;
			return !leads_back(code, len, 1, *offset, &decoded) && decoded;
		}
		if (ends_straight_way(&i) || changes_stack_pointer(&i, operands))
			return false;
	}
	return false;
}

bool
probe_entry_of(const uint8_t *code, size_t len, uint32_t *offset, enum probe_way *way)
{
	static const uint8_t ENDBR64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint32_t at = 0;
	bool decoded;

	*way = PROBE_EMULATED;
	if (probe_place_of(code, len, false, offset))
		return true;
	if (len > sizeof ENDBR64 && memcmp(code, ENDBR64, sizeof ENDBR64) == 0)
		at = sizeof ENDBR64;
	if (at >= len || (*way = probe_price_of(code + at, len - at).way) == PROBE_NO_CODE)
		return false;
	*offset = at;
	return !leads_back(code, len, 0, at, &decoded) && decoded;
}

/* ---- where a function is left ---- */

static bool
is_inside(const struct code_part *parts, uint32_t n, uint64_t address)
{
	for (uint32_t i = 0; i < n; i++)
		if (address - parts[i].address < parts[i].len)
			return true;
	return false;
}

/* Whether the jump goes to an address that stands in a table: read by index, or added up by the instruction before. */
static bool
is_by_table(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *to, ZydisRegister added)
{
	if (to->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return to->mem.index != ZYDIS_REGISTER_NONE;
	return (to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->reg.value == added) ||
	       has_prefix(i, 0x3e); /* notrack: of switches alone */
}

enum way_out { STAYS, LEAVES, MAY_LEAVE };

static enum way_out
way_out_of(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands,
    const struct code_part *parts, uint32_t n, uint64_t address, ZydisRegister added)
{
	const ZydisDecodedOperand *to = &operands[0];
	bool jumps = i->meta.category == ZYDIS_CATEGORY_UNCOND_BR;

	if (i->meta.category == ZYDIS_CATEGORY_RET)
		return LEAVES;
	if (!jumps && i->meta.category != ZYDIS_CATEGORY_COND_BR)
		return STAYS;
	if (to->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return is_by_table(i, to, added) ? STAYS : LEAVES;
	if (is_inside(parts, n, address + i->length + (uint64_t)to->imm.value.s))
		return STAYS;
	return jumps ? LEAVES : MAY_LEAVE;
}

/* The register that the instruction adds to; NONE: it does not add. */
static ZydisRegister
adds_to(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands)
{
	return i->mnemonic == ZYDIS_MNEMONIC_ADD && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER
	           ? operands[0].reg.value
	           : ZYDIS_REGISTER_NONE;
}

/* ---- what the flow of control reaches ---- */

enum {
	BOUNDARY = 1,
	ROOT = 2,
	REACHED = 4
}; /* of a byte: an instruction begins there; a branch leads there */

struct code_flow {
	const struct code_part *parts;
	uint32_t nparts;
	uint8_t *marks[CODE_PARTS_MAX]; /* one for each byte of a part */
	bool has_tables;                /* it jumps by tables: where these lead is not known */
	bool changed;
};

/* The mark of that address; NULL: it is in none of the parts. */
static uint8_t *
mark_of(const struct code_flow *f, uint64_t address)
{
	for (uint32_t i = 0; i < f->nparts; i++)
		if (address - f->parts[i].address < f->parts[i].len)
			return &f->marks[i][address - f->parts[i].address];
	return NULL;
}

static bool
is_direct(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands)
{
	return (i->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		   i->meta.category == ZYDIS_CATEGORY_COND_BR) &&
	       operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* The next instruction is not run after this one. */
static bool
is_last(const ZydisDecodedInstruction *i)
{
	return i->meta.category == ZYDIS_CATEGORY_RET ||
	       i->meta.category == ZYDIS_CATEGORY_UNCOND_BR || i->mnemonic == ZYDIS_MNEMONIC_UD2;
}

/* Marks where instructions begin. False: the part cannot be decoded. */
static bool
mark_boundaries(struct code_flow *f, uint32_t part)
{
	const struct code_part *p = &f->parts[part];
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisRegister added = ZYDIS_REGISTER_NONE;
	ZydisDecodedInstruction i;

	for (size_t at = 0; at < p->len; at += i.length) {
		if (!decode(p->code + at, p->len - at, &i, operands))
			return false;
		f->marks[part][at] |= BOUNDARY;
		if (i.meta.category == ZYDIS_CATEGORY_UNCOND_BR && !is_direct(&i, operands))
			f->has_tables |= is_by_table(&i, &operands[0], added);
		added = adds_to(&i, operands);
	}
	return true;
}

/* One pass from what is reached already. False: a branch leads into an instruction, so that some of this is no code. */
static bool
reach(struct code_flow *f, uint32_t part)
{
	const struct code_part *p = &f->parts[part];
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	bool live = false, begun = false;

	for (size_t at = 0; at < p->len; at += i.length) {
		uint8_t *mark = &f->marks[part][at], *to;

		if (!decode(p->code + at, p->len - at, &i, operands))
			return false;
		live |= (*mark & ROOT) != 0;
		begun |= live;
		if (live && (*mark & REACHED) == 0) {
			*mark |= REACHED;
			f->changed = true;
		}
		if (live && is_direct(&i, operands) &&
		    (to = mark_of(f,
			 p->address + at + i.length + (uint64_t)operands[0].imm.value.s)) != NULL) {
			if ((*to & BOUNDARY) == 0)
				return false;
			f->changed |= (*to & ROOT) == 0;
			*to |= ROOT;
		}
		live = is_last(&i) ? f->has_tables && begun : live;
	}
	return true;
}

/* What only lies between, a table of constants, may look like a return, and must not be written to. */
static bool
follow_flow(struct code_flow *f)
{
	for (uint32_t p = 0; p < f->nparts; p++)
		if (!mark_boundaries(f, p))
			return false;
	f->marks[0][0] |= ROOT;
	do {
		f->changed = false;
		for (uint32_t p = 0; p < f->nparts; p++)
			if (!reach(f, p))
				return false;
	} while (f->changed);
	return true;
}

/* ---- the exits ---- */

/* Of what is reached. As probe_exits_of(). */
static int
exits_of(const struct code_flow *f, uint64_t *exits, uint32_t max, uint64_t *missing)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	uint32_t n = 0;

	for (uint32_t p = 0; p < f->nparts; p++) {
		const struct code_part *part = &f->parts[p];
		ZydisRegister added = ZYDIS_REGISTER_NONE;

		for (size_t at = 0; at < part->len; at += i.length) {
			uint64_t address = part->address + at;
			enum way_out way;

			if (!decode(part->code + at, part->len - at, &i, operands))
				return -1;
			way = (f->marks[p][at] & REACHED) == 0
			          ? STAYS
			          : way_out_of(&i, operands, f->parts, f->nparts, address, added);
			if (way == MAY_LEAVE)
				*missing = address + i.length + (uint64_t)operands[0].imm.value.s;
			if (way == MAY_LEAVE || (way == LEAVES && n == max) ||
			    (way == LEAVES && way_of(&i) == PROBE_NO_CODE))
				return -1;
			if (way == LEAVES)
				exits[n++] = address;
			added = adds_to(&i, operands);
		}
	}
	return (int)n;
}

int
probe_exits_of(const struct code_part *parts, uint32_t nparts, uint64_t *exits, uint32_t max,
    uint64_t *missing)
{
	struct code_flow f = { .parts = parts, .nparts = nparts };
	bool room = nparts > 0 && nparts <= CODE_PARTS_MAX && parts[0].len > 0;
	int n = -1;

	*missing = 0;
	for (uint32_t p = 0; p < nparts && room; p++)
		room = (f.marks[p] = calloc(parts[p].len + 1, 1)) != NULL;
	if (room && follow_flow(&f))
		n = exits_of(&f, exits, max, missing);
	for (uint32_t p = 0; p < nparts && p < CODE_PARTS_MAX; p++)
		free(f.marks[p]);
	return n;
}
