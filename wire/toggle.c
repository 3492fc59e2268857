/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * uint and int are varints, text is a varint length and bytes (base/buf.h).
 *
 *	want  renews u8 | epoch uint | lease int, ms | and if it does not renew: sampled double | nrates uint | ntoggles uint |
 *	      nrates x (request type text, sampled double, probed double) | ntoggles x (text, sampled u8) |
 *	      nbelow uint | nbelow x text | before u64 | overrun u8 | nrecorder uint | nrecorder x text
 *	done  epoch uint | from int, ns | nresults uint | nresults x u8 | failure text
 */
#include "wire/toggle.h"

#include <assert.h>
#include <string.h>

#include "wire/message_fields.h"

enum {
	RATE_MIN_BYTES = 18,
	TOGGLE_MIN_BYTES = 5,
	NAME_MIN_BYTES = 4,
	BELOW_MIN_BYTES = 2,
	FAILURE_TEXT_MAX = 4096
};

void
want_encode(const struct want *w, struct buf *b)
{
	assert(w->nrates == 0 || w->rates != NULL);
	assert(w->ntoggles == 0 || w->toggles != NULL);
	assert(w->nbelow == 0 || w->below != NULL);
	assert(w->nrecorder == 0 || w->recorder != NULL);
	buf_u8(b, w->renews);
	buf_uint(b, w->epoch);
	buf_int(b, w->lease_ms);
	if (w->renews)
		return;
	buf_double(b, w->sampled);
	buf_uint(b, w->nrates);
	buf_uint(b, w->ntoggles);
	for (uint32_t i = 0; i < w->nrates; i++) {
		put_name(b, w->rates[i].request_type, TOGGLE_NAME_MAX);
		buf_double(b, w->rates[i].sampled);
		buf_double(b, w->rates[i].probed);
	}
	for (uint32_t i = 0; i < w->ntoggles; i++) {
		put_name(b, w->toggles[i].name, TOGGLE_NAME_MAX);
		buf_u8(b, w->toggles[i].sampled);
	}
	buf_uint(b, w->nbelow);
	for (uint32_t i = 0; i < w->nbelow; i++)
		put_name(b, w->below[i], TOGGLE_NAME_MAX);
	buf_u64(b, w->before);
	buf_u8(b, w->overrun);
	buf_uint(b, w->nrecorder);
	for (uint32_t i = 0; i < w->nrecorder; i++)
		put_name(b, w->recorder[i], TOGGLE_NAME_MAX);
}

static int
read_rates(struct want *w, struct reader *r, struct arena *a, struct err *e)
{
	int rc;

	for (uint32_t i = 0; i < w->nrates; i++) {
		struct rate *rate = &w->rates[i];

		if ((rc = take_name(&rate->request_type, r, a, TOGGLE_NAME_MAX)) != 0)
			return err_set(e, rc,
			    "want: the request type of rate %u is missing, too long or unprintable",
			    i);
		if (!take_share(&rate->sampled, r) || !take_share(&rate->probed, r))
			return err_set(e, ERR_INPUT, "want: rate %u is not between 0 and 1", i);
	}
	return 0;
}

static int
read_toggles(struct want *w, struct reader *r, struct arena *a, struct err *e)
{
	uint8_t sampled;
	int rc;

	for (uint32_t i = 0; i < w->ntoggles; i++) {
		rc = take_name(&w->toggles[i].name, r, a, TOGGLE_NAME_MAX);
		if (rc == 0 && !is_tracepoint(w->toggles[i].name))
			rc = ERR_INPUT;
		if (rc != 0)
			return err_set(
			    e, rc, "want: toggle %u is not of the form provider:event", i);
		if ((sampled = read_u8(r)) > 1)
			return err_set(
			    e, ERR_INPUT, "want: the flag of toggle %u is %u", i, sampled);
		w->toggles[i].sampled = sampled == 1;
	}
	return 0;
}

static int
read_below(struct want *w, struct reader *r, struct arena *a, struct err *e)
{
	uint64_t n = read_uint(r);
	int rc;

	if (r->failed || n > WANT_BELOW_MAX || n * BELOW_MIN_BYTES > reader_left(r))
		return err_set(e, ERR_INPUT,
		    "want: cut off, or over %d programs to be looked below", WANT_BELOW_MAX);
	w->nbelow = (uint32_t)n;
	if ((w->below = arena_alloc(a, w->nbelow * sizeof *w->below)) == NULL)
		return err_set(e, ERR_MEMORY, "want: out of memory for %u programs", w->nbelow);
	for (uint32_t i = 0; i < w->nbelow; i++)
		if ((rc = take_name(&w->below[i], r, a, TOGGLE_NAME_MAX)) != 0)
			return err_set(e, rc,
			    "want: the name of program %u is missing, too long or unprintable", i);
	w->before = read_u64(r);
	return 0;
}

