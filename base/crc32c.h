/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRC-32C (Castagnoli; RFC 3720, appendix B.4), with the processor's instruction where it has one. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* `crc` is 0, or the result for the bytes before these. O(len): 0.1 ns a byte with the instruction,
 * 4 ns without. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

#endif
