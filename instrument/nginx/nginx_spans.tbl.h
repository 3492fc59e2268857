/* SPDX-License-Identifier: MIT */
/*
 * The spans of nginx, each a pair of tracepoints nginx:NAME_begin and
 * nginx:NAME_end. Included several times over, with SPAN defined to what is
 * wanted of it:
 *
 *	SPAN(name, level, begin, begin2, end, end2, end3)
 *
 * The fields are what time may depend on. A span lies inside of those open ones
 * whose level is smaller; of one level, one is open at a time.
 */
/* What other modules do between ours: a phase ends when the next one begins. */
SPAN(post_read,      0, requests, redirects, waits, status, sent)
SPAN(server_rewrite, 0, requests, redirects, waits, status, sent)
SPAN(find_config,    0, requests, redirects, waits, status, sent)
SPAN(rewrite,        0, requests, redirects, waits, status, sent)
SPAN(preaccess,      0, requests, redirects, waits, status, sent)
SPAN(access,         0, requests, redirects, waits, status, sent)
SPAN(precontent,     0, requests, redirects, waits, status, sent)
SPAN(content,        0, requests, redirects, waits, status, sent)
SPAN(log,            0, requests, redirects, status, sent, cache)
/* The client's body; one use of an upstream; the last of the reply while it waits for the client. */
SPAN(read_body,      1, requests, length, received, in_file, waits)
SPAN(upstream,       1, requests, length, attempt, answer_status, answer_bytes)
SPAN(send,           1, sent, reply_length, sent, status, waits)
/* One try: to connect (or take a kept connection), to wait for the header, to pass the body on. */
SPAN(connect,        2, attempt, servers, cached, connected, servers)
SPAN(header,         2, attempt, cached, answer_status, answer_bytes, servers)
SPAN(body,           2, answer_length, buffering, answer_bytes, answer_in_file, answer_status)
/* Around the filters that come after ours. */
SPAN(header_filter,  3, status, reply_length, sent, buffered, result)
SPAN(body_filter,    3, bytes, last, sent, buffered, result)
