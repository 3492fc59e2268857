/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/control/opamp_message.h"

#include <string.h>

#include "formats/protobuf.h"

enum { SERVER_CAPABILITIES = 1 | 2, FLAG_REPORT_ALL = 1, HASH_BYTES = 8 };
enum { TEXT_MAX = 255 };

/* ---- reading ---- */

/* A copy, cut at `max` bytes, with what a label of that service has in place of '/' and control characters. NULL: out of memory. */
static const char *
copy_text(struct arena *a, const struct proto_field *f, size_t max)
{
	size_t len = f->len < max ? f->len : max;
	char *s = arena_text(a, (const char *)f->bytes, len);

	for (size_t i = 0; s != NULL && i < len; i++)
		s[i] = opamp_text_char(s[i]);
	return s;
}

/* KeyValue: the attributes that are used. False: malformed, or out of memory (*memory). */
static bool
read_attribute(
    struct opamp_report *ret, struct arena *a, const struct proto_field *message, bool *memory)
{
	struct reader r = reader_of(message->bytes, message->len), any;
	struct proto_field f = { 0 }, key = { 0 }, value = { 0 };
	const char **to;

	while (proto_next(&r, &f)) {
		if (proto_is(&f, 1, PROTO_BYTES))
			key = f;
		else if (proto_is(&f, 2, PROTO_BYTES))
			value = f;
	}
	if (proto_malformed(&r, &f))
		return false;
	to = key.len == 12 && memcmp(key.bytes, "service.name", 12) == 0 ? &ret->service
	     : key.len == 21 && memcmp(key.bytes, "telemetry.distro.name", 21) == 0
	         ? &ret->distribution
	         : NULL;
	any = reader_of(value.bytes, value.len);
	for (f = (struct proto_field){ 0 }; proto_next(&any, &f);) {
		if (to != NULL && proto_is(&f, 1, PROTO_BYTES) && !f.cut &&
		    (*to = copy_text(a, &f, OPAMP_NAME_MAX)) == NULL) {
			*memory = true;
			return false;
		}
		if (key.len == 11 && memcmp(key.bytes, "process.pid", 11) == 0 &&
		    proto_is(&f, 3, PROTO_VARINT) && f.n <= INT32_MAX)
			ret->pid = (uint32_t)f.n;
	}
	return !proto_malformed(&any, &f);
}

static bool
read_description(
    struct opamp_report *ret, struct arena *a, const struct proto_field *message, bool *memory)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct proto_field f = { 0 };
	bool ok = true;

	ret->described = true;
	while (ok && proto_next(&r, &f))
		if (proto_is(&f, 1, PROTO_BYTES) || proto_is(&f, 2, PROTO_BYTES))
			ok = read_attribute(ret, a, &f, memory);
	return ok && !proto_malformed(&r, &f);
}

static bool
read_status(
    struct opamp_report *ret, struct arena *a, const struct proto_field *message, bool *memory)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct proto_field f = { 0 };

	ret->has_status = true;
	while (proto_next(&r, &f)) {
		if (proto_is(&f, 1, PROTO_BYTES)) {
			ret->hash_len = f.len <= OPAMP_HASH_MAX ? (uint32_t)f.len : 0;
			memcpy(ret->hash, f.bytes, ret->hash_len);
		} else if (proto_is(&f, 2, PROTO_VARINT)) {
			ret->status = f.n <= OPAMP_FAILED ? (enum opamp_status)f.n : OPAMP_UNSET;
		} else if (proto_is(&f, 3, PROTO_BYTES) &&
			   (ret->error = copy_text(a, &f, TEXT_MAX)) == NULL) {
			*memory = true;
			return false;
		}
	}
	return !proto_malformed(&r, &f);
}

int
opamp_report_read(
    struct opamp_report *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct proto_field f = { 0 };
	struct opamp_report p = { .service = "", .distribution = "", .error = "" };
	bool ok = true, memory = false, has_uid = false;

	while (ok && proto_next(&r, &f)) {
		if (proto_is(&f, 1, PROTO_BYTES) && f.len == OPAMP_UID_BYTES) {
			memcpy(p.uid, f.bytes, OPAMP_UID_BYTES);
			has_uid = true;
		} else if (proto_is(&f, 2, PROTO_VARINT)) {
			p.sequence = f.n;
		} else if (proto_is(&f, 3, PROTO_BYTES)) {
			ok = read_description(&p, a, &f, &memory);
		} else if (proto_is(&f, 4, PROTO_VARINT)) {
			p.capabilities = f.n;
		} else if (proto_is(&f, 7, PROTO_BYTES)) {
			ok = read_status(&p, a, &f, &memory);
		} else if (proto_is(&f, 9, PROTO_BYTES)) {
			p.leaves = true;
		}
	}
	if (memory)
		return err_set(e, ERR_MEMORY, "out of memory");
	if (!ok || proto_malformed(&r, &f))
		return err_set(e, ERR_INPUT, "not an AgentToServer of OpAMP in protobuf");
	if (!has_uid)
		return err_set(e, ERR_INPUT, "instance_uid has not %d bytes", OPAMP_UID_BYTES);
	*ret = p;
	return 0;
}

static void
hash_bytes_of(uint64_t hash, uint8_t out[HASH_BYTES])
{
	for (int i = 0; i < HASH_BYTES; i++)
		out[i] = (uint8_t)(hash >> 8 * i);
}

bool
opamp_hash_is(const struct opamp_report *r, uint64_t hash)
{
	uint8_t bytes[HASH_BYTES];

	hash_bytes_of(hash, bytes);
	return r->hash_len == HASH_BYTES && memcmp(r->hash, bytes, HASH_BYTES) == 0;
}

/* ---- writing ---- */

static void
put_bytes(struct buf *b, uint32_t field, const void *data, size_t len)
{
	buf_uint(b, field << 3 | PROTO_BYTES);
	buf_text(b, data, len);
}

static void
put_message(struct buf *b, uint32_t field, struct buf *message)
{
	b->failed |= message->failed;
	put_bytes(
	    b, field, message->data != NULL ? message->data : (const uint8_t *)"", message->len);
	buf_release(message);
}

static void
put_config(struct buf *b, const struct opamp_answer *w)
{
	struct buf file = { 0 }, entry = { 0 }, map = { 0 }, config = { 0 };
	uint8_t hash[HASH_BYTES];

	put_bytes(&file, 1, w->config, strlen(w->config));
	put_bytes(&file, 2, "application/json", 16);
	put_bytes(&entry, 1, "elastic", 7);
	put_message(&entry, 2, &file);
	put_message(&map, 1, &entry);
	put_message(&config, 1, &map);
	hash_bytes_of(w->hash, hash);
	put_bytes(&config, 2, hash, sizeof hash);
	put_message(b, 3, &config);
}

void
opamp_answer_write(const struct opamp_answer *w, struct buf *to)
{
	put_bytes(to, 1, w->uid, OPAMP_UID_BYTES);
	if (w->config != NULL)
		put_config(to, w);
	if (w->report_all) {
		buf_uint(to, 6 << 3 | PROTO_VARINT);
		buf_uint(to, FLAG_REPORT_ALL);
	}
	buf_uint(to, 7 << 3 | PROTO_VARINT);
	buf_uint(to, SERVER_CAPABILITIES);
}
