/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The CSV of the Nezha set (Yu et al., ESEC/FSE '23): a line is a span; the first line names the
 * columns, in any order. Columns with other names become attributes. Quoting follows RFC 4180: a cell
 * in quotes may contain commas, line ends, and quotes, which are doubled.
 *
 *	TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration
 *
 * The lines of a trace are mostly adjacent, but not always, and traces continue in the next file, so
 * no trace is declared complete here.
 *
 * An unclosed quote would include all following lines. So of a failed record only the first line is
 * skipped. To keep this linear, records up to the position where the failed record was searched
 * cannot be longer than a line.
 */
#define _GNU_SOURCE
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/buf.h"
#include "formats/typed.h"

enum {
	COLUMNS_MAX = 64, /* further ones are passed over */
	RECORD_MAX_BYTES = 1 << 20
};

enum column { TRACE, SPAN, PARENT, POD, OPERATION, BEGIN, END, DURATION, KNOWN, EXTRA = KNOWN };

static const char *const COLUMNS[KNOWN] = { "TraceID", "SpanID", "ParentID", "PodName",
	"OperationName", "StartTimeUnixNano", "EndTimeUnixNano", "Duration" };

enum cut {
	CUT_DONE,
	CUT_BLANK,
	CUT_SHORT, /* the record continues after the end of the input at hand */
	CUT_MALFORMED
};

struct csv {
	struct reading *r;
	struct input *in;
	uint32_t ncolumns;
	uint8_t columns[COLUMNS_MAX];        /* enum column */
	struct text_view names[COLUMNS_MAX]; /* of extra ones; in `header` */
	struct buf header;
	uint32_t ncells; /* of the record at hand, those that were passed over too */
	struct text_view cells[COLUMNS_MAX];
	struct buf unquoted;  /* of cells that hold quotes */
	const char *limit;    /* how far the record at hand may reach */
	const char *looked;   /* how far a failed one was looked at */
	uint64_t plain_until; /* offset: up to here a record is a line */
	char id_text[32]; /* of the trace before, as it was written: its lines mostly stand together
	                   */
	size_t id_len;
	struct trace_id id;
};

/* Sets *ret to the content of the quoted cell at s. Returns the position after it; NULL: not closed
 * before the end. */
static const char *
cut_quoted(struct csv *c, const char *s, const char *end, struct text_view *ret)
{
	const char *from = ++s, *quote;
	size_t had = c->unquoted.len;

	if (c->unquoted.cap == 0) /* cells point into it: it must not move while a record is cut */
		buf_reserve(&c->unquoted, RECORD_MAX_BYTES);
	while ((quote = memchr(s, '"', (size_t)(end - s))) != NULL && quote + 1 < end &&
	       quote[1] == '"') {
		buf_bytes(&c->unquoted, s, (size_t)(quote + 1 - s));
		s = quote + 2;
	}
	if (quote == NULL)
		return NULL;
	*ret = (struct text_view){ from, (uint32_t)(quote - from) };
	if (s != from) {
		buf_bytes(&c->unquoted, s, (size_t)(quote - s));
		*ret = (struct text_view){ (const char *)c->unquoted.data + had,
			(uint32_t)(c->unquoted.len - had) };
	}
	return quote + 1;
}

/* The end of the line at s, before `limit`, or NULL. The end of the input ends a line. */
static const char *
line_end(const struct csv *c, const char *s, const char *limit)
{
	const char *end = memchr(s, '\n', (size_t)(limit - s));

	return end == NULL && c->in->over && limit == c->in->end ? limit : end;
}

static inline void
put_cell(struct csv *c, const char *s, const char *stop)
{
	if (c->ncells++ < COLUMNS_MAX)
		c->cells[c->ncells - 1] = (struct text_view){ s, (uint32_t)(stop - s) };
}

/* Cuts a line without quotes, 16 bytes at once, because cells are short. Reads past the line (into the
 * padding). False: there is a quote, also if after the line; no cell was cut. */
static bool
cut_plain(struct csv *c, const char *s, const char *line)
{
#ifdef __SSE2__
	const __m128i comma = _mm_set1_epi8(','), quote = _mm_set1_epi8('"');

	for (const char *p = s; p < line; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);
		unsigned commas = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, comma));

		if (_mm_movemask_epi8(_mm_cmpeq_epi8(v, quote)) != 0) {
			c->ncells = 0;
			return false;
		}
		if (line - p < 16)
			commas &= (1U << (line - p)) - 1;
		for (; commas != 0; commas &= commas - 1) {
			const char *stop = p + __builtin_ctz(commas);

			put_cell(c, s, stop);
			s = stop + 1;
		}
	}
	put_cell(c, s, line > s && line[-1] == '\r' ? line - 1 : line);
	return true;
