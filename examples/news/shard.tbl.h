/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of news-shard, indented as the spans nest. */
SPAN(search, shard, hits)
	SPAN(term, length, word)
	SPAN(seek, word, block)
	SPAN(postings, word, bytes)
		SPAN(postings_read, block, bytes)
		SPAN(postings_decode, bytes, hits)
	SPAN(score, hits, best)
	SPAN(top, hits, kept)
