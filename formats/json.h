/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON (RFC 8259) pulled piece by piece out of an input: nothing is built, texts
 * without escapes are not copied, and what nobody asks for is passed over.
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
 * Failures stick: from then on every call says false, so that loops end and the
 * failure is looked at where something can be done about it. A value of another
 * kind than was asked for is no failure: it is passed over, and false is said.
 * A value that nobody took (after json_key() or json_element()) is passed over
 * by the next call.
 *
 * Bytes over 0x7f are handed out as they are: whoever shows them has to check that they are UTF-8.
 */
#ifndef FORMATS_JSON_H
#define FORMATS_JSON_H

#include <string.h>

#include "base/arena.h"
#include "formats/reading.h"

enum {
	JSON_DEPTH_MAX = 64
}; /* of objects and arrays that are entered; passed over may be deeper */

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
	int code; /* 0, or ERR_INPUT: malformed; ERR_FULL: nested too deeply, or a piece too large;
	             else the input's own failure */
	bool truncated; /* with ERR_INPUT: the input ended in the middle */
	uint32_t depth; /* of where we are: 0 outside of any document */
	struct err e;   /* words for `code` */
	/* inside */
	bool due, first, in_text, broken_lines, lines, ended, held, lost, over;
	uint64_t objects;   /* which of those that are open are objects, by depth from 1; the others
	                       are arrays */
	struct arena texts; /* those that had escapes */
};

void json_begin(struct json *j, struct input *in);
void json_end(struct json *j); /* gives back its memory; the input stays the caller's */

/* What comes next, without taking it. JSON_OVER: the end of the input (only outside of documents),
 * or failed. */
enum json_kind json_next(struct json *j);

/* Enters. False: it is something else. */
bool json_enter_object(struct json *j);
bool json_enter_array(struct json *j);

/* To the next key or element. False: there was none, and it has been left; or failed. */
bool json_key(struct json *j, struct text_view *key);
bool json_element(struct json *j);

/* Takes a value. False: it is something else, and *ret is as it was. */
bool json_text(struct json *j,
    struct text_view *ret); /* without its escapes; broken surrogates become U+FFFD */
bool json_int(struct json *j,
    int64_t *ret); /* a number, or a text that is one; fractions are cut; false: does not fit */
bool json_uint(struct json *j, uint64_t *ret); /* the same */
bool json_double(struct json *j, double *ret); /* the same; finite */
bool json_bool(struct json *j, bool *ret);
/* Any value as an attribute's: null is VALUE_NONE, false and true are VALUE_UINT 0 and 1, whole
 * numbers VALUE_INT or VALUE_UINT (if they fit), others VALUE_REAL; texts, and objects and arrays
 * as they are written, are VALUE_TEXT, cut at VALUE_TEXT_MAX. False: failed. */
bool json_value(struct json *j, struct value *ret);
void json_skip(struct json
	*j); /* passes over a value; of what is in it only brackets and quotes are looked at */

/*
 * Texts are valid until the next call, but those handed out between these two are until the
 * second one (or json_end()). What is held counts towards INPUT_WINDOW_MAX_BYTES: past it,
 * ERR_FULL.
 */
void json_hold(struct json *j);
void json_release(struct json *j);

/*
 * After a failure: counts it (as malformed, truncated or oversize, with its place), and finds where
 * to go on. 1: in the object or array at `depth` (j->depth as it was inside of it), with its next
 * key or element, since brackets and quotes told where what failed ends. 0: at the next document,
 * which is on the next line, or at the input's end (json_next() says JSON_OVER); loops over what is
 * at `depth` have to end, and do, since json_element() says false. Negative: nothing can be read
 * any more: ERR_SYSTEM, ERR_MEMORY; e has words. A damaged gzip file is counted as malformed, and
 * over. Without a failure: 1. After ERR_FULL what was held is released, since going on needs the
 * room.
 */
int json_trouble(struct json *j, struct reading *r, uint32_t depth, struct err *e);

/* The number that is written there, all of it; as the takers above. */
bool json_number_int(const char *s, size_t len, int64_t *ret);
bool json_number_uint(const char *s, size_t len, uint64_t *ret);
bool json_number_real(const char *s, size_t len, double *ret);

#define text_is(t, literal) \
	((t).len == sizeof(literal) - 1 && memcmp((t).s, literal, sizeof(literal) - 1) == 0)

#endif
