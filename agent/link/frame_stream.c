/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/link/frame_stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A frame of up to this size is copied and written at once: a second write costs more. */
enum { SMALL_FRAME = 2048 };

int
frame_write(struct stream *s, enum frame_kind kind, uint64_t seq, const void *payload, size_t len,
    int limit_ms, struct err *e)
{
	uint8_t frame[SMALL_FRAME];
	int rc;

	frame_seal(frame, kind, seq, payload, len);
	if (len > 0 && len <= sizeof frame - FRAME_HEADER_BYTES) {
		memcpy(frame + FRAME_HEADER_BYTES, payload, len);
		return stream_write(s, frame, FRAME_HEADER_BYTES + len, limit_ms, e);
	}
	if ((rc = stream_write(s, frame, FRAME_HEADER_BYTES, limit_ms, e)) != 0)
		return rc;
	return len > 0 ? stream_write(s, payload, len, limit_ms, e) : 0;
}

int
frame_read(struct stream *s, struct frame *f, uint8_t **payload, int limit_ms, struct err *e)
{
	uint8_t header[FRAME_HEADER_BYTES];
	int rc;

	*payload = NULL;
	if ((rc = stream_read(s, header, sizeof header, limit_ms, e)) != 0 ||
	    (rc = frame_open(f, header, e)) != 0)
		return rc;
	if (f->length > 0) {
		if ((*payload = malloc(f->length)) == NULL)
			return err_set(e, ERR_MEMORY, "out of memory for %u bytes", f->length);
		if ((rc = stream_read(s, *payload, f->length, limit_ms, e)) != 0)
			return rc;
	}
	return frame_check(f, header, *payload, e);
}
