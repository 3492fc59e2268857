/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/web/web_document.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"

enum { STATE_LEVEL = 1 }; /* states change each second, so speed counts */

static const uint8_t GZIP_HEADER[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };
static const uint8_t FINAL_BLOCK[] = { 3, 0 };

static bool
deflate_piece(struct web_piece *p, int level)
{
	enum { RAW = -MAX_WBITS, MEMORY = 9, FLUSH_BYTES = 16 };
	z_stream z = { 0 };
	bool done;

	if (deflateInit2(&z, level, Z_DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	z.next_in = (unsigned char *)p->text;
	z.avail_in = (unsigned int)p->len;
	z.avail_out = (unsigned int)(deflateBound(&z, p->len) + FLUSH_BYTES);
	p->packed = malloc(z.avail_out);
	z.next_out = p->packed;
	done = p->packed != NULL && deflate(&z, Z_FULL_FLUSH) == Z_OK && z.avail_out > 0;
	p->packed_len = z.total_out;
	deflateEnd(&z);
	return done;
}

bool
web_piece_make(struct web_piece *p, char *text, size_t len, int level)
{
	*p = (struct web_piece){ .text = text, .len = len };
	p->crc = (uint32_t)crc32_z(0, (const unsigned char *)text, len);
	if (deflate_piece(p, level))
		return true;
	web_piece_release(p);
	return false;
}

void
web_piece_release(struct web_piece *p)
{
	free(p->text);
	free(p->packed);
	*p = (struct web_piece){ 0 };
}

static void
put_packed(struct buf *out, const struct web_piece *const *pieces, int n)
{
	uint32_t crc = 0, len = 0;

	buf_bytes(out, GZIP_HEADER, sizeof GZIP_HEADER);
	for (int i = 0; i < n; i++) {
		buf_bytes(out, pieces[i]->packed, pieces[i]->packed_len);
		crc = (uint32_t)crc32_combine(crc, pieces[i]->crc, (z_off_t)pieces[i]->len);
		len += (uint32_t)pieces[i]->len;
	}
	buf_bytes(out, FINAL_BLOCK, sizeof FINAL_BLOCK);
	buf_u32(out, crc);
	buf_u32(out, len);
}

char *
web_document(const struct web_piece *const *pieces, int n, bool gzip, size_t *len)
{
	size_t room = sizeof GZIP_HEADER + sizeof FINAL_BLOCK + 8;
	struct buf out = { 0 };

	for (int i = 0; i < n; i++)
		room += gzip ? pieces[i]->packed_len : pieces[i]->len;
	if (buf_reserve(&out, room) != NULL) {
		if (gzip)
			put_packed(&out, pieces, n);
		else
			for (int i = 0; i < n; i++)
				buf_bytes(&out, pieces[i]->text, pieces[i]->len);
	}
	if (out.failed) {
		buf_release(&out);
		return NULL;
	}
	*len = out.len;
	return (char *)out.data;
}

/* ---- what is shown first ---- */

static void
put_escaped(struct buf *out, const char *json, size_t len)
{
	for (const char *at = json, *end = json + len; at < end;) {
		const char *angle = memchr(at, '<', (size_t)(end - at));

		buf_bytes(out, at, (size_t)((angle != NULL ? angle : end) - at));
		if (angle == NULL)
			return;
		buf_bytes(out, "\\u003c", 6);
		at = angle + 1;
	}
}

const struct web_piece *
web_first_piece(
    struct web_first *first, enum web_topic topic, uint64_t instance, const struct web_text *state)
{
	struct buf text = { 0 };

	if (first->topics[topic].number == state->number)
		return &first->topics[topic].piece;
	web_piece_release(&first->topics[topic].piece);
	first->topics[topic].number = 0;
	buf_printf(&text, ",[\"%s\",\"%" PRIx64 ".%" PRIx64 "\",", web_topic_name(topic), instance,
	    state->number);
	put_escaped(&text, state->data + state->json_at, state->json_len);
	buf_bytes(&text, "]", 1);
	if (text.failed) {
		buf_release(&text);
		return NULL;
	}
	if (!web_piece_make(&first->topics[topic].piece, (char *)text.data, text.len, STATE_LEVEL))
		return NULL;
	first->topics[topic].number = state->number;
	return &first->topics[topic].piece;
}

void
web_first_release(struct web_first *first)
{
	for (int i = 0; i < WEB_TOPIC_COUNT; i++)
		web_piece_release(&first->topics[i].piece);
	*first = (struct web_first){ 0 };
}
