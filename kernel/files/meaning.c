/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "kernel/files/raw_event.h"

static const struct meaning meanings[MEANINGS] = {
#define SLOTS(...)          \
	{                   \
		__VA_ARGS__ \
	}
#define MEANING(name, names, slots) [MEANING_##name] = { MEANING_##name, slots },
#include "kernel/files/meanings.tbl.h"
#undef MEANING
};

static const char *const names_of[MEANINGS] = {
#define MEANING(name, names, slots) [MEANING_##name] = names,
#include "kernel/files/meanings.tbl.h"
#undef MEANING
};

/* Which of the words of the list it is, from 0 on; -1: none. */
static int
word_of(const char *list, char between, const char *name, size_t len)
{
	int n = 0;

	if (len == 0)
		return -1;
	for (const char *at = list; *at != '\0'; n++) {
		size_t word = strcspn(at, (char[2]){ between });

		if (word == len && memcmp(at, name, len) == 0)
			return n;
		at += word + (at[word] != '\0');
	}
	return -1;
}

int
slot_has(const char *slot, const char *name, size_t len)
{
	return word_of(slot[0] == '>' ? slot + 1 : slot, '|', name, len);
}

static const struct meaning *
find(const char *name, bool is_own)
{
	size_t len = strlen(name);
	int from = is_own ? MEANING_OWN_SWITCH : 0, to = is_own ? MEANINGS : MEANING_OWN_SWITCH;

	for (int k = from; k < to; k++)
		if (word_of(names_of[k], ' ', name, len) >= 0)
			return &meanings[k];
	return NULL;
}

/* ---- system calls ----------------------------------------------------------- */

static const struct {
	const char *prefix;
	bool begins;
} call_prefixes[] = {
	{ "syscall_entry_", true },
	{ "compat_syscall_entry_", true },
	{ "syscall_exit_", false },
	{ "compat_syscall_exit_", false },
	{ "sys_enter_", true },
	{ "sys_exit_", false },
	{ "compat_sys_", true }, /* of LTTng before 2.6, whose ends are all exit_syscall */
	{ "sys_", true },
};

/* Names that LTTng has for system calls of other names. */
static const char *const call_aliases[][2] = {
	{ "newstat", "stat" },
	{ "newfstat", "fstat" },
	{ "newlstat", "lstat" },
	{ "newuname", "uname" },
	{ "umount", "umount2" },
	{ "sendfile64", "sendfile" },
};

static bool
set_call(struct event_name *n, bool is_own)
{
	for (size_t i = 0; i < sizeof call_prefixes / sizeof *call_prefixes; i++) {
		size_t len = strlen(call_prefixes[i].prefix);
		bool begins = call_prefixes[i].begins;

		if (strncmp(n->text, call_prefixes[i].prefix, len) != 0 || n->text[len] == '\0')
			continue;
		n->call = n->text + len;
		n->meaning = is_own ? &meanings[begins ? MEANING_OWN_CALL_IN : MEANING_OWN_CALL_OUT]
		                    : &meanings[begins ? MEANING_CALL_IN : MEANING_CALL_OUT];
		return true;
	}
	return false;
}

void
event_name_set(struct event_name *ret, const char *text, bool is_own)
{
	*ret = (struct event_name){ text, find(text, is_own), "", SYSCALL_UNKNOWN };
	if (ret->meaning != NULL || !set_call(ret, is_own) || is_own)
		return;
	for (size_t i = 0; i < sizeof call_aliases / sizeof *call_aliases; i++)
		if (strcmp(ret->call, call_aliases[i][0]) == 0)
			ret->call = call_aliases[i][1];
	ret->call_number = kernel_syscall_number(ret->call);
}

void
event_name_count(struct event_name *n)
{
	n->meaning = &meanings[MEANING_COUNTED];
}