#else
	(void)c;
	(void)s;
	(void)line;
	return false;
#endif
}

/* Cuts the record at the current position into cells; *end is its end. */
static enum cut
cut_record(struct csv *c, const char **end)
{
	const char *s = c->in->at, *line, *stop;
	bool single = input_offset(c->in) < c->plain_until;

	c->limit = c->in->end - s > RECORD_MAX_BYTES ? s + RECORD_MAX_BYTES : c->in->end;
	line = line_end(c, s, c->limit);
	c->looked = c->limit;
	c->ncells = 0;
	c->unquoted.len = 0;
	if (line == NULL)
		return CUT_SHORT;
	if (line == s || (line == s + 1 && *s == '\r'))
		return CUT_BLANK;
	if (cut_plain(c, s, line)) {
		*end = c->looked = line;
		return CUT_DONE;
	}
	for (;; s = stop + 1) {
		struct text_view cell;

		if (s < line && *s == '"') {
			c->looked = single ? line : c->limit;
			if ((stop = cut_quoted(c, s, c->looked, &cell)) == NULL)
				return single || c->in->over ? CUT_MALFORMED : CUT_SHORT;
			if (stop > line && (line = line_end(c, stop, c->limit)) == NULL)
				return CUT_SHORT;
			stop += stop + 1 == line && *stop == '\r';
			c->looked = stop;
			if (stop < line && *stop != ',')
				return CUT_MALFORMED;
		} else {
			stop = memchr(s, ',', line > s ? (size_t)(line - s) : 0);
			stop = stop != NULL ? stop : line;
			cell = (struct text_view){ s, (uint32_t)(stop - s) };
			cell.len -= stop == line && stop > s && stop[-1] == '\r';
		}
		put_cell(c, cell.s, cell.s + cell.len);
		if (stop == line)
			break;
	}
	*end = c->looked = line;
	return CUT_DONE;
}

/* Reads more of the input. 0; 1: the end, or damage, which is counted; negative: failed. */
static int
more(struct csv *c, struct err *e)
{
	struct err cause = { 0 };
	int rc = input_more(c->in, &cause);

	if (rc == ERR_INPUT || rc == ERR_FULL) {
		reading_skip(c->r,
		    rc == ERR_FULL ? SKIP_OVERSIZE
		    : c->in->cut   ? SKIP_TRUNCATED
				   : SKIP_MALFORMED,
		    c->in, "%s", cause.text);
		c->in->over = true;
		return 1;
	}
	return rc < 0 ? err_set(e, rc, "%s", cause.text) : rc;
}

static void
fail(struct csv *c, enum skip why, const char *words)
{
	reading_skip(c->r, why, c->in, "%s", words);
}

/* Skips the line at the current position, which may be longer than the window. 0 or a failure. */
static int
pass_line(struct csv *c, struct err *e)
{
	const char *end;
	int rc = 0;

	while ((end = line_end(c, c->in->at, c->in->end)) == NULL && rc == 0) {
		c->in->at = c->in->end;
		rc = more(c, e);
	}
	if (end == NULL)
		end = c->in->end;
	c->in->at = end + (end < c->in->end);
	return rc < 0 ? rc : 0;
}

