/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CLI_EXPORT_GZIP_H
#define CLI_EXPORT_GZIP_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the bytes as a gzip file (RFC 1952) to `to`. ERR_MEMORY. O(len). */
int gzip_bytes(struct buf *to, const void *bytes, size_t len, struct err *e);

#endif
