/* SPDX-License-Identifier: MIT */
/*
 * The spans of nginx, each a pair of tracepoints nginx:NAME_begin and
 * nginx:NAME_end. Included several times, each with another definition of SPAN:
 *
 *	SPAN(name, level, begin, begin2, end, end2, end3)
 *
 * The fields are values that may explain the duration. A span is nested in the open
 * spans of smaller levels; of one level at most one span is open at a time.
 */
/* The phases, with the handlers of all modules. A phase ends when the next one begins. */
SPAN(post_read,      0, requests, redirects, waits, status, sent)
SPAN(server_rewrite, 0, requests, redirects, waits, status, sent)
SPAN(find_config,    0, requests, redirects, waits, status, sent)
SPAN(rewrite,        0, requests, redirects, waits, status, sent)
SPAN(preaccess,      0, requests, redirects, waits, status, sent)
SPAN(access,         0, requests, redirects, waits, status, sent)
SPAN(precontent,     0, requests, redirects, waits, status, sent)
SPAN(content,        0, requests, redirects, waits, status, sent)
SPAN(log,            0, requests, redirects, status, sent, cache)
/* Reading the client's body; one use of an upstream; sending the rest of the reply to the client. */
SPAN(read_body,      1, requests, length, received, in_file, waits)
SPAN(upstream,       1, requests, length, attempt, answer_status, answer_bytes)
SPAN(send,           1, sent, reply_length, sent, status, waits)
/* One try at an upstream: connecting (or taking a kept connection); waiting for the header; passing the body on. */
SPAN(connect,        2, attempt, servers, cached, connected, servers)
SPAN(header,         2, attempt, cached, answer_status, answer_bytes, servers)
SPAN(body,           2, answer_length, buffering, answer_bytes, answer_in_file, answer_status)
/* The filters after the module's own. */
SPAN(header_filter,  3, status, reply_length, sent, buffered, result)
SPAN(body_filter,    3, bytes, last, sent, buffered, result)