/* Cuts the next record; *end is its end. 1; 0: there is none; negative: failed. */
static int
next_record(struct csv *c, const char **end, struct err *e)
{
	int rc;

	for (;;) {
		enum cut cut = c->in->at < c->in->end ? cut_record(c, end) : CUT_SHORT;
		size_t there = (size_t)(c->in->end - c->in->at);

		if (c->unquoted.failed)
			return err_set(e, ERR_MEMORY, "no memory for a line");
		if (cut == CUT_DONE)
			return 1;
		if (cut == CUT_SHORT && there < RECORD_MAX_BYTES) {
			if (c->in->over || ((rc = more(c, e)) == 1 && there == 0))
				return 0;
			if (rc < 0)
				return rc;
			continue;
		}
		if (cut == CUT_SHORT)
			fail(c, SKIP_OVERSIZE, "a line or a quoted cell of over 1 MiB");
		else if (cut == CUT_MALFORMED)
			fail(c, SKIP_MALFORMED, "a quoted cell without a closing quote");
		if (cut != CUT_BLANK &&
		    c->plain_until < input_offset(c->in) + (uint64_t)(c->looked - c->in->at))
			c->plain_until = input_offset(c->in) + (uint64_t)(c->looked - c->in->at);
		if ((rc = pass_line(c, e)) != 0)
			return rc;
	}
}

static uint8_t
column_of(struct text_view name)
{
	uint8_t k = 0;

	while (k < KNOWN &&
	       (strlen(COLUMNS[k]) != name.len || memcmp(COLUMNS[k], name.s, name.len) != 0))
		k++;
	return k;
}

/* The record at hand names the columns. */
static int
take_header(struct csv *c, struct err *e)
{
	uint32_t have = 0;

	c->ncolumns = c->ncells;
	c->header.len = 0;
	for (uint32_t i = 0; i < c->ncells && i < COLUMNS_MAX; i++)
		buf_bytes(&c->header, c->cells[i].s, c->cells[i].len);
	if (c->header.failed)
		return err_set(e, ERR_MEMORY, "no memory for the names of columns");
	for (uint32_t i = 0, at = 0; i < c->ncells && i < COLUMNS_MAX; at += c->cells[i++].len) {
		uint8_t k = column_of(c->cells[i]);

		c->columns[i] = (have & 1U << k) != 0 ? EXTRA : k;
		c->names[i] = (struct text_view){ (const char *)c->header.data + at,
			c->cells[i].len };
		have |= 1U << k;
	}
	if ((have & 1U << TRACE) != 0 && (have & 1U << SPAN) != 0 && (have & 1U << BEGIN) != 0 &&
	    (have & (1U << END | 1U << DURATION)) != 0)
		return 0;
	return err_set(e, ERR_INPUT,
	    "the first line of the file does not name the columns TraceID, SpanID, StartTimeUnixNano, and "
	    "EndTimeUnixNano or Duration");
}

/*
 * A pod of a Deployment is NAME-HASH-SUFFIX. The suffix is 5 characters out of
 * "bcdfghjklmnpqrstvwxz2456789" (k8s.io/apimachinery/pkg/util/rand: no vowels, no characters
 * that look alike), the hash is a 32-bit number, its decimal digits written in the
 * same alphabet (SafeEncodeString), so rarely under 8 and never over 10 characters. Names of other
 * kinds of pods are left as they are: "redis-0" or "mail-smtpx" does not show which part is
 * generated.
 */
static const bool generated[256] = { ['2'] = true,
	['4' ... '9'] = true,
	['b' ... 'd'] = true,
	['f' ... 'h'] = true,
	['j' ... 'n'] = true,
	['p' ... 't'] = true,
	['v' ... 'x'] = true,
	['z'] = true };

/* The length of "-GENERATED" at the end, with `least` to `most` generated characters. 0: there is
 * no such end, or the name consists of it alone. */
static uint32_t
generated_tail(const char *s, uint32_t len, uint32_t least, uint32_t most)
{
	uint32_t n = 0;

	while (n < len && n <= most && generated[(unsigned char)s[len - 1 - n]])
		n++;
	return n >= least && n <= most && n + 1 < len && s[len - 1 - n] == '-' ? n + 1 : 0;
}

static struct text_view
service_of(struct text_view pod)
{
	uint32_t suffix = generated_tail(pod.s, pod.len, 5, 5);
	uint32_t hash = suffix != 0 ? generated_tail(pod.s, pod.len - suffix, 8, 10) : 0;

	return (struct text_view){ pod.s, hash != 0 ? pod.len - suffix - hash : pod.len };
}

static bool
to_ns(struct text_view cell, int64_t scale, int64_t *ret)
{
	int64_t v;

	return cell.len > 0 && json_number_int(cell.s, cell.len, &v) &&
	       !__builtin_mul_overflow(v, scale, ret);
}