static int
read_recorder(struct want *w, struct reader *r, struct arena *a, struct err *e)
{
	uint64_t n = read_uint(r);
	int rc;

	if (r->failed || n > WANT_RECORDER_MAX || n * NAME_MIN_BYTES > reader_left(r))
		return err_set(e, ERR_INPUT,
		    "want: cut off, or over %d names for the flight recorder", WANT_RECORDER_MAX);
	w->nrecorder = (uint32_t)n;
	if ((w->recorder = arena_alloc(a, w->nrecorder * sizeof *w->recorder)) == NULL)
		return err_set(e, ERR_MEMORY, "want: out of memory for %u names", w->nrecorder);
	for (uint32_t i = 0; i < w->nrecorder; i++) {
		rc = take_name(&w->recorder[i], r, a, TOGGLE_NAME_MAX);
		if (rc == 0 && !is_tracepoint(w->recorder[i]))
			rc = ERR_INPUT;
		if (rc != 0)
			return err_set(e, rc,
			    "want: name %u of the flight recorder is not of the form provider:event",
			    i);
	}
	return 0;
}

int
want_decode(struct want *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct want w = { 0 };
	uint64_t nrates, ntoggles;
	uint8_t renews, overrun;
	int rc;

	assert(ret != NULL && (data != NULL || len == 0));
	renews = read_u8(&r);
	w.epoch = read_uint(&r);
	w.lease_ms = read_int(&r);
	if (renews > 1 || (renews == 1 && (r.failed || w.lease_ms < 0)))
		return err_set(
		    e, ERR_INPUT, "want: cut off, or its lease or first flag out of range");
	if (renews == 1) {
		w.renews = true;
		if ((rc = take_end(&r, "want", e)) == 0)
			*ret = w;
		return rc;
	}
	if (!take_share(&w.sampled, &r) || w.lease_ms < 0)
		return err_set(
		    e, ERR_INPUT, "want: cut off, or its lease or sampling rate out of range");
	nrates = read_uint(&r);
	ntoggles = read_uint(&r);
	if (r.failed || nrates > RATES_MAX || ntoggles > TOGGLES_MAX ||
	    nrates * RATE_MIN_BYTES + ntoggles * TOGGLE_MIN_BYTES > reader_left(&r))
		return err_set(e, ERR_INPUT, "want: cut off, or over %d rates or %d toggles",
		    RATES_MAX, TOGGLES_MAX);
	w.nrates = (uint32_t)nrates;
	w.ntoggles = (uint32_t)ntoggles;
	w.rates = arena_alloc(a, w.nrates * sizeof *w.rates);
	w.toggles = arena_alloc(a, w.ntoggles * sizeof *w.toggles);
	if (w.rates == NULL || w.toggles == NULL)
		return err_set(e, ERR_MEMORY, "want: out of memory for %u toggles", w.ntoggles);
	if ((rc = read_rates(&w, &r, a, e)) != 0 || (rc = read_toggles(&w, &r, a, e)) != 0 ||
	    (rc = read_below(&w, &r, a, e)) != 0)
		return rc;
	overrun = read_u8(&r);
	if (overrun > 1)
		return err_set(e, ERR_INPUT, "want: its flag is %u", overrun);
	w.overrun = overrun == 1;
	if ((rc = read_recorder(&w, &r, a, e)) != 0)
		return rc;
	if ((rc = take_end(&r, "want", e)) != 0)
		return rc;
	*ret = w;
	return 0;
}

void
done_encode(const struct done *d, struct buf *b)
{
	assert(d->nresults == 0 || d->results != NULL);
	buf_uint(b, d->epoch);
	buf_int(b, d->from_ns);
	buf_uint(b, d->nresults);
	buf_bytes(b, d->results, d->nresults);
	put_name(b, d->failure, FAILURE_TEXT_MAX);
}

int
done_decode(struct done *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct done d = { 0 };
	const uint8_t *results;
	uint64_t n;
	int rc;

	assert(ret != NULL && (data != NULL || len == 0));
	d.epoch = read_uint(&r);
	d.from_ns = read_int(&r);
	n = read_uint(&r);
	if (r.failed || n > TOGGLES_MAX || (results = read_bytes(&r, (size_t)n)) == NULL)
		return err_set(e, ERR_INPUT, "done: cut off, or over %d results", TOGGLES_MAX);
	for (uint64_t i = 0; i < n; i++)
		if (results[i] > DONE_FAILED)
			return err_set(e, ERR_INPUT,
			    "done: result %llu is %u, which is out of range", (unsigned long long)i,
			    results[i]);
	d.nresults = (uint32_t)n;
	if ((d.results = arena_copy(a, results, (size_t)n)) == NULL)
		return err_set(e, ERR_MEMORY, "done: out of memory");
	if ((rc = take_text(&d.failure, &r, a, FAILURE_TEXT_MAX)) != 0)
		return err_set(e, rc, "done: the text of its failure is cut off or too long");
	if ((rc = take_end(&r, "done", e)) != 0)
		return rc;
	*ret = d;
	return 0;
}
