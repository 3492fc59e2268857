/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The secret that a client of HTTP shows in its header Authorization (RFC 6750, section 2.1): the first line of a file. */
#ifndef CONTROLPLANE_HONED_BEARER_TOKEN_H
#define CONTROLPLANE_HONED_BEARER_TOKEN_H

#include <stdbool.h>

#include "base/err.h"

enum { TOKEN_LEAST = 16, TOKEN_MOST = 512 };

/* The first line of the file, without blanks at its end. ERR_SYSTEM: it cannot be read; ERR_DENIED: it is no regular file, or users who are
 * neither its owner nor in its group can read or write it; ERR_INPUT: it has fewer bytes than TOKEN_LEAST, more than TOKEN_MOST, or others
 * than printable ASCII without blanks. */
int bearer_token_read(char ret[TOKEN_MOST + 1], const char *path, struct err *e);

/* Whether the header ("Bearer TOKEN"; NULL: none was sent) shows this token. The time it takes does not depend on where they differ. */
bool bearer_token_is_shown(const char *authorization, const char *token);

#endif
