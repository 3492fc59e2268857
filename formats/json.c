/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes after the window's end are 0, and a 0 stops every scan, so bounds are checked only where
 * a scan stopped.
 */
#include "formats/json.h"

#include <assert.h>
#include <endian.h>
#include <math.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static bool
fail(struct json *j, int code, const char *what)
{
	if (j->code == 0)
		j->code = err_set(&j->e, code, "%s", what);
	return false;
}

/* Reads more bytes. False: the end, or failed. */
static bool
more(struct json *j)
{
	int rc;

	if (j->over)
		return false;
	rc = input_more(j->in, &j->e);
	if (rc < 0) {
		j->code = rc;
		j->over = rc != ERR_FULL;
		j->truncated = j->in->cut;
	}
	return rc == 0;
}

/* Reads more bytes. Their absence is a failure. */
static bool
need_more(struct json *j)
{
	if (more(j))
		return true;
	if (j->code == 0) {
		j->truncated = true;
		fail(j, ERR_INPUT, "the file ends in the middle of a value");
	}
	return false;
}

/* ---- scanning ---- */

/* The first '"', '\\' or control character at or after p. */
static inline const char *
scan_text(const char *p)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), back = _mm_set1_epi8('\\'),
		      control = _mm_set1_epi8(0x1f);

	for (;; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);
		__m128i hit = _mm_or_si128(
		    _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, back)),
		    _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
		int mask = _mm_movemask_epi8(hit);

		if (mask != 0)
			return p + __builtin_ctz((unsigned)mask);
	}
#else
	while (*p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
		p++;
	return p;
#endif
}

/* The first '"', bracket of either kind, or 0 at or after p. */
static inline const char *
scan_structure(const char *p)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'),
		      close = _mm_set1_epi8('}');
	const __m128i low = _mm_set1_epi8(0x20), zero = _mm_setzero_si128();

	for (;; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);
		__m128i curly = _mm_or_si128(v, low); /* '[' and ']' are 0x20 below '{' and '}' */
		__m128i hit = _mm_or_si128(
		    _mm_or_si128(_mm_cmpeq_epi8(curly, open), _mm_cmpeq_epi8(curly, close)),
		    _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, zero)));
		int mask = _mm_movemask_epi8(hit);

		if (mask != 0)
			return p + __builtin_ctz((unsigned)mask);
	}
#else
	while (*p != '"' && *p != '{' && *p != '}' && *p != '[' && *p != ']' && *p != 0)
		p++;
	return p;
#endif
}

/*
 * At the end of a line. If each document so far was one line, a document whose next line begins with
 * a bracket was cut off: false, failed.
 */
static bool
pass_line_end(struct json *j)
{
	struct input *in = j->in;

	if (j->depth == 0) {
		j->lines |= j->ended && !j->broken_lines;
		return true;
	}
	while (j->lines && in->end - in->at < 2 && more(j))
		;
	if (j->code != 0)
		return false;
	if (j->lines && (in->at[1] == '{' || in->at[1] == '[')) {
		j->broken_lines = false;
		return fail(j, ERR_INPUT, "a line that ends in the middle of a value");
	}
	j->broken_lines = true;
	return true;
}

static __attribute__((noinline)) unsigned char
peek_slowly(struct json *j)
{
	const char *p = j->in->at;

	for (;;) {
		unsigned char c = (unsigned char)*p;

		if (c > ' ') {
			j->in->at = p;
			return c;
		}
		if (c == '\n') {
			j->in->at = p;
			if (!pass_line_end(j))
				return 1;
			p = j->in->at;
		}
		if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
			p++;
			continue;
		}
		j->in->at = p;
		if (p != j->in->end)
			return 1; /* a control character, which JSON does not allow */
		if (!more(j))
			return 0;
		p = j->in->at;
	}
}

