/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One step of unwinding. libdw finds the row of rules of an address (DWARF 5, 6.4); this evaluates them over the copied
 * bytes. libdwfl can do all of it, but only with all files of each process opened for that process: here processes
 * share them.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "below/stacks/code_file_inside.h"

enum { OPERATIONS_MAX = 1000, RSP = 7, RIP = 16 };

static void
push(struct code_machine *m, uint64_t v)
{
	if (m->depth == (int)(sizeof m->stack / sizeof *m->stack))
		m->failed = true;
	else
		m->stack[m->depth++] = v;
}

static uint64_t
pop(struct code_machine *m)
{
	if (m->depth == 0) {
		m->failed = true;
		return 0;
	}
	return m->stack[--m->depth];
}

static uint64_t
memory(struct code_machine *m, uint64_t address, size_t size)
{
	uint64_t at = address - m->state->low, v = 0;

	if (address < m->state->low || at > m->state->nbytes || size > m->state->nbytes - at)
		m->missed = true;
	else
		memcpy(&v, m->state->bytes + at, size);
	return v;
}

static uint64_t
of_register(struct code_machine *m, uint64_t number)
{
	if (number >= CODE_REGISTERS) {
		m->failed = true;
		return 0;
	}
	return m->state->registers[number];
}

static void
binary(struct code_machine *m, uint8_t atom)
{
	uint64_t b = pop(m), a = pop(m);
	int64_t sb = (int64_t)b, sa = (int64_t)a;

	switch (atom) {
	case DW_OP_plus:
		push(m, a + b);
		break;
	case DW_OP_minus:
		push(m, a - b);
		break;
	case DW_OP_mul:
		push(m, a * b);
		break;
	case DW_OP_and:
		push(m, a & b);
		break;
	case DW_OP_or:
		push(m, a | b);
		break;
	case DW_OP_xor:
		push(m, a ^ b);
		break;
	case DW_OP_shl:
		push(m, b < 64 ? a << b : 0);
		break;
	case DW_OP_shr:
		push(m, b < 64 ? a >> b : 0);
		break;
	case DW_OP_shra:
		push(m, (uint64_t)(sa >> (b < 64 ? b : 63)));
		break;
	case DW_OP_eq:
		push(m, a == b);
		break;
	case DW_OP_ne:
		push(m, a != b);
		break;
	case DW_OP_lt:
		push(m, sa < sb);
		break;
	case DW_OP_le:
		push(m, sa <= sb);
		break;
	case DW_OP_gt:
		push(m, sa > sb);
		break;
	case DW_OP_ge:
		push(m, sa >= sb);
		break;
	case DW_OP_swap:
		push(m, b);
		push(m, a);
		break;
	default:
		m->failed = true;
	}
}

static void
unary(struct code_machine *m, const Dwarf_Op *op)
{
	uint64_t a = pop(m);

	switch (op->atom) {
	case DW_OP_deref:
		push(m, memory(m, a, 8));
		break;
	case DW_OP_deref_size:
		push(m, op->number <= 8 ? memory(m, a, op->number) : 0);
		break;
	case DW_OP_plus_uconst:
		push(m, a + op->number);
		break;
	case DW_OP_neg:
		push(m, -a);
		break;
	case DW_OP_not:
		push(m, ~a);
		break;
	case DW_OP_drop:
		break;
	case DW_OP_dup:
		push(m, a);
		push(m, a);
		break;
	default:
		m->failed = true;
	}
}

static void
constant(struct code_machine *m, const Dwarf_Op *op)
{
	uint8_t atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		push(m, (uint64_t)(atom - DW_OP_lit0));
	else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		push(m, of_register(m, (uint64_t)(atom - DW_OP_breg0)) + op->number);
	else if (atom == DW_OP_bregx)
		push(m, of_register(m, op->number) + op->number2);
	else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		push(m, op->number); /* libdw has extended the sign */
	else
		m->failed = true;
}

