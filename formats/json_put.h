/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts in JSON, by RFC 8259. Bytes that are not UTF-8 become U+FFFD. */
#ifndef FORMATS_JSON_PUT_H
#define FORMATS_JSON_PUT_H

#include <stdio.h>

void json_put_text(FILE *to, const char *s, size_t len);       /* with its quotes */
void json_put_characters(FILE *to, const char *s, size_t len); /* without */
/* The shortest of 15 to 17 digits that is read back as the same number. x must be finite: JSON has no other. */
void json_put_real(FILE *to, double x);

#endif
