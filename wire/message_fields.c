/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/message_fields.h"

#include <assert.h>
#include <string.h>

void
put_name(struct buf *b, const char *s, size_t max_len)
{
	assert(max_len > 0);
	if (s == NULL)
		s = "";
	buf_text(b, s, strnlen(s, max_len));
}

int
take_text(const char **ret, struct reader *r, struct arena *a, size_t max_len)
{
	size_t len;
	const char *s = read_text(r, max_len, &len);

	if (s == NULL || memchr(s, 0, len) != NULL)
		return ERR_INPUT;
	return (*ret = arena_text(a, s, len)) == NULL ? ERR_MEMORY : 0;
}

int
take_name(const char **ret, struct reader *r, struct arena *a, size_t max_len)
{
	int rc = take_text(ret, r, a, max_len);

	if (rc != 0)
		return rc;
	for (const char *s = *ret; *s != 0; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return ERR_INPUT;
	return **ret == 0 ? ERR_INPUT : 0;
}

bool
take_share(double *ret, struct reader *r)
{
	*ret = read_double(r);
	return !r->failed && *ret >= 0 && *ret <= 1; /* false for NaN */
}

bool
is_tracepoint(const char *name)
{
	const char *colon = strchr(name, ':');

	assert(name != NULL);
	return colon != NULL && colon > name && colon[1] != 0;
}

int
take_end(const struct reader *r, const char *what, struct err *e)
{
	if (r->failed)
		return err_set(e, ERR_INPUT, "%s: cut off", what);
	if (reader_left(r) > 0)
		return err_set(e, ERR_INPUT, "%s: %zu bytes too many", what, reader_left(r));
	return 0;
}
