/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pull parser for JSON (RFC 8259) on an input: it builds no tree, does not copy texts without
 * escapes, and skips values that the caller does not take.
 *
 *	json_begin(&j, in);
 *	while (json_next(&j) != JSON_OVER) {		each document of the input
 *		if (json_enter_object(&j))
 *			while (json_key(&j, &key))
 *				if (text_is(key, "spans") && json_enter_array(&j))
 *					while (json_element(&j))
 *						...
 *		if (j.code != 0 && (rc = json_trouble(&j, r, 0, e)) < 0)
 *			return rc;
 *	}
 *
 * Failures stick: all further calls return false, so that loops end, until json_trouble(). A value
 * of another kind than the one asked for is no failure: it is skipped, and the call returns false.
 * A value that is not taken after json_key() or json_element() is skipped by the next call.
 *
 * Bytes over 0x7f are returned unchecked: the caller validates UTF-8 (text_clean()).
 */
#ifndef FORMATS_JSON_H
#define FORMATS_JSON_H

#include <string.h>

#include "base/arena.h"
#include "formats/reading.h"

/* of objects and arrays that are entered; skipped values may be nested deeper */
enum { JSON_DEPTH_MAX = 64 };

enum json_kind {
	JSON_OVER,
	JSON_NULL,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NUMBER,
	JSON_TEXT,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json {
	struct input *in;
	/* 0; ERR_INPUT: malformed; ERR_FULL: nested too deeply, or a value too large; ERR_MEMORY; else
	 * the input's error */
	int code;
	bool truncated; /* with ERR_INPUT: the input ended in the middle */
	uint32_t depth; /* of the current object or array; 0: outside of documents */
	struct err e;   /* the text of `code` */
	/* private */
	bool due, first, in_text, broken_lines, lines, ended, held, lost, over;
	/* bit d - 1: the open value at depth d is an object (0: an array) */
	uint64_t objects;
	struct arena texts; /* texts that had escapes */
};

void json_begin(struct json *j, struct input *in);
void json_end(struct json *j); /* frees its memory, not the input */

/* The kind of the next value, which is not taken. JSON_OVER: the end of the input (outside of
 * documents), or failed. */
enum json_kind json_next(struct json *j);

/* Enters the next value. False: it is of another kind (and skipped), or failed. */
bool json_enter_object(struct json *j);
bool json_enter_array(struct json *j);

/* Moves to the next key or element. False: there is none, and the object or array was left; or
 * failed. */
bool json_key(struct json *j, struct text_view *key);
bool json_element(struct json *j);

/* These take a value. False: it is of another kind, and *ret is unchanged; or failed. */
/* A text, its escapes replaced; an unpaired surrogate becomes U+FFFD. */
bool json_text(struct json *j, struct text_view *ret);
/* A number, or a text that is one. Fractions are cut off. False also: out of range. */
bool json_int(struct json *j, int64_t *ret);
bool json_uint(struct json *j, uint64_t *ret);
bool json_double(struct json *j, double *ret); /* finite */
bool json_bool(struct json *j, bool *ret);
/* Any value, as an attribute's value. null: VALUE_NONE; false and true: VALUE_UINT 0 and 1; whole
 * numbers that fit: VALUE_INT or VALUE_UINT; other numbers: VALUE_REAL, or VALUE_NONE if malformed
 * or over the range of a double. Texts, and objects and arrays as they are written: VALUE_TEXT of
 * at most VALUE_TEXT_MAX bytes. False: failed. */
bool json_value(struct json *j, struct value *ret);
/* Skips a value. Inside of objects and arrays only brackets and texts are checked. */
void json_skip(struct json *j);

/*
 * Texts are valid until the next call. Those returned between json_hold() and json_release() are
 * valid until json_release() or json_end(). Held bytes count towards INPUT_WINDOW_MAX_BYTES; past
 * it calls fail with ERR_FULL. Holds do not nest. json_release() without a hold does nothing.
 */
void json_hold(struct json *j);
void json_release(struct json *j);

/*
 * After a failure: counts it as malformed, truncated or oversize, with its offset, and finds the
 * position to continue from.
 *
 *	1	the next key or element of the object or array at `depth` (the value of j->depth
 *		inside of it), because brackets and quotes show where the failed value ends
 *	0	the next document, on the next line, or the end of the input (JSON_OVER);
 *		json_key() and json_element() return false until json_next() at depth 0
 *	< 0	ERR_SYSTEM, ERR_MEMORY: the input cannot be read on; *e is set
 *
 * Without a failure: 1; 0 if an earlier failure lost the position. A damaged gzip file is counted as
 * malformed and ends. After ERR_FULL held bytes are released, because reading on needs the memory.
 */
int json_trouble(struct json *j, struct reading *r, uint32_t depth, struct err *e);

/* Parse all len bytes as a number, as json_int(), json_uint() and json_double(). */
bool json_number_int(const char *s, size_t len, int64_t *ret);
bool json_number_uint(const char *s, size_t len, uint64_t *ret);
bool json_number_real(const char *s, size_t len, double *ret);

#define text_is(t, literal) \
	((t).len == sizeof literal - 1 && memcmp((t).s, literal, sizeof literal - 1) == 0)

#endif
