// SPDX-License-Identifier: GPL-3.0-or-later
// news-find: asks all shards at the same time and joins their answers.
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "find_trace.h"

#include <cstdio>
#include <cstring>
#include <string>
#include "pool.h"
#include "switches.h"
#include "work.h"

namespace {

const int SHARDS = 3, WORKERS = 3;
int shards[WORKERS][SHARDS]; // each worker has connections of its own

// A span that ends with its scope.
#define SPAN_OF(name, begin) \
	struct name##_span { \
		explicit name##_span(int64_t value) { span_begin(name, value); } \
		~name##_span() { span_end(name, end); } \
		int64_t end = 0; \
	} name##_now(begin)

void
ask(int fd, int shard, const std::string &words, hone_carrier &carrier)
{
	SPAN_OF(ask, shard);
	message m = message();

	m.op = OP_SEARCH;
	m.number = shard;
	m.length = static_cast<uint32_t>(words.size());
	std::memcpy(m.text, words.data(), words.size());
	hone_fork("shard.search", &carrier);
	m.carrier = carrier;
	message_send(fd, &m);
	ask_now.end = m.length;
}

int
answer_of(int fd, int shard, const hone_carrier &carrier)
{
	SPAN_OF(answer_wait, shard);
	message m = message();
	int hits = message_receive(fd, &m) == 1 ? m.number : 0;

	hone_join(&carrier, "shard.search");
	answer_wait_now.end = hits;
	return hits;
}

int
ask_all(int worker, const std::string &words)
{
	hone_carrier carriers[SHARDS];
	int hits = 0;

	{
		SPAN_OF(spread, SHARDS);
		for (int i = 0; i < SHARDS; i++)
			ask(shards[worker][i], i, words, carriers[i]);
		spread_now.end = SHARDS;
	}
	SPAN_OF(collect, SHARDS);
	for (int i = 0; i < SHARDS; i++)
		hits += answer_of(shards[worker][i], i, carriers[i]);
	collect_now.end = SHARDS;
	return hits;
}

void
rank(int hits)
{
	SPAN_OF(rank, hits);

	rank_now.end = static_cast<int64_t>(work_hash(&hits, sizeof(hits), 300) % 100);
	if (switch_degree(SWITCH_hog) && work_chance() < 0.25)
		work_compute(8.0 * switch_degree(SWITCH_hog));
}

void
answer(message *m, int worker, int queued)
{
	SPAN_OF(query, queued);
	std::string words(m->text, m->length);
	int hits;

	{
		SPAN_OF(tokenize, m->length);
		tokenize_now.end = static_cast<int64_t>(1 + work_hash(words.data(), words.size(), 20) % 3);
	}
	{
		SPAN_OF(plan, 1);
		work_hash(words.data(), words.size(), 60);
		plan_now.end = SHARDS;
	}
	hits = ask_all(worker, words);
	{
		SPAN_OF(merge, hits);
		work_hash(&hits, sizeof(hits), 200);
		merge_now.end = hits < 10 ? hits : 10;
	}
	rank(hits);
	{
		SPAN_OF(snippet, hits);
		work_wait(0.5 + work_chance());
		snippet_now.end = 300;
	}
	m->op = STATUS_OK;
	m->number = hits;
	m->length = 300;
	std::memset(m->text, 's', m->length);
	query_now.end = hits;
}

const char *
unit_name(uint32_t)
{
	return "find.query";
}

} // namespace

int
main(int argc, char **argv)
{
	pool_service s = { argc == 2 ? argv[1] : nullptr, "find", WORKERS, unit_name, answer };

	if (argc != 2) {
		std::fprintf(stderr, "usage: news-find DIR\n");
		return 2;
	}
	if (switches_open(s.dir) != 0)
		return 1;
	for (int w = 0; w < WORKERS; w++)
		for (int i = 0; i < SHARDS; i++)
			if ((shards[w][i] = message_connect(s.dir, ("shard-" + std::to_string(i)).c_str())) < 0)
				return 1;
	return pool_serve(&s);
}