/* Skips white space and returns the next byte; 0 at the end of the input. */
static inline unsigned char
peek(struct json *j)
{
	unsigned char c = (unsigned char)*j->in->at;

	return c > ' ' ? c : peek_slowly(j);
}

/* Fails, because another byte than `c` was expected (0: the input may have ended). */
static bool
unexpected(struct json *j, unsigned char c, const char *what)
{
	return c == 0 ? need_more(j) : fail(j, ERR_INPUT, what);
}

/* ---- documents ---- */

void
json_begin(struct json *j, struct input *in)
{
	static const char mark[] = "\xef\xbb\xbf"; /* byte order mark */

	*j = (struct json){ .in = in };
	while (in->end - in->at < 3 && more(j))
		;
	if (in->end - in->at >= 3 && memcmp(in->at, mark, 3) == 0)
		in->at += 3;
}

void
json_end(struct json *j)
{
	if (j->held)
		input_release(j->in);
	arena_release(&j->texts);
	*j = (struct json){ 0 };
}

static inline enum json_kind
next_kind(struct json *j)
{
	unsigned char c;

	if (j->code != 0 || j->lost)
		return JSON_OVER;
	switch (c = peek(j)) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_TEXT;
	case 't':
		return JSON_TRUE;
	case 'f':
		return JSON_FALSE;
	case 'n':
		return JSON_NULL;
	case '-':
	case '0' ... '9':
		return JSON_NUMBER;
	default:
		if (c != 0 || j->depth > 0)
			unexpected(j, c, "a JSON value was expected");
		return JSON_OVER;
	}
}

enum json_kind
json_next(struct json *j)
{
	if (j->depth == 0)
		j->lost = false;
	return next_kind(j);
}

/* Whether the next value is of that kind; a value of another kind is skipped. */
static inline bool
want(struct json *j, enum json_kind kind)
{
	enum json_kind is = next_kind(j);

	if (is == kind)
		return true;
	if (is != JSON_OVER)
		json_skip(j);
	return false;
}

static inline bool
enter(struct json *j, enum json_kind kind)
{
	if (!want(j, kind))
		return false;
	if (j->depth == JSON_DEPTH_MAX)
		return fail(j, ERR_FULL, "values are nested too deeply");
	if (j->depth++ == 0)
		j->broken_lines = false;
	j->objects &= ~(UINT64_C(1) << (j->depth - 1));
	j->objects |= (uint64_t)(kind == JSON_OBJECT) << (j->depth - 1);
	j->in->at++;
	j->first = true;
	j->due = false;
	return true;
}

bool
json_enter_object(struct json *j)
{
	return enter(j, JSON_OBJECT);
}

bool
json_enter_array(struct json *j)
{
	return enter(j, JSON_ARRAY);
}

/* Moves to the next key or element and returns its first byte; 0: the end, which was left, or
 * failed. */
static inline unsigned char
advance(struct json *j, char close)
{
	unsigned char c;

	if (j->due)
		json_skip(j);
	if (j->code != 0 || j->lost)
		return 0;
	c = (unsigned char)*j->in->at;
	if (c == ',' && !j->first && (unsigned char)j->in->at[1] > ' ') /* as a rule */
		return (unsigned char)*++j->in->at;
	c = peek(j);
	if (c == (unsigned char)close) {
		j->in->at++;
		j->depth--;
		j->first = false;
		j->ended = true;
		return 0;
	}
	if (!j->first) {
		if (c != ',') {
			unexpected(j, c, "neither a comma nor an end");
			return 0;
		}
		j->in->at++;
		c = peek(j);
	}
	j->first = false;
	if (c == 0)
		need_more(j);
	return j->code == 0 ? c : 0;
}

/* ---- texts ---- */

static int
hex4(const char *s)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		int c = s[i] | 0x20;

		if (s[i] >= '0' && s[i] <= '9')
			v = v * 16 + (s[i] - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (c - 'a' + 10);
		else
			return -1;
	}
	return v;
}

