/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/field_babeltrace2.h"

#include <string.h>

/* The field, or the selected option of a variant (a dynamic context). */
static const bt_field *
plain(const bt_field *f)
{
	while (f != NULL &&
	       bt_field_class_type_is(bt_field_get_class_type(f), BT_FIELD_CLASS_TYPE_VARIANT))
		f = bt_field_variant_borrow_selected_option_field_const(f);
	return f;
}

struct value
field_value(const bt_field *f)
{
	bt_field_class_type type;

	if ((f = plain(f)) == NULL)
		return (struct value){ .type = VALUE_NONE };
	type = bt_field_get_class_type(f);
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ENUMERATION)) {
		bt_field_class_enumeration_mapping_label_array labels;
		uint64_t n = 0;
		int rc = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)
		             ? (int)bt_field_enumeration_unsigned_get_mapping_labels(f, &labels, &n)
		             : (int)bt_field_enumeration_signed_get_mapping_labels(f, &labels, &n);

		if (rc == 0 && n > 0)
			return (struct value){ .type = VALUE_TEXT,
				.len = (uint32_t)strlen(labels[0]),
				.text = labels[0] };
	}
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return (struct value){ .type = VALUE_UINT,
			.u = bt_field_integer_unsigned_get_value(f) };
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		return (
		    struct value){ .type = VALUE_INT, .i = bt_field_integer_signed_get_value(f) };
	if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)
		return (struct value){ .type = VALUE_REAL,
			.d = bt_field_real_double_precision_get_value(f) };
	if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)
		return (struct value){ .type = VALUE_REAL,
			.d = (double)bt_field_real_single_precision_get_value(f) };
	if (type == BT_FIELD_CLASS_TYPE_STRING)
		return (struct value){ .type = VALUE_TEXT,
			.len = (uint32_t)bt_field_string_get_length(f),
			.text = bt_field_string_get_value(f) };
	return (struct value){ .type = VALUE_NONE };
}

bool
field_number(const bt_field *structure, const char *name, uint64_t *ret)
{
	struct value v;

	if (structure == NULL)
		return false;
	v = field_value(bt_field_structure_borrow_member_field_by_name_const(structure, name));
	*ret = v.u;
	return v.type == VALUE_UINT || v.type == VALUE_INT;
}

const char *
environment_text(const bt_trace *trace, const char *name)
{
	const bt_value *v = bt_trace_borrow_environment_entry_value_by_name_const(trace, name);

	return v != NULL && bt_value_is_string(v) ? bt_value_string_get(v) : "";
}

uint32_t
environment_number(const bt_trace *trace, const char *name)
{
	const bt_value *v = bt_trace_borrow_environment_entry_value_by_name_const(trace, name);

	if (v != NULL && bt_value_is_signed_integer(v))
		return (uint32_t)bt_value_integer_signed_get(v);
	return v != NULL && bt_value_is_unsigned_integer(v)
	           ? (uint32_t)bt_value_integer_unsigned_get(v)
	           : 0;
}
