/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* strerror_r() that returns the words */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
err_set(struct err *e, int code, const char *fmt, ...)
{
	char text[sizeof e->text]; /* the arguments may be pieces of e->text */
	va_list ap;

	if (e == NULL)
		return code;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	memcpy(e->text, text, sizeof text);
	return e->code = code;
}

int
err_errno(struct err *e, const char *fmt, ...)
{
	int number = errno;
	char words[sizeof e->text], why[128];
	va_list ap;

	if (e == NULL)
		return ERR_SYSTEM;
	va_start(ap, fmt);
	vsnprintf(words, sizeof words, fmt, ap);
	va_end(ap);
	return err_set(e, ERR_SYSTEM, "%s: %s", words, strerror_r(number, why, sizeof why));
}

int
err_prefix(struct err *e, const char *fmt, ...)
{
	char words[sizeof e->text];
	va_list ap;

	if (e == NULL)
		return ERR_OK;
	va_start(ap, fmt);
	vsnprintf(words, sizeof words, fmt, ap);
	va_end(ap);
	return err_set(e, e->code, "%s: %s", words, e->text);
}
