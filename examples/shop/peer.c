/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "peer.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "instrument/hone.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t handle_key; /* so that a thread's handle is freed when the thread ends */

static size_t
take(char *bytes, size_t size, size_t n, void *reply)
{
	text_add(reply, bytes, size * n);
	return size * n;
}

static void
begin(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	pthread_key_create(&handle_key, curl_easy_cleanup);
}

static CURL *
handle_of_thread(void)
{
	CURL *h;

	pthread_once(&once, begin);
	h = pthread_getspecific(handle_key);
	if (!h) {
		h = curl_easy_init();
		pthread_setspecific(handle_key, h);
		curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take);
		curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
		curl_easy_setopt(h, CURLOPT_TCP_NODELAY, 1L);
		curl_easy_setopt(h, CURLOPT_TIMEOUT, 30L);
		curl_easy_setopt(h, CURLOPT_PROXY, "");
	}
	return h;
}

static struct curl_slist *
trace_headers(const struct hone_carrier *c)
{
	char parent[HONE_TRACEPARENT_SIZE], state[HONE_TRACESTATE_SIZE], line[96];
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:"); /* no 100-continue */

	if (hone_traceparent(c, parent) == 0)
		return headers;
	snprintf(line, sizeof line, "traceparent: %s", parent);
	headers = curl_slist_append(headers, line);
	if (hone_tracestate(c, state)) {
		snprintf(line, sizeof line, "tracestate: %s", state);
		headers = curl_slist_append(headers, line);
	}
	return headers;
}

static long
perform(CURL *h, const char *url)
{
	CURLcode result = curl_easy_perform(h);
	long status = 502;

	if (result == CURLE_OK)
		curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
	else
		fprintf(stderr, "%s: %s\n", url, curl_easy_strerror(result));
	return status;
}

int
peer_call(const char *port, const char *name, const char *method, const struct shop_text *body,
    struct shop_text *reply, const char *path, ...)
{
	CURL *h = handle_of_thread();
	struct curl_slist *headers;
	struct hone_carrier link;
	char url[2048];
	va_list args;
	size_t n;
	long status;

	n = (size_t)snprintf(url, sizeof url, "http://127.0.0.1:%s", port);
	va_start(args, path);
	vsnprintf(url + n, sizeof url - n, path, args);
	va_end(args);
	curl_easy_setopt(h, CURLOPT_URL, url);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, reply);
	if (strcmp(method, "POST") == 0) {
		curl_easy_setopt(h, CURLOPT_POST, 1L);
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE, body ? (long)body->length : 0L);
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, body ? text_string(body) : "");
	} else {
		curl_easy_setopt(h, CURLOPT_HTTPGET, 1L);
	}
	hone_fork(name, &link);
	headers = trace_headers(&link);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	status = perform(h, url);
	hone_join(&link, name);
	curl_slist_free_all(headers);
	return (int)status;
}