uint64_t
code_machine_run(struct code_machine *m, const Dwarf_Op *ops, size_t count)
{
	size_t at = 0;

	for (int steps = 0; at < count && !m->failed && !m->missed; at++, steps++) {
		const Dwarf_Op *op = &ops[at];

		if (steps == OPERATIONS_MAX)
			m->failed = true;
		switch (op->atom) {
		case DW_OP_nop:
			break;
		case DW_OP_call_frame_cfa:
			push(m, m->cfa);
			break;
		case DW_OP_stack_value:
			m->is_value = true;
			break;
		case DW_OP_reg0 ... DW_OP_reg31:
			m->is_value = true;
			push(m, of_register(m, (uint64_t)(op->atom - DW_OP_reg0)));
			break;
		case DW_OP_regx:
			m->is_value = true;
			push(m, of_register(m, op->number));
			break;
		case DW_OP_deref:
		case DW_OP_deref_size:
		case DW_OP_plus_uconst:
		case DW_OP_neg:
		case DW_OP_not:
		case DW_OP_drop:
		case DW_OP_dup:
			unary(m, op);
			break;
		case DW_OP_const1u ... DW_OP_consts:
		case DW_OP_lit0 ... DW_OP_lit31:
		case DW_OP_breg0 ... DW_OP_breg31:
		case DW_OP_bregx:
			constant(m, op);
			break;
		default:
			binary(m, op->atom);
		}
	}
	return pop(m);
}

/* What the caller has in a register. False: m->failed or m->missed, or it is undefined (neither is set). */
static bool
caller_register(struct code_machine *m, Dwarf_Frame *frame, int number, uint64_t *ret)
{
	Dwarf_Op space[3], *ops;
	size_t count;

	m->depth = 0;
	m->is_value = m->failed = m->missed = false;
	if (dwarf_frame_register(frame, number, space, &ops, &count) != 0) {
		m->failed = true;
		return false;
	}
	if (count == 0 && ops != NULL) /* undefined */
		return false;
	if (count == 0)
		*ret = m->state->registers[number];
	else {
		uint64_t v = code_machine_run(m, ops, count);

		if (!m->failed && !m->missed && !m->is_value)
			v = memory(m, v, 8);
		*ret = v;
	}
	return !m->failed && !m->missed;
}

static enum code_step
apply(struct code_state *s, Dwarf_Frame *frame)
{
	struct code_machine m = { .state = s };
	uint64_t caller[CODE_REGISTERS] = { 0 };
	Dwarf_Op *ops;
	bool signal = false;
	size_t count;
	int link = dwarf_frame_info(frame, NULL, NULL, &signal); /* where the return address is */

	if (link != RIP || dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0)
		return STEP_NO_RULES;
	m.cfa = code_machine_run(&m, ops, count);
	if (m.missed || m.failed)
		return m.missed ? STEP_BYTES_MISSED : STEP_NO_RULES;
	for (int i = 0; i < CODE_REGISTERS; i++) {
		if (i == RIP)
			continue;
		/* The CFA is the caller's stack pointer, but for a signal frame, whose caller was interrupted.
		 * Registers that were not copied or that calls do not preserve are unknown: if one of
		 * them matters, a later step fails. */
		if (i == RSP && !signal)
			caller[i] = m.cfa;
		else if (!caller_register(&m, frame, i, &caller[i])) {
			if (i == RSP)
				return m.missed ? STEP_BYTES_MISSED : STEP_NO_RULES;
			caller[i] = 0;
		}
	}
	if (!caller_register(&m, frame, RIP, &caller[RIP]))
		return m.missed ? STEP_BYTES_MISSED : m.failed ? STEP_NO_RULES : STEP_START;
	if (caller[RIP] == 0)
		return STEP_START;
	/* It would never end. Only the innermost frame may have nothing on the stack: vfork() keeps its return address in
	 * a register. */
	if (!signal &&
	    (caller[RSP] < s->registers[RSP] || (caller[RSP] == s->registers[RSP] && !s->exact)))
		return STEP_NO_RULES;
	memcpy(s->registers, caller, sizeof caller);
	s->exact = signal;
	return STEP_CALLER;
}

enum code_step
code_file_step(struct code_file *f, uint64_t address, struct code_state *s)
{
	Dwarf_Frame *frame = NULL;
	enum code_step step;

	if (f->rules == NULL ||
	    dwarf_cfi_addrframe(f->rules, address + f->bias - f->rules_bias, &frame) != 0)
		return STEP_NO_RULES;
	step = apply(s, frame);
	free(frame);
	return step;
}
