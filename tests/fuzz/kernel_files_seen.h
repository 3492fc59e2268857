/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helper for fuzz targets of recordings of the kernel: takes kernel events, checks the contract of each, and hashes all of
 * them. */
#ifndef TESTS_FUZZ_KERNEL_FILES_SEEN_H
#define TESTS_FUZZ_KERNEL_FILES_SEEN_H

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/input.h"
#include "kernel/files/recording.h"
#include "kernel/files/thread_table.h"

enum { SEEN_MEMORY_BYTES = 1 << 20 };

static inline void
check(int ok)
{
	if (!ok)
		abort();
}

struct seen {
	struct kernel_names names;
	struct kernel_files_counts counts;
	struct account account;
	struct thread_table *threads;
	struct recording_setting setting;
	uint64_t hash, events;
	int64_t last_ns;
};

static inline void
seen_open(struct seen *s)
{
	struct err e;

	memset(s, 0, sizeof *s);
	check(kernel_names_new(&s->names, &e) == 0);
	s->account.counts = &s->counts;
	check(thread_table_new(&s->threads, SEEN_MEMORY_BYTES, &s->account, &e) == 0);
	s->setting = (struct recording_setting){ .counted = "user_*,x",
		.names = &s->names,
		.account = &s->account,
		.texts_left = SEEN_MEMORY_BYTES,
		.waiting_left = 4096 };
	s->last_ns = INT64_MIN;
}

static inline void
seen_close(struct seen *s)
{
	thread_table_end(s->threads);
	thread_table_free(s->threads);
	kernel_names_release(&s->names);
}

static inline void
seen_mix(struct seen *s, uint64_t x)
{
	s->hash = hash_u64(s->hash ^ x) + 1;
}

static inline void
seen_text(struct seen *s, uint32_t number)
{
	check(number < texts_count(s->names.texts));
	seen_mix(s, hash_bytes(0, texts_get(s->names.texts, number),
			strlen(texts_get(s->names.texts, number))));
}

static inline void
seen_event(struct seen *s, const struct kernel_event *ev)
{
	check(ev->kind < KERNEL_KINDS && ev->reserved == 0);
	check(ev->host == 0 || ev->host < texts_count(s->names.hosts));
	s->events++;
	seen_mix(s, (uint64_t)ev->time_ns);
	seen_mix(s, (uint64_t)ev->kind << 48 | (uint64_t)ev->cpu << 32 | ev->tid);
	seen_mix(s, (uint64_t)ev->flags << 32 | ev->pid);
	switch (ev->kind) {
	case KERNEL_NAME:
		seen_text(s, ev->thread.name);
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		seen_text(s, ev->context.name);
		check(ev->context.kind <= CONTEXT_RECEPTION);
		break;
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		seen_text(s, ev->call.name);
		seen_mix(s, (uint64_t)ev->call.value);
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		check(ev->message.connection < texts_count(s->names.connections));
		seen_text(s, ev->message.text);
		break;
	case KERNEL_COUNTED:
		seen_text(s, ev->counted.name);
		break;
	case KERNEL_STACK:
		seen_text(s, ev->stack.folded);
		break;
	case KERNEL_SWITCH:
		seen_mix(s, (uint64_t)ev->change.next_tid << 32 | ev->change.next_pid);
		break;
	case KERNEL_WAKING:
		seen_mix(s, (uint64_t)ev->waking.tid << 32 | ev->waking.pid);
		break;
	case KERNEL_FORK:
		seen_mix(s, (uint64_t)ev->child.tid << 32 | ev->child.pid);
		break;
	}
}

/* An event with marks, as readers give it. */
static inline void
seen_marked(struct seen *s, const struct kernel_event *ev)
{
	struct kernel_event events[THREAD_TABLE_MAX];
	struct err e;
	int n = thread_table_take(s->threads, ev, events, &e);

	check(n >= 0 && n <= THREAD_TABLE_MAX);
	for (int i = 0; i < n; i++)
		seen_event(s, &events[i]);
}

typedef int seen_opens(struct recording **ret, struct input *in, const char *path,
    struct recording_setting *setting, struct err *e);

/* Reads the bytes as text of a format, in pieces. Returns a hash of what was read. */
static inline uint64_t
seen_read(seen_opens *open, const char *meta, const uint8_t *data, size_t len, size_t piece)
{
	struct recording *r;
	struct input in;
	struct seen s;
	struct err e;
	int rc;

	seen_open(&s);
	s.setting.meta = meta;
	check(input_memory(&in, data, len, piece, &e) == 0);
	check(open(&r, &in, "web.txt", &s.setting, &e) == 0);
	do {
		check((rc = r->more(r, &e)) == 0);
		for (; r->at < r->count; r->at++) {
			check(r->items[r->at].ev.time_ns >= s.last_ns);
			s.last_ns = r->items[r->at].ev.time_ns;
			seen_marked(&s, &r->items[r->at].ev);
		}
	} while (r->count > 0);
	r->close(r);
	for (int o = 0; o < KERNEL_ODDITIES; o++)
		seen_mix(&s, s.counts.odd[o].count);
	check(s.counts.used + s.counts.unused <= s.counts.events);
	seen_close(&s);
	return s.hash;
}

#endif
