/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of the database as bytes, and back: by the columns of store_tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forest/store_inside.h"

int
store_schema(void)
{
	return STORE_SCHEMA;
}

/* ---- writing ---- */

static void
put_value(struct buf *b, const struct column *c, const void *row)
{
	const char *at = (const char *)row + c->offset;
	const char *text;

	switch (c->type) {
	case U64:
	case REF:
		buf_uint(b, *(const uint64_t *)at);
		break;
	case U32:
		buf_uint(b, *(const uint32_t *)at);
		break;
	case FLAG:
		buf_u8(b, *(const bool *)at);
		break;
	case CHAR:
		buf_u8(b, *(const uint8_t *)at);
		break;
	case REAL:
		buf_double(b, *(const double *)at);
		break;
	case TEXT:
		text = *(const char *const *)at != NULL ? *(const char *const *)at : "";
		buf_text(b, text, strlen(text));
		break;
	}
}

void
row_encode(enum store_table t, const void *row, struct buf *out)
{
	struct buf values = { 0 };

	for (unsigned i = 0; i < store_tables[t].ncolumns; i++)
		put_value(&values, &store_tables[t].columns[i], row);
	buf_u8(out, (uint8_t)t);
	buf_text(out, (const char *)values.data, values.len);
	out->failed |= values.failed;
	buf_release(&values);
}

int
changes_encode(const struct forest_changes *c, struct buf *out, struct err *e)
{
	for (uint32_t i = 0; i < c->nruns; i++)
		row_encode(TABLE_RUN, c->runs[i], out);
	for (uint32_t i = 0; i < c->nhypotheses; i++)
		row_encode(TABLE_HYPOTHESIS, c->hypotheses[i], out);
	for (uint32_t i = 0; i < c->nverdicts; i++)
		row_encode(TABLE_VERDICT, c->verdicts[i], out);
	for (uint32_t i = 0; i < c->nswitched; i++)
		row_encode(TABLE_SWITCHED, &c->switched[i], out);
	for (uint32_t i = 0; i < c->nevidence; i++)
		row_encode(TABLE_EVIDENCE, &c->evidence[i], out);
	for (uint32_t i = 0; i < c->naudit; i++)
		row_encode(TABLE_AUDIT, &c->audit[i], out);
	return out->failed ? err_set(e, ERR_MEMORY, "out of memory for rows of the forest") : 0;
}

size_t
rows_fitting(const uint8_t *rows, size_t len, size_t max_bytes, uint64_t *nrows)
{
	struct reader r = reader_of(rows, len);
	size_t fits = 0, values_len;

	for (*nrows = 0; reader_left(&r) > 0; ++*nrows) {
		size_t end;

		read_u8(&r);
		read_text(&r, SIZE_MAX, &values_len);
		end = len - reader_left(&r);
		if (r.failed || (*nrows > 0 && end > max_bytes))
			break;
		fits = end;
	}
	return fits;
}

/* ---- reading ---- */

static int
malformed(struct err *e, enum store_table t)
{
	return err_set(e, ERR_INPUT, "a row of %s is malformed or cut off", store_tables[t].name);
}

/* What the struct has where the writer's schema had no such column. */
static void
leave_out(const struct column *c, void *row)
{
	if (c->type == REAL)
		*(double *)((char *)row + c->offset) = NAN;
	else if (c->type == TEXT)
		*(const char **)((char *)row + c->offset) = "";
}

/* False: malformed, or out of memory. */
static bool
read_value(struct reader *r, const struct column *c, void *row, struct arena *a)
{
	char *at = (char *)row + c->offset;
	const char *text;
	uint64_t n;
	size_t len;

	switch (c->type) {
	case U64:
	case REF:
		*(uint64_t *)at = read_uint(r);
		break;
	case U32:
		*(uint32_t *)at = (uint32_t)(n = read_uint(r));
		if (n > UINT32_MAX)
			return false;
		break;
	case FLAG:
		*(bool *)at = (n = read_u8(r)) != 0;
		if (n > 1)
			return false;
		break;
	case CHAR:
		*at = (char)read_u8(r);
		break;
	case REAL:
		*(double *)at = read_double(r);
		break;
	case TEXT:
		text = read_text(r, SIZE_MAX, &len);
		if (r->failed || memchr(text, 0, len) != NULL ||
		    (*(char **)at = arena_text(a, text, len)) == NULL)
			return false;
		break;
	}
	return !r->failed;
}

int
row_decode(struct reader *r, int schema, enum store_table *ret, union store_row *row,
    struct arena *a, struct err *e)
{
	unsigned t = read_u8(r);
	size_t len;
	const char *values = read_text(r, SIZE_MAX, &len);
	struct reader in;

	if (r->failed || t >= TABLES)
		return err_set(e, ERR_INPUT, "a row is of no table, or cut off");
	in = reader_of(values, len);
	memset(row, 0, sizeof *row);
	for (unsigned i = 0; i < store_tables[t].ncolumns; i++) {
		const struct column *c = &store_tables[t].columns[i];

		if (c->since > schema)
			leave_out(c, row);
		else if (!read_value(&in, c, row, a))
			return malformed(e, t);
	}
	if (reader_left(&in) > 0)
		return malformed(e, t);
	*ret = t;
	return row_check(t, row, e);
}
