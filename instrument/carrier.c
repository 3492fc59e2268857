/* SPDX-License-Identifier: MIT */
/*
 * The carrier in the format of W3C Trace Context:
 *
 *	traceparent: 00-<32 hex: trace id>-<16 hex: parent id>-<2 hex: flags>
 *	tracestate:  hone=<16 hex: link>-<8 hex: request type><1 hex: 1 sampled, 2 probed>
 *
 * Both contain the link id. A proxy that traces without Hone replaces the parent id and passes tracestate on, so the
 * link id in tracestate is used, and `via` keeps 16 bits of the other one (via.h).
 */
#include <string.h>

#include "instrument/inside.h"
#include "instrument/via.h"

enum { SAMPLED = 1, PROBED = 2, STATE_DIGITS = 26 };

static char *
hex_put(char *at, uint64_t value, int digits)
{
	for (int i = digits - 1; i >= 0; i--, value >>= 4)
		at[i] = "0123456789abcdef"[value & 15];
	return at + digits;
}

/* The value of a hexadecimal digit plus 1; 0: not a digit. */
static const uint8_t DIGITS[256] = { ['0'] = 1,
	['1'] = 2,
	['2'] = 3,
	['3'] = 4,
	['4'] = 5,
	['5'] = 6,
	['6'] = 7,
	['7'] = 8,
	['8'] = 9,
	['9'] = 10,
	['a'] = 11,
	['b'] = 12,
	['c'] = 13,
	['d'] = 14,
	['e'] = 15,
	['f'] = 16 };

/* Parses exactly `digits` lower-case digits; -1: there are others. Does not read past a terminating 0. */
static int
hex_get(const char *at, int digits, uint64_t *ret)
{
	uint64_t value = 0;

	for (int i = 0; i < digits; i++) {
		uint8_t digit = DIGITS[(uint8_t)at[i]];

		if (digit == 0)
			return -1;
		value = value << 4 | (uint64_t)(digit - 1);
	}
	*ret = value;
	return 0;
}

size_t
hone_traceparent(const struct hone_carrier *c, char out[HONE_TRACEPARENT_SIZE])
{
	char *at = out;

	if (out == NULL)
		return 0;
	if (c != NULL && c->trace_id != 0 && c->link_id != 0) {
		memcpy(at, "00-", 3);
		at = hex_put(at + 3, c->trace_id_high, 16);
		at = hex_put(at, c->trace_id, 16);
		*at++ = '-';
		at = hex_put(at, c->link_id, 16);
		*at++ = '-';
		at = hex_put(at, c->sampled != 0, 2);
	}
	*at = '\0';
	return (size_t)(at - out);
}

size_t
hone_tracestate(const struct hone_carrier *c, char out[HONE_TRACESTATE_SIZE])
{
	char *at = out;

	if (out == NULL)
		return 0;
	if (hone_from_known(c) && c->link_id != 0) {
		memcpy(at, "hone=", 5);
		at = hex_put(at + 5, c->link_id, 16);
		*at++ = '-';
		at = hex_put(at, c->request_type, 8);
		at = hex_put(at, (c->sampled ? SAMPLED : 0) | (c->probed ? PROBED : 0), 1);
	}
	*at = '\0';
	return (size_t)(at - out);
}

int
hone_from_known(const struct hone_carrier *c)
{
	return c != NULL && c->trace_id != 0 && c->request_type != 0;
}

/* Version 00 ends after the flags; later versions may continue after a dash. */
static int
parent_read(struct hone_carrier *c, const char *s)
{
	uint64_t version, flags;

	if (hex_get(s, 2, &version) != 0 || s[2] != '-' || version == 0xff)
		return -1;
	if (hex_get(s + 3, 16, &c->trace_id_high) != 0 || hex_get(s + 19, 16, &c->trace_id) != 0 ||
	    s[35] != '-')
		return -1;
	if (hex_get(s + 36, 16, &c->link_id) != 0 || s[52] != '-' ||
	    hex_get(s + 53, 2, &flags) != 0)
		return -1;
	if (s[55] != '\0' && (version == 0 || s[55] != '-'))
		return -1;
	return c->trace_id != 0 && c->link_id != 0 ? 0 : -1;
}

/* The value of the member hone=, or NULL. Members are separated by commas and blanks. */
static const char *
state_find(const char *s)
{
	for (;;) {
		s += strspn(s, " \t,");
		if (strncmp(s, "hone=", 5) == 0)
			return s + 5;
		s = strchr(s, ',');
		if (s == NULL)
			return NULL;
	}
}

static bool
is_end(char c)
{
	return c == '\0' || c == '-' || c == ',' || c == ' ' || c == '\t';
}

/* A malformed member is ignored. Later versions may append to it after a dash. */
static void
state_read(struct hone_carrier *c, const char *s)
{
	uint64_t link, type, flags;

	s = state_find(s);
	if (s == NULL || hex_get(s, 16, &link) != 0 || s[16] != '-')
		return;
	if (hex_get(s + 17, 8, &type) != 0 || hex_get(s + 25, 1, &flags) != 0)
		return;
	if (!is_end(s[STATE_DIGITS]) || link == 0 || type == 0 || type > INT32_MAX)
		return;
	c->via = c->link_id != link ? hone_via_of(c->link_id) : 0;
	c->link_id = link;
	c->request_type = (uint32_t)type;
	c->sampled = (flags & SAMPLED) != 0;
	c->probed = (flags & PROBED) != 0;
}

int
hone_carrier_read(struct hone_carrier *out, const char *traceparent, const char *tracestate)
{
	struct hone_carrier c = { 0 };
	int rc = -1;

	if (out == NULL)
		return -1;
	if (traceparent != NULL)
		rc = parent_read(&c, traceparent);
	if (rc == 0 && tracestate != NULL)
		state_read(&c, tracestate);
	*out = rc == 0 ? c : (struct hone_carrier){ 0 };
	return rc;
}
