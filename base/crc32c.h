/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRC-32C (Castagnoli, RFC 3720 appendix B.4), by the processor's instruction where it has one. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* `crc` is 0 at first, or what an earlier call gave for the bytes before these. O(len). */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

#endif
