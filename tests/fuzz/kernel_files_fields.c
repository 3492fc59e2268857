/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any values as fields of events of any name, of LTTng, perf and Hone, as babeltrace2 would give them: sound events, and
 * those of Hone's own as they are. */
#include "tests/fuzz/kernel_files_seen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const names[] = {
#define MEANING(name, all, slots) all,
#include "kernel/files/meanings.tbl.h"
#undef MEANING
};

enum { NAMES = sizeof names / sizeof *names };

struct bytes {
	const uint8_t *at, *end;
};

static uint8_t
byte(struct bytes *b)
{
	return b->at < b->end ? *b->at++ : 0;
}

static int64_t
number(struct bytes *b)
{
	static const int64_t edges[] = { 0, 1, -1, INT64_MAX, INT64_MIN, UINT32_MAX, INT32_MAX,
		65535, 65536, 202 };
	uint8_t how = byte(b);
	int64_t ret = 0;

	if (how < 100)
		return how % 20;
	if (how < 200)
		return edges[how % (sizeof edges / sizeof *edges)];
	for (int i = 0; i < 8; i++)
		ret = (int64_t)((uint64_t)ret << 8 | byte(b));
	return ret;
}

static struct field_said
value(struct bytes *b)
{
	struct field_said ret = { byte(b) % 3 };
	size_t len = byte(b) % 40, left = (size_t)(b->end - b->at);

	if (ret.type == RAW_NUMBER)
		ret.number = number(b);
	if (ret.type == RAW_TEXT) {
		ret.len = len < left ? len : left;
		ret.text = (const char *)b->at;
		b->at += ret.len;
	}
	return ret;
}

/* One of the names of a meaning, or of a system call. */
static void
choose(struct bytes *b, char ret[80])
{
	const char *all = names[byte(b) % NAMES];
	int nth = byte(b) % 12;
	size_t len = strcspn(all, " ");

	for (; nth > 0 && all[len] != '\0'; nth--) {
		all += len + 1;
		len = strcspn(all, " ");
	}
	memcpy(ret, all, len);
	ret[len] = '\0';
	if (len == 0)
		strcpy(ret, nth % 2 ? "syscall_entry_futex" : "syscall_exit_odd");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes b = { data, data + len };
	struct translator t;
	struct seen s;
	bool is_own = byte(&b) % 2;

	seen_open(&s);
	t = (struct translator){
		.names = &s.names, .account = &s.account, .texts_left = &s.setting.texts_left
	};
	while (b.at < b.end) {
		struct kernel_event events[TRANSLATED_MAX];
		struct event_name name;
		char text[80];
		struct raw_event raw = { .name = &name };
		struct err e;
		uint8_t has;
		int n;

		choose(&b, text);
		event_name_set(&name, text, is_own);
		if (name.meaning == NULL)
			event_name_count(&name);
		raw.time_ns = number(&b);
		raw.cpu = (uint16_t)number(&b);
		has = byte(&b);
		raw.has_tid = has & 1;
		raw.has_pid = has & 2;
		raw.has_procname = has & 4;
		raw.tid = raw.has_tid ? (uint32_t)number(&b) : 0;
		raw.pid = raw.has_pid ? (uint32_t)number(&b) : 0;
		raw.procname = "worker";
		raw.procname_len = has % 7;
		for (int i = 0; name.meaning->slots[i] != NULL; i++)
			raw.values[i] = value(&b);
		n = raw_translate(&t, &raw, events, &e);
		check(n >= 0 && n <= TRANSLATED_MAX);
		for (int i = 0; i < n; i++)
			seen_marked(&s, &events[i]);
	}
	seen_close(&s);
	return 0;
}
