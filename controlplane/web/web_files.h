/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of the live page, which are inside the program: it loads nothing from elsewhere. */
#ifndef CONTROLPLANE_WEB_WEB_FILES_H
#define CONTROLPLANE_WEB_WEB_FILES_H

#include <stddef.h>

struct web_file {
	const char *path, *type; /* "/page.js", its Content-Type */
	char *text;
	size_t len;
	char *packed; /* the same by gzip */
	size_t packed_len;
};

/* Puts the files together and compresses them, which takes some ms. -1: out of memory. */
int web_files_init(void);
/* The file of this path; NULL: there is none. Valid until web_files_release(). */
const struct web_file *web_file(const char *path);
void web_files_release(void);

#endif
