/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of news-find, indented as the spans nest. */
SPAN(query, queued, hits)
	SPAN(tokenize, length, words)
	SPAN(plan, words, shards)
	SPAN(spread, shards, sent)
		SPAN(ask, shard, bytes)
	SPAN(collect, shards, answers)
		SPAN(answer_wait, shard, hits)
	SPAN(merge, hits, kept)
	SPAN(rank, hits, best)
	SPAN(snippet, hits, bytes)
