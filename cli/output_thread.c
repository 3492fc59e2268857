/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `hone analyze --thread`: states, and what the waits were for. */
#include "cli/output.h"

enum { CHAINS_PRINTED = 12 };

static void
print_states(struct pen *p, const json_t *states)
{
	struct columns t;
	size_t i;
	json_t *s;

	columns_open(&t, "llrrr");
	columns_add(&t, "STATE");
	columns_add(&t, "");
	columns_add(&t, "TIME");
	columns_add(&t, "SHARE");
	columns_add(&t, "COUNT");
	json_array_foreach (states, i, s) {
		columns_add(&t, text_of(p, s, "state"));
		columns_add(&t, text_of(p, s, "text"));
		columns_add(&t, pen_ms(p, number_of(s, "ms")));
		columns_add(&t, pen_share(p, number_of(s, "share")));
		columns_add(&t, pen_count(p, number_of(s, "count")));
	}
	columns_print(&t, p);
}

/* "network → shop-cart: lock → journal: disk" */
static const char *
chain_text(struct pen *p, const json_t *chain)
{
	const json_t *links = json_object_get(chain, "chain");
	size_t i, n = json_array_size(links);
	const char *ret = "";
	json_t *link;

	json_array_foreach (links, i, link) {
		const char *thread = text_of(p, link, "thread");

		if (i > 0)
			ret = pen_printf(p, "%s %s %s", ret, pen_arrow(p),
			    i == n - 1 && is_true(chain, "cut")
				? pen_printf(p, "... %s ", pen_arrow(p))
				: "");
		ret = i == 0 ? text_of(p, link, "state")
		             : pen_printf(p, "%s%s: %s", ret,
				   thread[0] != '\0' ? thread : "a thread without a name",
				   text_of(p, link, "state"));
	}
	return ret;
}

static void
print_chains(struct pen *p, const json_t *path)
{
	const json_t *chains = json_object_get(path, "chains");
	struct columns t;
	size_t i;
	json_t *c;

	columns_open(&t, "rrrl");
	columns_add(&t, "TIME");
	columns_add(&t, "SHARE");
	columns_add(&t, "COUNT");
	columns_add(&t, "CRITICAL PATH");
	json_array_foreach (chains, i, c) {
		if (i == CHAINS_PRINTED)
			break;
		columns_add(&t, pen_ms(p, number_of(c, "ms")));
		columns_add(&t, pen_share(p, number_of(c, "share")));
		columns_add(&t, pen_count(p, number_of(c, "count")));
		columns_add(&t, chain_text(p, c));
	}
	columns_print(&t, p);
	if (number_of(path, "nchains") > CHAINS_PRINTED)
		fprintf(p->out, "and %s more; --json has %zu\n",
		    pen_count(p, number_of(path, "nchains") - CHAINS_PRINTED),
		    json_array_size(chains));
	if (number_of(path, "too_deep") > 0)
		fprintf(p->out,
		    "%s waits lie behind more than 256 threads and were not followed further\n",
		    pen_count(p, number_of(path, "too_deep")));
}

/* What was odd in the events, and what it means for the answer. */
static void
print_oddities(struct pen *p, const json_t *document)
{
	static const struct {
		const char *name, *text;
	} texts[] = {
		{ "lost", "events were lost: what they overlap is unknown" },
		{ "without_context",
		    "wake-ups of which nothing says who woke: no interrupt was recorded before them" },
		{ "unwoken",
		    "waits end without a wake-up on record, as those of the recorder itself: what they were for is unknown" },
		{ "unexpected",
		    "switches from a thread that the CPU did not run: what happened before is unknown" },
		{ "back", "events go back in time, and were left out" },
		{ "open_contexts", "interrupts without their end" },
		{ "stray_contexts", "ends of interrupts without their begin" },
		{ "ambiguous",
		    "messages that several threads may have sent: network namespaces have connections with the same addresses and ports" },
		{ "reused", "thread ids were used again, although their threads had not ended" },
	};
	const json_t *odd = json_object_get(document, "odd");

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (number_of(odd, texts[i].name) > 0)
			fprintf(p->out, "%s %s\n", pen_count(p, number_of(odd, texts[i].name)),
			    texts[i].text);
}

void
threads_print(struct pen *p, const json_t *document)
{
	const json_t *threads = json_object_get(document, "threads");
	double matched = number_of(document, "threads_matched");
	size_t i, n = json_array_size(threads);
	json_t *t;

	json_array_foreach (threads, i, t) {
		const char *name = text_of(p, t, "name"), *host = text_of(p, t, "host");

		pen_put(p, BOLD, name[0] != '\0' ? name : "a thread without a name");
		fprintf(p->out, " (thread %s", pen_printf(p, "%.0f", number_of(t, "tid")));
		if (number_of(t, "pid") > 0 && number_of(t, "pid") != number_of(t, "tid"))
			fprintf(p->out, " of process %.0f", number_of(t, "pid"));
		fprintf(p->out, ")%s%s, %s\n\n", host[0] != '\0' ? " on " : "", host,
		    pen_ms(p, number_of(t, "ms")));
		print_states(p, json_object_get(t, "states"));
		fputc('\n', p->out);
		print_chains(p, json_object_get(t, "path"));
		fputc('\n', p->out);
	}
	if (matched > (double)n)
		fprintf(p->out, "%s threads match; these ran the most\n", pen_count(p, matched));
	print_oddities(p, document);
}