static struct trace_id
trace_of(struct csv *c, struct text_view cell)
{
	if (cell.len == c->id_len && memcmp(cell.s, c->id_text, cell.len) == 0)
		return c->id;
	c->id = trace_id_of(cell.s, cell.len);
	c->id_len = cell.len <= sizeof c->id_text ? cell.len : 0;
	memcpy(c->id_text, cell.s, c->id_len);
	return c->id;
}

/* The record at hand is a span. */
static int
take_span(struct csv *c, struct err *e)
{
	struct attribute attributes[COLUMNS_MAX];
	struct text_view known[KNOWN] = { 0 };
	struct span s = { .attributes = attributes, .offset = input_offset(c->in) };
	int64_t duration_ns = 0;

	for (uint32_t i = 0; i < c->ncells && i < COLUMNS_MAX; i++) {
		if (c->columns[i] < KNOWN)
			known[c->columns[i]] = c->cells[i];
		else if (c->cells[i].len > 0)
			attributes[s.nattributes++] = (struct attribute){ c->names[i].s,
				c->names[i].len, typed_value(c->cells[i]) };
	}
	s.no_begin = !to_ns(known[BEGIN], 1, &s.begin_ns);
	s.no_end = !to_ns(known[END], 1, &s.end_ns) &&
	           (s.no_begin || !to_ns(known[DURATION], 1000, &duration_ns) ||
		       __builtin_add_overflow(s.begin_ns, duration_ns, &s.end_ns));
	if (known[TRACE].len == 0 || known[SPAN].len == 0) {
		fail(c, SKIP_INCOMPLETE, "a line without an id");
		return 0;
	}
	s.trace = trace_of(c, known[TRACE]);
	s.id = span_id_of(known[SPAN].s, known[SPAN].len);
	s.has_parent = known[PARENT].len != 0 && !text_is(known[PARENT], "root");
	if (s.has_parent)
		s.parent = span_id_of(known[PARENT].s, known[PARENT].len);
	s.node = known[POD];
	s.service = service_of(known[POD]);
	s.name = known[OPERATION];
	return reading_span(c->r, &s, e);
}

static int
take_record(struct csv *c, struct err *e)
{
	struct err ignored;

	/* Concatenated files contain further header lines. */
	if (column_of(c->cells[0]) != EXTRA && take_header(c, &ignored) == 0)
		return 0;
	if (c->ncells == c->ncolumns)
		return take_span(c, e);
	fail(c, *c->looked != '\n' && c->ncells < c->ncolumns ? SKIP_TRUNCATED : SKIP_MALFORMED,
	    "a line with more or fewer cells than the first line has columns");
	return 0;
}

static int
read_nezha(struct reading *r, struct input *in, struct err *e)
{
	struct csv c = { .r = r, .in = in };
	const char *end;
	int rc;

	while (in->end - in->at < 3 && (rc = more(&c, e)) == 0)
		; /* for the byte order mark that spreadsheets put first */
	if (in->end - in->at >= 3 && memcmp(in->at, "\xef\xbb\xbf", 3) == 0)
		in->at += 3;
	if ((rc = next_record(&c, &end, e)) == 1)
		rc = take_header(&c, e);
	else if (rc == 0)
		rc = err_set(e, ERR_INPUT, "the file is empty");
	while (rc == 0) {
		in->at = end + (end < in->end);
		if ((rc = next_record(&c, &end, e)) == 1)
			rc = take_record(&c, e);
		else if (rc == 0)
			break;
	}
	buf_release(&c.header);
	buf_release(&c.unquoted);
	return rc;
}

static int
sniff_nezha(const char *head, size_t len)
{
	const char *line = memchr(head, '\n', len);
	size_t n = line != NULL ? (size_t)(line - head) : len;

	return memmem(head, n, "TraceID", 7) != NULL && memmem(head, n, "SpanID", 6) != NULL &&
	               memmem(head, n, "StartTimeUnixNano", 17) != NULL &&
	               memchr(head, '{', n) == NULL
	           ? 90
	           : 0;
}

const struct format format_nezha = {
	.name = "nezha",
	.what = "CSV of the Nezha set",
	.resolution_ns = 1,
	.sniff = sniff_nezha,
	.read = read_nezha,
};
