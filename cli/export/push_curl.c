/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The door of push.h to the network: libcurl. */
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/push.h"

struct push_connection {
	CURL *curl;
	struct curl_slist *headers;
	struct push_answer *answer; /* of the present request */
	char why[CURL_ERROR_SIZE];
};

/* The rest of a long answer is dropped, so that the connection can be used again. */
static size_t
take_body(char *data, size_t one, size_t len, void *ctx)
{
	struct push_answer *a = ((struct push_connection *)ctx)->answer;
	size_t room = PUSH_BODY_MAX - a->len, n = len < room ? len : room;

	(void)one; /* 1 */
	memcpy(a->body + a->len, data, n);
	a->len += n;
	a->body[a->len] = '\0';
	return len;
}

static void
close_connection(void *connection)
{
	struct push_connection *c = connection;

	if (c == NULL)
		return;
	curl_slist_free_all(c->headers);
	curl_easy_cleanup(c->curl);
	free(c);
	curl_global_cleanup();
}

static bool
add_header(struct push_connection *c, const char *line)
{
	struct curl_slist *more = curl_slist_append(c->headers, line);

	if (more != NULL)
		c->headers = more;
	return more != NULL;
}

static bool
set_options(struct push_connection *c, const char *url, const char *ca, int timeout_ms)
{
	CURL *h = c->curl;

	return curl_easy_setopt(h, CURLOPT_URL, url) == CURLE_OK &&
	       curl_easy_setopt(h, CURLOPT_POST, 1L) == CURLE_OK &&
	       curl_easy_setopt(h, CURLOPT_HTTPHEADER, c->headers) == CURLE_OK &&
	       curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	       curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)timeout_ms) == CURLE_OK &&
	       curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->why) == CURLE_OK &&
	       curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
	       curl_easy_setopt(h, CURLOPT_WRITEDATA, c) == CURLE_OK &&
	       (ca == NULL || curl_easy_setopt(h, CURLOPT_CAINFO, ca) == CURLE_OK);
}

static int
open_connection(void **ret, const char *url, const char *const *headers, const char *ca,
    int timeout_ms, struct err *e)
{
	struct push_connection *c = calloc(1, sizeof *c);
	bool ok = c != NULL;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(c);
		return err_set(e, ERR_SYSTEM, "libcurl cannot be set up");
	}
	/* The answer "100 Continue" would only be waited for. */
	ok = ok && (c->curl = curl_easy_init()) != NULL &&
	     add_header(c, "Content-Type: application/json") &&
	     add_header(c, "Content-Encoding: gzip") && add_header(c, "Expect:") &&
	     add_header(c, "User-Agent: hone/" HONE_VERSION);
	for (; ok && *headers != NULL; headers++)
		ok = add_header(c, *headers);
	if (!ok || !set_options(c, url, ca, timeout_ms)) {
		close_connection(c);
		return err_set(e, ERR_SYSTEM, "libcurl does not take the options");
	}
	*ret = c;
	return 0;
}

static void
post(void *connection, const void *body, size_t len, struct push_answer *ret)
{
	struct push_connection *c = connection;
	curl_off_t retry_after_s = 0;
	long status = 0;
	CURLcode rc;

	ret->status = 0;
	ret->retry_after_s = -1;
	ret->len = 0;
	ret->why[0] = ret->body[0] = c->why[0] = '\0';
	c->answer = ret;
	curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	if ((rc = curl_easy_perform(c->curl)) != CURLE_OK) {
		snprintf(ret->why, sizeof ret->why, "%s",
		    c->why[0] != '\0' ? c->why : curl_easy_strerror(rc));
		return;
	}
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
	ret->status = (int)status;
	if (retry_after_s > 0)
		ret->retry_after_s = (double)retry_after_s;
}

const struct push_calls push_calls = { open_connection, post, close_connection };
