/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* the strerror_r() that returns a text */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
err_set(struct err *e, int code, const char *fmt, ...)
{
	char text[sizeof e->text]; /* the arguments may point into e->text */
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
	char prefix[sizeof e->text], why[128];
	va_list ap;

	if (e == NULL)
		return ERR_SYSTEM;
	va_start(ap, fmt);
	vsnprintf(prefix, sizeof prefix, fmt, ap);
	va_end(ap);
	return err_set(e, ERR_SYSTEM, "%s: %s", prefix, strerror_r(number, why, sizeof why));
}

int
err_prefix(struct err *e, const char *fmt, ...)
{
	char prefix[sizeof e->text];
	va_list ap;

	if (e == NULL)
		return ERR_OK;
	va_start(ap, fmt);
	vsnprintf(prefix, sizeof prefix, fmt, ap);
	va_end(ap);
	return err_set(e, e->code, "%s: %s", prefix, e->text);
}
