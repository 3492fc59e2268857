/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/files/account.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
account_odd(struct account *a, enum kernel_oddity o, const char *format, ...)
{
	struct kernel_first *f = &a->counts->odd[o];
	va_list args;

	if (f->count++ > 0)
		return;
	snprintf(f->file, sizeof f->file, "%s", a->file != NULL ? a->file : "");
	f->placed = a->placed;
	f->offset = a->offset;
	va_start(args, format);
	vsnprintf(f->why, sizeof f->why, format, args);
	va_end(args);
}

const char *
account_host(const struct account *a, uint16_t host)
{
	return a->hosts != NULL && host < texts_count(a->hosts) ? texts_get(a->hosts, host) : "";
}

void
account_unused(struct account *a, const char *name, size_t len)
{
	struct kernel_files_counts *c = a->counts;
	struct kernel_unused *u;

	c->unused++;
	if (len > KERNEL_UNUSED_NAME_MAX)
		len = KERNEL_UNUSED_NAME_MAX;
	for (uint32_t i = 0; i < c->nnames; i++) {
		u = &c->names[i];
		if (memcmp(u->name, name, len) == 0 && u->name[len] == '\0') {
			u->count++;
			return;
		}
	}
	if (c->nnames == KERNEL_UNUSED_NAMES)
		return;
	u = &c->names[c->nnames++];
	memcpy(u->name, name, len);
	u->name[len] = '\0';
	u->count = 1;
}
