/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an open page is told: of each topic the newest state, as text of server-sent events (HTML Living Standard, 9.2) that does not change once it
 * is made. A reader gets what is newer than what it has, so one that is slow gets fewer states and never makes a queue, and one that
 * comes back says how far it came. Pure; not thread-safe: the caller's lock covers all calls.
 */
#ifndef CONTROLPLANE_WEB_WEB_FEED_H
#define CONTROLPLANE_WEB_WEB_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TOPIC(name, every how many ms its state is made while a page is open, the question): see docs/questions.md. The events have these names. */
#define WEB_TOPICS                                                  \
	TOPIC(status, 1000, "{\"ask\":\"status\",\"costs\":false}") \
	TOPIC(times, 2000, "{\"ask\":\"times\"}")                   \
	TOPIC(forest, 1000, "{\"ask\":\"forest\"}")                 \
	TOPIC(agents, 2000, "{\"ask\":\"agents\"}")                 \
	TOPIC(alerts, 5000, "{\"ask\":\"alerts\"}")                 \
	TOPIC(audit, 3000, "{\"ask\":\"audit\",\"limit\":200}")

enum web_topic {
#define TOPIC(name, every_ms, question) WEB_TOPIC_##name,
	WEB_TOPICS
#undef TOPIC
	    WEB_TOPIC_COUNT
};

struct web_text { /* shared by the feed and its readers */
	unsigned int refs;
	uint64_t number;          /* of the state */
	size_t json_at, json_len; /* where its JSON is */
	size_t len;
	char data[];
};

struct web_feed { /* all zeroes but `instance`: empty */
	uint64_t
	    instance; /* of the program, so that numbers of another one are not mistaken for ours */
	uint64_t newest; /* number of the newest state */
	struct {
		struct web_text *text;
		uint64_t number, hash;
	} topics[WEB_TOPIC_COUNT];
};

/* A text with one reference, of an event with this JSON, which has no line breaks; NULL: out of memory. Its number is that of the next
 * web_feed_put(), so it has to be the one. Does not change the feed. O(len). */
struct web_text *web_feed_text(
    const struct web_feed *f, enum web_topic topic, const char *json, size_t len);
/* Takes the text as the topic's newest state. hash: of its JSON; a state like the one before is not put, and false is returned. */
bool web_feed_put(struct web_feed *f, enum web_topic topic, struct web_text *text, uint64_t hash);
/* The oldest state that is newer than number *after, with a reference for the caller; *after becomes its number. NULL: none. O(topics). */
struct web_text *web_feed_next(const struct web_feed *f, uint64_t *after);
/* The topic's newest state, with a reference for the caller; NULL: none. */
struct web_text *web_feed_newest(const struct web_feed *f, enum web_topic topic);
const char *web_topic_name(enum web_topic topic);
/* The number after which a reader goes on that came this far: 0 if it was of another instance. */
uint64_t web_feed_after(const struct web_feed *f, uint64_t instance, uint64_t number);
void web_text_unref(struct web_text *t); /* NULL is fine */
void web_feed_release(struct web_feed *f);

#endif
