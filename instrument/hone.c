/* SPDX-License-Identifier: MIT */
/*
 * The context of a thread: a thread-local struct that only the thread itself uses, so there are no locks. Whether
 * a request is sampled is tested here, before LTTng is called.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "instrument/context_place.h"
#include "instrument/inside.h"
#include "instrument/policy.h"
#include "instrument/tracepoints_lttng.h"

__thread struct hone_thread hone_self __attribute__((tls_model("initial-exec")));

static const struct hone_unit OUTSIDE;

#define UNIT(member) offsetof(struct hone_unit, member)

/* Others find it by its name; no code of the library reads it. */
__attribute__((visibility("default"))) struct hone_context_place hone_context_place_v1 = {
	.magic = HONE_CONTEXT_MAGIC,
	.size = sizeof(struct hone_context_place),
	.context_bytes = sizeof(struct hone_unit),
	.trace_id_high = UNIT(carrier.trace_id_high),
	.trace_id = UNIT(carrier.trace_id),
	.unit_id = UNIT(unit_id),
	.request_type = UNIT(carrier.request_type),
	.sampled = UNIT(carrier.sampled),
	.probed = UNIT(carrier.probed),
};

/* A child of fork() is outside of its parent's request, and generates other ids. */
static void
after_fork(void)
{
	ids_after_fork();
	hone_self.now = OUTSIDE;
	hone_self.naside = hone_self.beyond = 0;
}

__attribute__((constructor)) static void
hone_start(void)
{
	const char *path = secure_getenv("HONE_POLICY"), *sample = secure_getenv("HONE_SAMPLE");
	bool given = path != NULL && path[0] != '\0';

	hone_context_place_v1.offset = (const char *)&hone_self.now -
	                               (const char *)__builtin_thread_pointer();
	policy_init(
	    given ? path : HONE_POLICY_PATH, given, sample != NULL && strcmp(sample, "1") == 0);
	pthread_atfork(NULL, NULL, after_fork);
}

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The name for the tracepoint: `name`, or its first 63 bytes, in `room`. */
static inline const char *
name_cut(const char *name, char room[NAME_MAX_BYTES + 1])
{
	if (name == NULL)
		return "";
	if (strnlen(name, NAME_MAX_BYTES + 1) <= NAME_MAX_BYTES)
		return name;
	memcpy(room, name, NAME_MAX_BYTES);
	room[NAME_MAX_BYTES] = '\0';
	return room;
}

static __attribute__((noinline, cold)) void
unwritten(void)
{
	policy_unwritten(now_ns());
}

/* The agent's event rules have a filter on `sampled`. If that was evaluated, a session records; that the
 * tracepoint is enabled does not show it, since LTTng enables tracepoints some time before the session starts. */
#define EMIT(event, name, ...)                                                                    \
	do {                                                                                      \
		char room_[NAME_MAX_BYTES + 1];                                                   \
		hone_self.asked = false;                                                          \
		if (lttng_ust_tracepoint_enabled(hone, event))                                    \
			lttng_ust_do_tracepoint(hone, event, name_cut(name, room_), __VA_ARGS__); \
		if (__builtin_expect(!hone_self.asked, 0))                                        \
			unwritten();                                                              \
	} while (0)

uint32_t
hone_request_type(const char *type)
{
	return hone_policy_type(type);
}

void
hone_request_begin(const char *type, const struct hone_carrier *from)
{
	struct hone_thread *t = &hone_self;
	struct hone_carrier *c = &t->now.carrier;
	bool called = from != NULL && from->trace_id != 0;

	if (type == NULL)
		return;
	t->naside = t->beyond = 0;
	if (called)
		*c = (struct hone_carrier){ from->trace_id_high, from->trace_id, from->link_id };
	else
		*c = (struct hone_carrier){ ids_next(), ids_next(), 0 };
	c->request_type = hone_request_type(type);
	t->now.unit_id = ids_next();
	t->now.name = type;
	policy_decide(c, now_ns(), called, (uint32_t)(ids_next() >> 32));
	if (c->sampled)
		EMIT(request_begin, type, c->link_id, c->trace_id_high, c->probed);
}

void
hone_request_end(int status)
{
	struct hone_thread *t = &hone_self;

	if (t->now.carrier.sampled)
		EMIT(request_end, t->now.name, status);
	t->now = OUTSIDE;
	t->naside = t->beyond = 0;
}

void
hone_fork(const char *name, struct hone_carrier *out)
{
	const struct hone_carrier *c = &hone_self.now.carrier;

	if (out == NULL)
		return;
	*out = *c;
	if (c->trace_id == 0)
		return;
	out->link_id = ids_next();
	out->via = 0;
	if (c->sampled)
		EMIT(fork, name, out->link_id);
}

/* Units outside of a request count too, so that ends match their beginnings. */
static bool
put_aside(struct hone_thread *t)
{
	if (t->naside == UNITS_ASIDE_MAX) {
		if (t->beyond++ == 0)
			t->aside[UNITS_ASIDE_MAX] = t->now;
		t->now = OUTSIDE;
		return false;
	}
	t->aside[t->naside++] = t->now;
	t->now = OUTSIDE;
	return true;
}

void
hone_unit_begin(const struct hone_carrier *c, const char *name)
{
	struct hone_thread *t = &hone_self;

	if (!put_aside(t) || c == NULL || c->trace_id == 0)
		return;
	t->now.carrier = *c;
	t->now.unit_id = ids_next();
	t->now.name = name;
	if (c->sampled)
		EMIT(unit_begin, name, c->link_id, c->probed, c->via);
}

void
hone_unit_end(void)
{
	struct hone_thread *t = &hone_self;
	const struct hone_carrier *c = &t->now.carrier;

	if (t->beyond > 0) {
		if (--t->beyond == 0)
			t->now = t->aside[UNITS_ASIDE_MAX];
		return;
	}
	if (c->sampled)
		EMIT(unit_end, t->now.name, c->link_id);
	t->now = t->naside > 0 ? t->aside[--t->naside] : OUTSIDE;
}

void
hone_join(const struct hone_carrier *c, const char *name)
{
	const struct hone_carrier *now = &hone_self.now.carrier;

	if (c == NULL || !now->sampled || c->trace_id != now->trace_id)
		return;
	EMIT(join, name, c->link_id);
}

void
hone_detach(struct hone_unit *out)
{
	struct hone_thread *t = &hone_self;

	if (out == NULL)
		return;
	*out = t->now;
	hone_attach(&OUTSIDE);
}

void
hone_attach(const struct hone_unit *u)
{
	struct hone_thread *t = &hone_self;

	if (u == NULL)
		return;
	t->now = *u;
	t->naside = t->beyond = 0;
}

uint64_t
hone_trace_id(void)
{
	return hone_self.now.carrier.trace_id;
}

uint64_t
hone_unit_id(void)
{
	return hone_self.now.unit_id;
}

int
hone_listening(void)
{
	return lttng_ust_tracepoint_enabled(hone, unit_begin) != 0;
}

int
hone_probed(void)
{
	return hone_self.now.carrier.probed;
}
