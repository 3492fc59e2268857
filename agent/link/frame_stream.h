/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames (wire/frame.h) on a stream (base/stream.h). */
#ifndef AGENT_LINK_FRAME_STREAM_H
#define AGENT_LINK_FRAME_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/stream.h"
#include "wire/frame.h"

/* Writes a frame. Errors of stream_write(). */
int frame_write(struct stream *s, enum frame_kind kind, uint64_t seq, const void *payload,
    size_t len, int limit_ms, struct err *e);

/* Reads a frame and checks its CRC. *payload is the caller's, also on failure; NULL if it is
 * empty. Errors of stream_read(), frame_open() and frame_check(); ERR_MEMORY. */
int frame_read(struct stream *s, struct frame *f, uint8_t **payload, int limit_ms, struct err *e);

#endif
