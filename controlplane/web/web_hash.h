/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a Content-Security-Policy names a script or a style that is inside a page (Content Security Policy Level 3, 2.3.1: hash-source). */
#ifndef CONTROLPLANE_WEB_WEB_HASH_H
#define CONTROLPLANE_WEB_WEB_HASH_H

#include <stdbool.h>
#include <stddef.h>

enum { WEB_HASH = 56 }; /* with the terminating 0 */

/* 'sha256-BASE64' of the text. False: OpenSSL has no SHA-256. O(len). */
bool web_hash(const void *text, size_t len, char to[WEB_HASH]);

#endif
