/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values of fields, contexts and environments that libbabeltrace2 has read. Linked into the shared objects that use this
 * library (ctf.so, source_babeltrace2.so), not into this room's archive.
 */
#ifndef WIRE_FIELD_BABELTRACE2_H
#define WIRE_FIELD_BABELTRACE2_H

#include <stdbool.h>
#include <stdint.h>

#include <babeltrace2/babeltrace.h>

#include "wire/record.h"

/* The value of a field, or of the selected option of a variant (a dynamic context); an enumeration is the text of its
 * first label. VALUE_NONE: NULL, an empty option, a structure, an array. A text is valid as long as the field, and not cut
 * to VALUE_TEXT_MAX. */
struct value field_value(const bt_field *f);

/* A member of a structure (NULL: there is none) that is a whole number. False: missing, or another type. */
bool field_number(const bt_field *structure, const char *name, uint64_t *ret);

/* An entry of the trace's environment; "" or 0: missing, or another type. */
const char *environment_text(const bt_trace *trace, const char *name);
uint32_t environment_number(const bt_trace *trace, const char *name);

#endif