static char *
put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* Decodes after "\u". Returns the number of bytes used; 0: malformed. An unpaired surrogate becomes
 * U+FFFD. */
static size_t
take_u(const char *s, const char *end, char **to)
{
	int c = end - s >= 4 ? hex4(s) : -1, low;
	size_t used = 4;

	if (c < 0)
		return 0;
	if (c >= 0xd800 && c < 0xdc00 && end - s >= 10 && s[4] == '\\' && s[5] == 'u' &&
	    (low = hex4(s + 6)) >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		used = 10;
	} else if (c >= 0xd800 && c < 0xe000) {
		c = 0xfffd;
	}
	*to = put_utf8(*to, (unsigned)c);
	return used;
}

/* Replaces the escapes, in a copy, which is never longer. */
static bool
unescape(struct json *j, struct text_view *t)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *s = t->s, *end = s + t->len, *which;
	char *to, *out;
	size_t used;

	if (!j->held)
		arena_reset(&j->texts);
	if ((out = to = arena_alloc(&j->texts, t->len)) == NULL)
		return fail(j, ERR_MEMORY, "no memory for a text");
	while (s < end) {
		const char *back = memchr(s, '\\', (size_t)(end - s));
		size_t plain = (size_t)((back != NULL ? back : end) - s);

		memcpy(to, s, plain);
		to += plain;
		s += plain;
		if (back == NULL)
			break;
		if (s[1] == 'u') {
			if ((used = take_u(s + 2, end, &to)) == 0)
				return fail(j, ERR_INPUT, "an invalid escape sequence in a string");
			s += 2 + used;
		} else if (s[1] != 0 && (which = strchr(from, s[1])) != NULL) {
			*to++ = into[which - from];
			s += 2;
		} else {
			return fail(j, ERR_INPUT, "an invalid escape sequence in a string");
		}
	}
	*t = (struct text_view){ out, (uint32_t)(to - out) };
	return true;
}

/* Takes the text that begins here, once all of it is in the window. */
static __attribute__((noinline)) bool
take_text(struct json *j, struct text_view *ret)
{
	struct input *in = j->in;
	bool escaped = false;
	size_t n = 1;

	for (;;) {
		const char *p = scan_text(in->at + n);

		n = (size_t)(p - in->at);
		if (*p == '"')
			break;
		if (*p == '\\' && p + 1 < in->end) {
			escaped = true;
			n += 2;
		} else if (*p == '\\' || p == in->end) {
			if (!need_more(j))
				return false;
		} else {
			in->at = p;
			j->in_text = true;
			return fail(j, ERR_INPUT, "a control character in a string");
		}
	}
	*ret = (struct text_view){ in->at + 1, (uint32_t)(n - 1) };
	if (escaped && !unescape(j, ret))
		return false;
	in->at += n + 1;
	j->due = false;
	return true;
}

