/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of CTF as a recording of kernel events. What reads it is loaded when it is needed (ctf_door.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "formats/ctf_reader.h"
#include "kernel/files/ctf_door.h"
#include "kernel/files/recording.h"

#pragma weak ctf_door_babeltrace

enum { OWN_EQUAL_MAX = 1 << 20 }; /* events of one time that are put in order */

struct recording_ctf {
	struct recording recording;
	struct recording_setting *setting;
	struct translator translator;
	const struct ctf_door *door;
	struct ctf_reading *reading;
	struct arena arena; /* of the path and the names */
	uint16_t host;
	bool has_host, is_own, over;
	uint32_t all, cap; /* items in all; recording.count of them are ready */
	uint32_t group,
	    seen; /* of Hone's own: items of the newest time begin there; looked at so far */
	struct event_name lost_name;
	struct kernel_event *losses; /* whose end has not come, by their ends */
	uint32_t nlosses, losses_cap;
};

/* ---- items ------------------------------------------------------------------ */

static int
push(struct recording_ctf *s, const struct kernel_event *ev, uint64_t order, struct err *e)
{
	if (!array_reserve(s->recording.items, s->cap, s->all + 1))
		return err_set(e, ERR_MEMORY, "no memory for events");
	s->recording.items[s->all++] = (struct recorded_item){ *ev, order };
	return 0;
}

/* Events that were lost are given at the time by which they were. */
static int
push_losses(struct recording_ctf *s, int64_t until_ns, struct err *e)
{
	uint32_t n = 0;
	int rc = 0;

	for (; rc == 0 && n < s->nlosses && s->losses[n].time_ns <= until_ns; n++)
		rc = push(s, &s->losses[n], 0, e);
	if (n > 0)
		memmove(s->losses, s->losses + n, (s->nlosses - n) * sizeof *s->losses);
	s->nlosses -= n;
	return rc;
}

static int
by_order(const void *a, const void *b)
{
	const struct recorded_item *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static void
sort_group(struct recording_ctf *s, uint32_t end)
{
	qsort(s->recording.items + s->group, end - s->group, sizeof *s->recording.items, by_order);
	s->group = end;
}

/* Makes items ready: all; of Hone's own those before the newest time, whose events have an order of their own. */
static void
make_ready(struct recording_ctf *s)
{
	const struct recorded_item *items = s->recording.items;

	if (!s->is_own) {
		s->recording.count = s->all;
		return;
	}
	for (; s->seen < s->all; s->seen++)
		if (items[s->seen].ev.time_ns != items[s->group].ev.time_ns)
			sort_group(s, s->seen);
	if (s->over || s->all - s->group > OWN_EQUAL_MAX)
		sort_group(s, s->all);
	s->recording.count = s->group;
}

/* ---- what the door calls ---------------------------------------------------- */

static int
begin_trace(void *of, const struct ctf_environment *env, struct err *e)
{
	struct recording_ctf *s = of;
	uint32_t host;

	if (s->has_host)
		return 0;
	host = texts_intern(s->setting->names->hosts, env->hostname, strlen(env->hostname));
	if (host >= KERNEL_HOSTS_MAX)
		return err_set(e, ERR_MEMORY, "over %d hosts, or out of memory", KERNEL_HOSTS_MAX);
	s->host = (uint16_t)host;
	s->has_host = true;
	s->is_own = env->is_own;
	return 0;
}

static const struct event_name *
take_name(void *of, const char *name, int *rc)
{
	struct recording_ctf *s = of;
	struct event_name *ret = arena_calloc(&s->arena, 1, sizeof *ret);

	if (ret == NULL) {
		*rc = ERR_MEMORY;
		return NULL;
	}
	event_name_set(ret, name, s->is_own);
	if (ret->meaning == NULL && !s->is_own && translator_counts(&s->translator, name))
		event_name_count(ret);
	return ret->meaning != NULL ? ret : NULL;
}

static int
take_event(void *of, const struct raw_event *given, struct err *e)
{
	struct recording_ctf *s = of;
	struct raw_event raw = *given;
	struct kernel_event events[TRANSLATED_MAX];
	int n, rc;

	s->setting->account->counts->events++;
	raw.host = s->host;
	if ((rc = push_losses(s, raw.time_ns, e)) != 0 ||
	    (n = rc = raw_translate(&s->translator, &raw, events, e)) < 0)
		return rc;
	for (int i = rc = 0; rc == 0 && i < n; i++)
		rc = push(s, &events[i], s->is_own ? raw.order : 0, e);
	return rc;
}

static void
take_unused(void *of, const char *name)
{
	struct recording_ctf *s = of;

	s->setting->account->counts->events++;
	account_unused(s->setting->account, name, strlen(name));
}

/* Hone's own recordings have an event for each loss. */
static int
take_lost(void *of, uint16_t cpu, uint64_t count, int64_t from_ns, int64_t to_ns, struct err *e)
{
	struct recording_ctf *s = of;
	uint32_t at;

	if (s->is_own || from_ns > to_ns)
		return 0;
	if (!array_reserve(s->losses, s->losses_cap, s->nlosses + 1))
		return err_set(e, ERR_MEMORY, "no memory for events");
	for (at = s->nlosses; at > 0 && s->losses[at - 1].time_ns > to_ns; at--)
		s->losses[at] = s->losses[at - 1];
	s->losses[at] = (struct kernel_event){
		.time_ns = to_ns, .cpu = cpu, .host = s->host, .kind = KERNEL_LOST
	};
	s->losses[at].lost.count = count;
	s->losses[at].lost.from_ns = from_ns;
	s->nlosses++;
	return 0;
}

static void
take_no_clock(void *of)
{
	struct recording_ctf *s = of;

	s->setting->account->counts->events++;
	account_odd(s->setting->account, ODDITY_NO_CLOCK, "no time, or one that is out of range");
}

static const struct ctf_calls calls = { begin_trace, take_name, take_event, take_unused, take_lost,
	take_no_clock };

/* ---- the recording ------------------------------------------------------------- */

/* Reads on until items are ready. A recording that babeltrace2 cannot read on ends there. */
static int
more(struct recording *recording, struct err *e)
{
	struct recording_ctf *s = (struct recording_ctf *)recording;
	struct account *a = s->setting->account;
	int rc = 0;

	a->file = s->recording.path;
	a->placed = false;
	if (recording->count > 0)
		memmove(recording->items, recording->items + recording->count,
		    (s->all - recording->count) * sizeof *recording->items);
	s->all -= recording->count;
	s->group -= s->is_own ? recording->count : 0;
	s->seen -= s->is_own ? recording->count : 0;
	recording->at = recording->count = 0;
	while (recording->count == 0 && !s->over) {
		e->code = 0;
		if ((rc = s->door->more(s->reading, e)) == 1) {
			make_ready(s);
			continue;
		}
		if (rc == ERR_INPUT)
			account_odd(a,
			    ctf_stopped_by(e->text) == SKIP_CLOCK ? ODDITY_CLOCK : ODDITY_TRUNCATED,
			    "%.150s", e->text);
		else if (rc < 0)
			return rc;
		if (a->counts->wall_offset_ns == 0)
			a->counts->wall_offset_ns = s->door->wall(s->reading);
		recording->has_base = s->is_own ||
		                      (s->door->wall(s->reading) != 0 && !s->setting->raw_times);
		s->over = true;
		if ((rc = push_losses(s, INT64_MAX, e)) != 0)
			return rc;
		make_ready(s);
	}
	return 0;
}

static void
close_recording(struct recording *recording)
{
	struct recording_ctf *s = (struct recording_ctf *)recording;

	if (s->reading != NULL)
		s->door->close(s->reading);
	arena_release(&s->arena);
	free(s->losses);
	free(recording->items);
	free(s);
}

static int
find_door(const struct ctf_door **ret, struct err *e)
{
	void *symbol;
	int rc;

	if (&ctf_door_babeltrace != NULL) {
		*ret = &ctf_door_babeltrace;
		return 0;
	}
	if ((rc = ctf_object_symbol(&symbol, CTF_DOOR, e)) == 0)
		*ret = symbol;
	return rc;
}

int
recording_ctf_open(
    struct recording **ret, const char *folder, struct recording_setting *setting, struct err *e)
{
	struct recording_ctf *s = calloc(1, sizeof *s);
	int rc;

	*ret = NULL;
	if (s == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	s->recording.more = more;
	s->recording.close = close_recording;
	s->setting = setting;
	s->translator = (struct translator){ .names = setting->names,
		.account = setting->account,
		.counted = setting->counted,
		.texts_left = &setting->texts_left };
	if ((s->recording.path = arena_text(&s->arena, folder, strlen(folder))) == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	else if ((rc = find_door(&s->door, e)) == 0)
		rc = s->door->open(&s->reading, folder, setting->raw_times, &calls, s, e);
	if (rc != 0) {
		close_recording(&s->recording);
		return rc;
	}
	*ret = &s->recording;
	return 0;
}
