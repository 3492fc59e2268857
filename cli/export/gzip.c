/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/export/gzip.h"

#include <limits.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, USUAL_MEMORY = 8 }; /* + 16: with gzip's header */

int
gzip_bytes(struct buf *to, const void *bytes, size_t len, struct err *e)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)len };
	uint8_t *room;
	size_t most;

	if (len > UINT_MAX || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
				  USUAL_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(e, ERR_MEMORY, "no memory to compress %zu bytes", len);
	most = deflateBound(&z, (uLong)len);
	if (most > UINT_MAX || (room = buf_reserve(to, most)) == NULL) {
		deflateEnd(&z);
		return err_set(e, ERR_MEMORY, "no memory to compress %zu bytes", len);
	}
	z.next_out = room;
	z.avail_out = (uInt)most;
	deflate(&z, Z_FINISH);
	to->len += most - z.avail_out;
	deflateEnd(&z);
	return 0;
}