/* Fast path: most texts have no escapes and end within 16 bytes, which are readable (the padding). */
static inline bool
take_short_text(struct json *j, struct text_view *ret)
{
#ifdef __SSE2__
	const char *s = j->in->at + 1;
	__m128i v = _mm_loadu_si128((const __m128i *)s), control = _mm_set1_epi8(0x1f);
	unsigned quote = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
	unsigned other = (unsigned)_mm_movemask_epi8(_mm_or_si128(
	    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')), _mm_cmpeq_epi8(_mm_min_epu8(v, control), v)));

	if (quote != 0 && (other & (quote ^ (quote - 1))) == 0) {
		uint32_t len = (uint32_t)__builtin_ctz(quote);

		*ret = (struct text_view){ s, len };
		j->in->at = s + len + 1;
		j->due = false;
		return true;
	}
#endif
	return take_text(j, ret);
}

static void
skip_text(struct json *j)
{
	struct input *in = j->in;

	in->at++;
	for (;;) {
		in->at = scan_text(in->at);
		if (*in->at == '"') {
			in->at++;
			j->due = false;
			return;
		}
		if (*in->at == '\\' && in->at + 1 < in->end) {
			in->at += 2;
		} else if (*in->at == '\\' || in->at == in->end) {
			if (!need_more(j))
				return;
		} else {
			j->in_text = true;
			fail(j, ERR_INPUT, "a control character in a string");
			return;
		}
	}
}

/* Takes the colon. White space before it can move the window, so the key is copied then. */
static __attribute__((noinline)) bool
take_colon(struct json *j, struct text_view *key)
{
	const char *p = j->in->at;
	unsigned char c;

	while (*p == ' ')
		p++;
	if (*p == ':') {
		j->in->at = p + 1;
		return true;
	}
	if (!j->held) {
		char *copy = arena_alloc(&j->texts, key->len + 1);

		if (copy == NULL)
			return fail(j, ERR_MEMORY, "no memory for a key");
		memcpy(copy, key->s, key->len);
		key->s = copy;
	}
	if ((c = peek(j)) != ':')
		return unexpected(j, c, "a key without a colon");
	j->in->at++;
	return true;
}

bool
json_key(struct json *j, struct text_view *key)
{
	unsigned char c = advance(j, '}');

	if (c == 0)
		return false;
	if (c != '"')
		return fail(j, ERR_INPUT, "a key that is not a string");
	if (!take_short_text(j, key))
		return false;
	if (*j->in->at == ':')
		j->in->at++;
	else if (!take_colon(j, key))
		return false;
	j->due = true;
	return true;
}

bool
json_element(struct json *j)
{
	if (advance(j, ']') == 0)
		return false;
	j->due = true;
	return true;
}

bool
json_text(struct json *j, struct text_view *ret)
{
	return want(j, JSON_TEXT) && take_short_text(j, ret);
}

/* ---- numbers ---- */

static inline bool
is_digit(char c)
{
	return (unsigned char)(c - '0') <= 9;
}

/* 10 to the power of e, 0 <= e <= 400. */
static long double
ten_to(int e)
{
	long double r = 1, b = 10;

	for (; e > 0; e >>= 1, b *= b)
		if (e & 1)
			r *= b;
	return r;
}

bool
json_number_real(const char *s, size_t len, double *ret)
{
	const char *end = s + len;
	bool negative = s < end && *s == '-', any = false, exponent_negative;
	uint64_t m = 0;
	int scale = 0, exponent = 0;
	double v;

	s += negative;
	for (bool point = false; s < end && (is_digit(*s) || (*s == '.' && !point)); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		any = true;
		if (m < UINT64_MAX / 10 - 9) {
			m = m * 10 + (uint64_t)(*s - '0');
			scale -= point;
		} else { /* digits beyond the precision of a double */
			scale += !point;
		}
	}
	if (any && s < end && (*s | 0x20) == 'e') {
		s++;
		exponent_negative = s < end && *s == '-';
		s += s < end && (*s == '-' || *s == '+');
		any = s < end;
		for (; s < end && is_digit(*s); s++)
			exponent = exponent < 100000 ? exponent * 10 + (*s - '0') : exponent;
		exponent = exponent_negative ? -exponent : exponent;
	}
	if (!any || s != end)
		return false;
	scale = scale + exponent;
	scale = scale > 400 ? 400 : scale < -400 ? -400 : scale;
	v = (double)(scale < 0 ? (long double)m / ten_to(-scale) : (long double)m * ten_to(scale));
	if (!isfinite(v))
		return false;
	*ret = negative ? -v : v;
	return true;
}

/* Parses eight digits in one word, the first digit in its lowest byte: adds up pairs, then fours,
 * then all. */
static inline bool
eight_digits(const char *s, uint64_t *ret)
{
	uint64_t w;

	memcpy(&w, s, sizeof w);
	w = le64toh(w) - 0x3030303030303030;
	if (((w | (w + 0x7676767676767676)) & 0x8080808080808080) !=
	    0) /* a byte below '0', or above '9' */
		return false;
	w = w * 10 + (w >> 8);
	w = ((w & 0x000000ff000000ff) * 0x000f424000000064 +
		(w >> 16 & 0x000000ff000000ff) * 0x0000271000000001) >>
	    32;
	*ret = (uint32_t)w;
	return true;
}

/* Parses a text of digits only. False: another character, or overflow. */
static inline bool
digits(const char *s, const char *end, uint64_t *ret)
{
	uint64_t v = 0, eight;

	if (s == end)
		return false;
	if (end - s <= 19) { /* cannot overflow */
		for (; end - s >= 8 && eight_digits(s, &eight); s += 8)
			v = v * 100000000 + eight;
		for (; s < end && is_digit(*s); s++)
			v = v * 10 + (uint64_t)(*s - '0');
	} else {
		for (; s < end && is_digit(*s); s++)
			if (__builtin_mul_overflow(v, 10, &v) ||
			    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
				return false;
	}
	if (s != end)
		return false;
	*ret = v;
	return true;
}

bool
json_number_uint(const char *s, size_t len, uint64_t *ret)
{
	double d;

	if (digits(s, s + len, ret))
		return true;
	if (!json_number_real(s, len, &d) || !(d > -1 && d < 0x1p64))
		return false;
	*ret = d < 0 ? 0 : (uint64_t)d;
	return true;
}

bool
json_number_int(const char *s, size_t len, int64_t *ret)
{
	bool negative = len > 0 && *s == '-';
	uint64_t u;

	if (!json_number_uint(s + negative, len - negative, &u) ||
	    u > (uint64_t)INT64_MAX + negative)
		return false;
	*ret = negative ? (int64_t)(0 - u) : (int64_t)u;
	return true;
}

static inline bool
is_number_char(char c)
{
	return is_digit(c) || c == '-' || c == '+' || c == '.' || (c | 0x20) == 'e';
}

/* Takes a number as text. */
static inline bool
take_number(struct json *j, struct text_view *ret)
{
	struct input *in = j->in;
	size_t n = 0;

	for (;;) {
		while (is_number_char(in->at[n]))
			n++;
		if (in->at + n != in->end)
			break;
		if (!more(j)) {
			if (j->code != 0)
				return false;
			break;
		}
	}
	*ret = (struct text_view){ in->at, (uint32_t)n };
	in->at += n;
	j->due = false;
	return true;
}

/* Takes a number or a text, as text. */
static inline bool
take_numeric(struct json *j, struct text_view *ret)
{
	enum json_kind is = next_kind(j);

	if (is == JSON_NUMBER)
		return take_number(j, ret);
	if (is == JSON_TEXT)
		return take_text(j, ret);
	if (is != JSON_OVER)
		json_skip(j);
	return false;
}

bool
json_int(struct json *j, int64_t *ret)
{
	struct text_view t;

	return take_numeric(j, &t) && json_number_int(t.s, t.len, ret);
}

bool
json_uint(struct json *j, uint64_t *ret)
{
	struct text_view t;

	return take_numeric(j, &t) && json_number_uint(t.s, t.len, ret);
}

bool
json_double(struct json *j, double *ret)
{
	struct text_view t;

	return take_numeric(j, &t) && json_number_real(t.s, t.len, ret);
}

/* ---- other values ---- */

/* Takes true, false or null. */
static bool
take_word(struct json *j, enum json_kind kind)
{
	const char *word = kind == JSON_TRUE ? "true" : kind == JSON_FALSE ? "false" : "null";
	size_t len = strlen(word);

	while ((size_t)(j->in->end - j->in->at) < len)
		if (!need_more(j))
			return false;
	if (memcmp(j->in->at, word, len) != 0)
		return fail(j, ERR_INPUT, "a JSON value was expected");
	j->in->at += len;
	j->due = false;
	return true;
}

bool
json_bool(struct json *j, bool *ret)
{
	enum json_kind is = next_kind(j);

	if (is != JSON_TRUE && is != JSON_FALSE) {
		if (is != JSON_OVER)
			json_skip(j);
		return false;
	}
	if (!take_word(j, is))
		return false;
	*ret = is == JSON_TRUE;
	return true;
}

/* Skips an object or array, to the byte after its last bracket. */
static void
skip_nested(struct json *j)
{
	struct input *in = j->in;
	uint64_t level = 0;

	for (;;) {
		in->at = scan_structure(in->at);
		if (*in->at == '"') {
			skip_text(j);
			if (j->code != 0)
				return;
			continue;
		}
		if (*in->at == 0) {
			if (in->at != in->end)
				in->at++;
			else if (!need_more(j))
				return;
			continue;
		}
		level += (*in->at & 2) != 0 ? 1 : -1; /* only opening brackets have this bit */
		in->at++;
		if (level == 0) {
			j->due = false;
			return;
		}
	}
}

void
json_skip(struct json *j)
{
	enum json_kind is = next_kind(j);
	struct text_view t;

	switch (is) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		skip_nested(j);
		break;
	case JSON_TEXT:
		skip_text(j);
		break;
	case JSON_NUMBER:
		take_number(j, &t);
		break;
	case JSON_OVER:
		break;
	default:
		take_word(j, is);
	}
}

/* The length limited to VALUE_TEXT_MAX, not within a UTF-8 character. */
static uint32_t
cut(const char *s, size_t len)
{
	size_t n = len < VALUE_TEXT_MAX ? len : VALUE_TEXT_MAX;

	if (n < len)
		while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--;
	return (uint32_t)n;
}

/* Takes an object or array as text: the first bytes are copied, the rest is skipped. */
static bool
take_raw(struct json *j, struct value *ret)
{
	struct input *in = j->in;
	uint64_t begin = input_offset(in), len;
	char *copy;

	while (in->end - in->at <= VALUE_TEXT_MAX && more(j))
		;
	if (!j->held)
		arena_reset(&j->texts);
	if (j->code != 0 || (copy = arena_alloc(&j->texts, VALUE_TEXT_MAX + 1)) == NULL)
		return fail(j, ERR_MEMORY, "no memory for a value");
	memcpy(copy, in->at,
	    in->end - in->at <= VALUE_TEXT_MAX ? (size_t)(in->end - in->at) : VALUE_TEXT_MAX + 1);
	skip_nested(j);
	len = input_offset(in) - begin;
	*ret = (struct value){ .type = VALUE_TEXT, .len = cut(copy, len), .text = copy };
	return j->code == 0;
}

static void
number_value(struct value *ret, const struct text_view *t)
{
	bool whole = true;

	for (uint32_t i = 0; i < t->len && whole; i++)
		whole = is_digit(t->s[i]) || t->s[i] == '-';
	*ret = (struct value){ .type = VALUE_INT };
	if (whole && json_number_int(t->s, t->len, &ret->i))
		return;
	ret->type = VALUE_UINT;
	if (whole && json_number_uint(t->s, t->len, &ret->u))
		return;
	ret->type = json_number_real(t->s, t->len, &ret->d) ? VALUE_REAL : VALUE_NONE;
}

bool
json_value(struct json *j, struct value *ret)
{
	enum json_kind is = next_kind(j);
	struct text_view t;

	switch (is) {
	case JSON_TEXT:
		if (!take_text(j, &t))
			return false;
		*ret = (struct value){ .type = VALUE_TEXT, .len = cut(t.s, t.len), .text = t.s };
		return true;
	case JSON_NUMBER:
		if (!take_number(j, &t))
			return false;
		number_value(ret, &t);
		return true;
	case JSON_TRUE:
	case JSON_FALSE:
		*ret = (struct value){ .type = VALUE_UINT, .u = is == JSON_TRUE };
		return take_word(j, is);
	case JSON_NULL:
		*ret = (struct value){ .type = VALUE_NONE };
		return take_word(j, is);
	case JSON_OVER:
		return false;
	default:
		return take_raw(j, ret);
	}
}

void
json_hold(struct json *j)
{
	assert(!j->held);
	arena_reset(&j->texts);
	input_hold(j->in);
	j->held = true;
}

void
json_release(struct json *j)
{
	if (!j->held)
		return;
	arena_reset(&j->texts);
	input_release(j->in);
	j->held = false;
}

/* ---- after a failure ---- */

/* Whether c ends the document: a line end, if each document is one line. */
static bool
at_line_end(const struct json *j, char c)
{
	return c == '\n' && !j->broken_lines;
}

/*
 * Moves from the failure to the end of the current value of the object or array at `depth`: the
 * bracket that closes that value, or else a comma or the closing bracket of the object or array
 * itself, of the right kind. False: the end of the line or of the input came first.
 */
static bool
find_end(struct json *j, uint32_t depth)
{
	struct input *in = j->in;
	uint64_t level = j->depth - depth;
	bool in_text = j->in_text;
	char own = depth > 0 && (j->objects >> (depth - 1) & 1) != 0 ? '}' : ']';

	for (;; in->at++) {
		char c = *in->at;

		if (in->at == in->end) {
			if (!more(j))
				return false;
			c = *in->at;
		}
		if (at_line_end(j, c))
			return false;
		if (in_text) {
			if (c == '\\' && (in->at + 1 < in->end || more(j)))
				in->at++;
			in_text = c != '"';
		} else if (c == '"') {
			in_text = true;
		} else if (c == '{' || c == '[') {
			level++;
		} else if (c == '}' || c == ']') {
			if (level == 0 && c == own)
				return true;
			if (level > 0 && --level == 0) {
				in->at++;
				return true;
			}
		} else if (c == ',' && level == 0) {
			return true;
		}
	}
}

/* Moves to the next line, or the end. */
static void
next_line(struct json *j)
{
	struct input *in = j->in;

	for (;;) {
		const char *nl = memchr(in->at, '\n', (size_t)(in->end - in->at));

		if (nl != NULL) {
			in->at = nl + 1;
			return;
		}
		in->at = in->end;
		if (!more(j))
			return;
	}
}

static bool
recover(struct json *j, uint32_t depth)
{
	bool found = j->depth > 0 && find_end(j, depth);

	j->due = j->first = j->in_text = false;
	if (found && depth > 0) {
		j->depth = depth;
		return true;
	}
	if (!found && !j->over && j->code == 0)
		next_line(j);
	j->depth = 0;
	j->lost = true;
	return false;
}

int
json_trouble(struct json *j, struct reading *r, uint32_t depth, struct err *e)
{
	int code = j->code;
	bool found;

	if (code == 0)
		return !j->lost;
	if (code == ERR_SYSTEM || code == ERR_MEMORY) {
		if (e != NULL)
			*e = j->e;
		return code;
	}
	reading_skip(r,
	    code == ERR_FULL ? SKIP_OVERSIZE
	    : j->truncated   ? SKIP_TRUNCATED
			     : SKIP_MALFORMED,
	    j->in, "%s", j->e.text);
	if (code == ERR_FULL)
		json_release(j);
	j->over |= j->truncated;
	j->code = 0;
	j->truncated = false;
	found = !j->over && recover(j, depth);
	if (j->code == ERR_SYSTEM || j->code == ERR_MEMORY) {
		if (e != NULL)
			*e = j->e;
		return j->code;
	}
	if (j->code != 0) /* the input was found to be damaged further on */
		reading_skip(r, SKIP_MALFORMED, j->in, "%s", j->e.text);
	j->code = 0;
	j->lost = !found;
	if (!found)
		j->depth = 0;
	if (!found && j->over)
		j->in->at = j->in->end;
	return found;
}
