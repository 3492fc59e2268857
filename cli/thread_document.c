/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/thread_document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"

struct thread_total { /* of what has the same key */
	int64_t ns;
	uint64_t count;
	json_t *what; /* members beside the times */
};

struct thread_totals {
	struct texts *keys;
	struct thread_total *list;
	uint32_t nlist, list_cap;
};

struct thread_story {
	const struct kernel_graph *g;
	const struct kernel_names *names;
	struct buf key;
};

static int
out_of_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory");
}

static const char *
name_of(const struct thread_story *s, const struct kernel_thread *t)
{
	return texts_get(s->names->texts, t->name);
}

static const char *
host_of(const struct thread_story *s, const struct kernel_thread *t)
{
	return t->host < texts_count(s->names->hosts) ? texts_get(s->names->hosts, t->host) : "";
}

/* Texts of a recording may be anything: what is not UTF-8 becomes "?". */
static json_t *
text_json(const char *s)
{
	json_t *ret = json_string(s);
	char *clean;

	if (ret != NULL || (clean = strdup(s)) == NULL)
		return ret;
	for (char *c = clean; *c != '\0'; c++)
		if ((unsigned char)*c > 126)
			*c = '?';
	ret = json_string(clean);
	free(clean);
	return ret;
}

/* ---- totals ------------------------------------------------------------------ */

static void
totals_release(struct thread_totals *t)
{
	for (uint32_t i = 0; i < t->nlist; i++)
		json_decref(t->list[i].what);
	free(t->list);
	texts_free(t->keys);
	*t = (struct thread_totals){ 0 };
}

/* The total of a key; *is_new: `what` is to be set. NULL: out of memory. */
static struct thread_total *
total_of(struct thread_totals *t, const struct buf *key, bool *is_new)
{
	uint32_t number;

	if (key->failed || (t->keys == NULL && (t->keys = texts_new()) == NULL))
		return NULL;
	number = texts_intern(t->keys, (const char *)key->data, key->len);
	if (number == UINT32_MAX || !array_reserve(t->list, t->list_cap, number + 1))
		return NULL;
	*is_new = number == t->nlist;
	if (*is_new)
		t->list[t->nlist++] = (struct thread_total){ 0 };
	return &t->list[number];
}

