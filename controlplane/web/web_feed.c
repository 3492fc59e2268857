/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/web/web_feed.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[] = {
#define TOPIC(name, every_ms, question) #name,
	WEB_TOPICS
#undef TOPIC
};

struct web_text *
web_feed_text(const struct web_feed *f, enum web_topic topic, const char *json, size_t len)
{
	char head[96];
	size_t n = (size_t)snprintf(head, sizeof head,
	    "id: %" PRIx64 ".%" PRIx64 "\nevent: %s\ndata: ", f->instance, f->newest + 1,
	    NAMES[topic]);
	struct web_text *t = malloc(sizeof *t + n + len + 2);

	assert(memchr(json, '\n', len) == NULL);
	if (t == NULL)
		return NULL;
	t->refs = 1;
	t->number = f->newest + 1;
	t->json_at = n;
	t->json_len = len;
	t->len = n + len + 2;
	memcpy(t->data, head, n);
	memcpy(t->data + n, json, len);
	memcpy(t->data + n + len, "\n\n", 2);
	return t;
}

bool
web_feed_put(struct web_feed *f, enum web_topic topic, struct web_text *text, uint64_t hash)
{
	if (f->topics[topic].number != 0 && f->topics[topic].hash == hash) {
		web_text_unref(text);
		return false;
	}
	web_text_unref(f->topics[topic].text);
	f->topics[topic].text = text;
	f->topics[topic].hash = hash;
	f->topics[topic].number = ++f->newest;
	return true;
}

struct web_text *
web_feed_next(const struct web_feed *f, uint64_t *after)
{
	int best = -1;

	for (int i = 0; i < WEB_TOPIC_COUNT; i++)
		if (f->topics[i].number > *after &&
		    (best < 0 || f->topics[i].number < f->topics[best].number))
			best = i;
	if (best < 0)
		return NULL;
	*after = f->topics[best].number;
	f->topics[best].text->refs++;
	return f->topics[best].text;
}

struct web_text *
web_feed_newest(const struct web_feed *f, enum web_topic topic)
{
	struct web_text *t = f->topics[topic].text;

	if (t != NULL)
		t->refs++;
	return t;
}

const char *
web_topic_name(enum web_topic topic)
{
	return NAMES[topic];
}

uint64_t
web_feed_after(const struct web_feed *f, uint64_t instance, uint64_t number)
{
	return instance == f->instance && number <= f->newest ? number : 0;
}

void
web_text_unref(struct web_text *t)
{
	if (t != NULL && --t->refs == 0)
		free(t);
}

void
web_feed_release(struct web_feed *f)
{
	for (int i = 0; i < WEB_TOPIC_COUNT; i++)
		web_text_unref(f->topics[i].text);
	*f = (struct web_feed){ .instance = f->instance };
}