static int
most_time_first(const void *a, const void *b)
{
	const struct thread_total *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* The totals, those with the most time first, at most `max`: each with ms, share of `all_ns`, count. NULL: out of memory. The list is sorted, so its keys are of
 * no use any more. */
static json_t *
totals_json(struct thread_totals *t, int64_t all_ns, uint32_t max)
{
	json_t *ret = json_array();

	qsort(t->list, t->nlist, sizeof *t->list, most_time_first);
	for (uint32_t i = 0; i < t->nlist && i < max; i++) {
		struct thread_total *each = &t->list[i];

		if (each->what == NULL ||
		    json_object_set_new(each->what, "ms", json_real((double)each->ns / 1e6)) != 0 ||
		    json_object_set_new(each->what, "share",
			json_real(all_ns > 0 ? (double)each->ns / (double)all_ns : 0)) != 0 ||
		    json_object_set_new(
			each->what, "count", json_integer((json_int_t)each->count)) != 0 ||
		    json_array_append(ret, each->what) != 0) {
			json_decref(ret);
			return NULL;
		}
	}
	return ret;
}

/* ---- states and chains ------------------------------------------------------- */

static int
add_state(struct thread_story *s, struct thread_totals *to, const struct kernel_segment *of,
    struct err *e)
{
	struct thread_total *total;
	bool is_new;

	buf_reset(&s->key);
	buf_u8(&s->key, of->state);
	if ((total = total_of(to, &s->key, &is_new)) == NULL)
		return out_of_memory(e);
	total->ns += of->to_ns - of->from_ns;
	total->count++;
	if (is_new && (total->what = json_pack("{s:s, s:s}", "state", below_state_word(of->state),
			   "text", below_state_text(of->state))) == NULL)
		return out_of_memory(e);
	return 0;
}

struct chain { /* of waits, from the thread itself to the segment */
	struct chain_link {
		const struct kernel_thread *thread;
		uint8_t state;
	} links[THREAD_CHAIN_LINKS_MAX];
	uint32_t n;
	bool cut; /* links are left out before the last one */
};

static struct chain
chain_of(const struct thread_story *s, const struct kernel_path *p, const struct kernel_segment *of)
{
	uint32_t follows[THREAD_CHAIN_LINKS_MAX], n = 0;
	struct chain ret = { 0 };

	/* From the innermost wait outwards; of a long chain the outermost ones stay. */
	for (uint32_t f = of->follow; f != KERNEL_PATH_NONE; f = p->follows[f].below) {
		if (n == THREAD_CHAIN_LINKS_MAX - 1) {
			memmove(follows, follows + 1, sizeof follows - 2 * sizeof *follows);
			n--;
			ret.cut = true;
		}
		follows[n++] = f;
	}
	while (n > 0) {
		const struct kernel_follow *wait = &p->follows[follows[--n]];

		ret.links[ret.n++] = (struct chain_link){ kernel_graph_thread(s->g, wait->waiter),
			wait->state };
	}
	ret.links[ret.n++] = (struct chain_link){ kernel_graph_thread(s->g, of->thread),
		of->state };
	return ret;
}

static json_t *
chain_json(const struct thread_story *s, const struct chain *c)
{
	json_t *ret = json_pack("{s:[], s:b}", "chain", "cut", c->cut);

	for (uint32_t i = 0; ret != NULL && i < c->n; i++) {
		json_t *link = json_pack("{s:o, s:s}", "thread",
		    text_json(name_of(s, c->links[i].thread)), "state",
		    below_state_word(c->links[i].state));

		if (json_array_append_new(json_object_get(ret, "chain"), link) != 0) {
			json_decref(ret);
			return NULL;
		}
	}
	return ret;
}

static int
add_chain(struct thread_story *s, struct thread_totals *to, const struct kernel_path *p,
    const struct kernel_segment *of, struct err *e)
{
	struct chain c = chain_of(s, p, of);
	struct thread_total *total;
	bool is_new;

	buf_reset(&s->key);
	buf_u8(&s->key, c.cut);
	for (uint32_t i = 0; i < c.n; i++) {
		buf_u32(&s->key, c.links[i].thread->name);
		if (c.links[i].thread->name ==
		    0) /* threads without a name are told apart by their id */
			buf_u32(&s->key, c.links[i].thread->tid);
		buf_u8(&s->key, c.links[i].state);
	}
	if ((total = total_of(to, &s->key, &is_new)) == NULL)
		return out_of_memory(e);
	total->ns += of->to_ns - of->from_ns;
	total->count++;
	if (is_new && (total->what = chain_json(s, &c)) == NULL)
		return out_of_memory(e);
	return 0;
}

/* ---- the time line ----------------------------------------------------------- */

static int
longer_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

/* The least length with which at most THREAD_SEGMENTS_MAX segments are left; -1: out of memory. */
static int64_t
least_length(const struct kernel_path *p)
{
	int64_t *lengths, ret;

	if (p->nsegments <= THREAD_SEGMENTS_MAX)
		return 0;
	if ((lengths = malloc(p->nsegments * sizeof *lengths)) == NULL)
		return -1;
	for (uint32_t i = 0; i < p->nsegments; i++)
		lengths[i] = p->segments[i].to_ns - p->segments[i].from_ns;
	qsort(lengths, p->nsegments, sizeof *lengths, longer_first);
	ret = lengths[THREAD_SEGMENTS_MAX] + 1;
	free(lengths);
	return ret;
}

/* {"threads": [{tid, pid, name, host}], "states": [words], "segments": [[from_ns - begin, length_ns, thread, state, depth, transfer]], "left_out": n} */
static json_t *
timeline_json(const struct thread_story *s, const struct kernel_path *p)
{
	json_t *ret = json_pack("{s:[], s:[], s:[]}", "threads", "states", "segments"), *list;
	struct texts *numbers = texts_new();
	int64_t least = least_length(p);
	json_int_t left_out = 0;

	if (ret == NULL || numbers == NULL || least < 0)
		goto fail;
	for (int i = 0; i < BELOW_STATES; i++)
		json_array_append_new(
		    json_object_get(ret, "states"), json_string(below_state_word(i)));
	list = json_object_get(ret, "segments");
	for (uint32_t i = 0; i < p->nsegments; i++) {
		const struct kernel_segment *of = &p->segments[i];
		const struct kernel_thread *t = kernel_graph_thread(s->g, of->thread);
		uint32_t number;

		if (of->to_ns - of->from_ns < least) {
			left_out++;
			continue;
		}
		number = texts_intern(numbers, (const char *)&of->thread, sizeof of->thread);
		if (number == json_array_size(json_object_get(ret, "threads")) &&
		    json_array_append_new(json_object_get(ret, "threads"),
			json_pack("{s:i, s:i, s:o, s:o}", "tid", (int)t->tid, "pid", (int)t->pid,
			    "name", text_json(name_of(s, t)), "host", text_json(host_of(s, t)))) !=
			0)
			goto fail;
		if (json_array_append_new(list,
			json_pack("[I, I, i, i, i, b]", (json_int_t)(of->from_ns - p->from_ns),
			    (json_int_t)(of->to_ns - of->from_ns), (int)number, (int)of->state,
			    (int)of->depth, of->transfer)) != 0)
			goto fail;
	}
	if (json_object_set_new(ret, "left_out", json_integer(left_out)) != 0)
		goto fail;
	texts_free(numbers);
	return ret;
fail:
	texts_free(numbers);
	json_decref(ret);
	return NULL;
}

/* ---- a thread ---------------------------------------------------------------- */

/* Sets members of the thread; their values are NULL when memory ran out. */
static int
set(json_t *to, const char *name, json_t *value, struct err *e)
{
	return json_object_set_new(to, name, value) == 0 ? 0 : out_of_memory(e);
}

static int
states_of(struct thread_story *s, json_t *to, uint32_t number, struct err *e)
{
	struct thread_totals totals = { 0 };
	struct kernel_path own;
	int rc = kernel_states(&own, s->g, number, INT64_MIN, INT64_MAX, e);

	for (uint32_t i = 0; rc == 0 && i < own.nsegments; i++)
		rc = add_state(s, &totals, &own.segments[i], e);
	if (rc == 0)
		rc = set(
		    to, "states", totals_json(&totals, own.to_ns - own.from_ns, UINT32_MAX), e);
	totals_release(&totals);
	kernel_path_release(&own);
	return rc;
}

static int
path_of(struct thread_story *s, json_t *to, uint32_t number, bool segments, struct err *e)
{
	struct thread_totals states = { 0 }, chains = { 0 };
	struct kernel_path path;
	json_t *ret = json_object();
	int rc = kernel_path(&path, s->g, number, INT64_MIN, INT64_MAX, e);
	int64_t all_ns = path.to_ns - path.from_ns;

	for (uint32_t i = 0; rc == 0 && i < path.nsegments; i++)
		if ((rc = add_state(s, &states, &path.segments[i], e)) == 0)
			rc = add_chain(s, &chains, &path, &path.segments[i], e);
	if (rc == 0 &&
	    (rc = set(ret, "states", totals_json(&states, all_ns, UINT32_MAX), e)) == 0 &&
	    (rc = set(ret, "nchains", json_integer(chains.nlist), e)) == 0 &&
	    (rc = set(ret, "chains", totals_json(&chains, all_ns, THREAD_CHAINS_MAX), e)) == 0 &&
	    (rc = set(ret, "too_deep", json_integer((json_int_t)path.too_deep), e)) == 0 &&
	    (!segments || (rc = set(ret, "timeline", timeline_json(s, &path), e)) == 0))
		rc = set(to, "path", json_incref(ret), e);
	json_decref(ret);
	totals_release(&states);
	totals_release(&chains);
	kernel_path_release(&path);
	return rc;
}

static json_t *
thread_json(struct thread_story *s, uint32_t number, bool segments, struct err *e)
{
	const struct kernel_thread *t = kernel_graph_thread(s->g, number);
	json_t *ret = json_pack("{s:i, s:i, s:o, s:o, s:I, s:I, s:f}", "tid", (int)t->tid, "pid",
	    (int)t->pid, "name", text_json(name_of(s, t)), "host", text_json(host_of(s, t)),
	    "from_ns", (json_int_t)t->begin_ns, "to_ns", (json_int_t)t->end_ns, "ms",
	    (double)(t->end_ns - t->begin_ns) / 1e6);

	if (ret == NULL) {
		out_of_memory(e);
		return NULL;
	}
	if (states_of(s, ret, number, e) != 0 || path_of(s, ret, number, segments, e) != 0) {
		json_decref(ret);
		return NULL;
	}
	return ret;
}

/* ---- which threads ------------------------------------------------------------ */

struct found_thread {
	uint32_t number;
	int64_t running_ns;
};

static int64_t
running_ns(const struct kernel_thread *t)
{
	int64_t ret = 0;

	for (uint32_t i = 0; i < t->nintervals; i++)
		if (t->intervals[i].state == BELOW_RUNNING)
			ret += t->intervals[i].to_ns - t->intervals[i].from_ns;
	return ret;
}

static int
most_running_first(const void *a, const void *b)
{
	const struct found_thread *x = a, *y = b;

	if (x->running_ns != y->running_ns)
		return (x->running_ns < y->running_ns) - (x->running_ns > y->running_ns);
	return (x->number > y->number) - (x->number < y->number);
}

static bool
matches(const struct thread_story *s, const struct kernel_thread *t, const char *which)
{
	char id[16];

	snprintf(id, sizeof id, "%u", t->tid);
	return t->nintervals > 0 && !t->is_worker &&
	       (which == NULL || strcmp(which, id) == 0 || strcmp(which, name_of(s, t)) == 0);
}

/* The threads that match, those with the most time on CPUs first; `which` NULL: all. *ret is to be freed. */
static int
find(const struct thread_story *s, const char *which, struct found_thread **ret, uint32_t *n,
    struct err *e)
{
	uint32_t cap = 0;

	*ret = NULL;
	*n = 0;
	for (uint32_t i = 0; i < kernel_graph_count(s->g); i++) {
		const struct kernel_thread *t = kernel_graph_thread(s->g, i);

		if (!matches(s, t, which))
			continue;
		if (!array_reserve(*ret, cap, *n + 1))
			return out_of_memory(e);
		(*ret)[(*n)++] = (struct found_thread){ i, running_ns(t) };
	}
	if (*n > 0)
		qsort(*ret, *n, sizeof **ret, most_running_first);
	return 0;
}

static int
none_matches(const struct thread_story *s, const char *which, struct err *e)
{
	enum { NAMED = 5 };
	struct found_thread *all = NULL;
	struct buf some = { 0 };
	uint32_t n;
	int rc = find(s, NULL, &all, &n, e);

	for (uint32_t i = 0; rc == 0 && i < n && i < NAMED; i++) {
		const struct kernel_thread *t = kernel_graph_thread(s->g, all[i].number);

		buf_printf(&some, "%s%s (%u)", i > 0 ? ", " : "", name_of(s, t), t->tid);
	}
	if (rc == 0)
		rc =
		    n == 0
			? err_set(e, ERR_MISSING,
			      "the recording has no switch of a thread, so no states")
			: err_set(e, ERR_MISSING,
			      "no thread has the id or name %s; of %u threads these ran the most: %.*s",
			      which, n, (int)some.len, (const char *)some.data);
	free(all);
	buf_release(&some);
	return rc;
}

int
thread_document(json_t *document, const struct kernel_graph *g, const struct kernel_names *names,
    const char *which, bool segments, struct err *e)
{
	struct thread_story s = { .g = g, .names = names };
	json_t *threads = json_array();
	struct found_thread *found;
	uint32_t n;
	int rc;

	if ((rc = find(&s, which, &found, &n, e)) == 0 && n == 0)
		rc = none_matches(&s, which, e);
	for (uint32_t i = 0; rc == 0 && i < n && i < THREADS_SHOWN_MAX; i++) {
		json_t *each = thread_json(&s, found[i].number, segments, e);

		if (each == NULL || json_array_append_new(threads, each) != 0)
			rc = e->code != 0 ? e->code : out_of_memory(e);
	}
	if (rc == 0 && (rc = set(document, "threads_matched", json_integer(n), e)) == 0)
		rc = set(document, "threads", json_incref(threads), e);
	json_decref(threads);
	free(found);
	buf_release(&s.key);
	return rc;
}
