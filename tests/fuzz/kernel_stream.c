/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any items as a stream of kernel events (with a right begin, length and sum in front, so that they are reached): refused, or the same after
 * being written and read again; also in two pieces, and any bytes as they are. */
#include "base/crc32c.h"
#include "kernel/kernel_stream.h"
#include "tests/fuzz/common/fuzz.h"

struct copy { /* writes again what it takes */
	struct kernel_names names;
	struct kernel_writer *writer;
	struct buf out;
};

static int
take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct copy *c = of;

	(void)e;
	check(ev->kind < KERNEL_KINDS);
	kernel_writer_event(c->writer, ev, &c->out);
	return 0;
}

static int
take_news(void *of, const struct kernel_news *n, struct err *e)
{
	struct copy *c = of;

	(void)e;
	kernel_writer_news(c->writer, n, &c->out);
	return 0;
}

/* Reads the bytes in pieces of `piece`, and writes them again. */
static int
copy(struct copy *c, const uint8_t *data, size_t len, size_t piece)
{
	struct kernel_reader_options o = { &c->names, false, take, take_news, c };
	struct kernel_reader *r;
	int rc = 0;

	memset(c, 0, sizeof *c);
	check(kernel_names_new(&c->names, NULL) == 0);
	c->writer = kernel_writer_new(&c->names);
	r = kernel_reader_new(&o);
	check(c->writer != NULL && r != NULL);
	for (size_t at = 0; at < len && rc == 0; at += piece)
		rc = kernel_reader_feed(r, data + at, len - at < piece ? len - at : piece, NULL);
	kernel_writer_flush(c->writer, &c->out);
	kernel_reader_free(r);
	return rc;
}

static void
release(struct copy *c)
{
	kernel_writer_free(c->writer);
	kernel_names_release(&c->names);
	buf_release(&c->out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf framed = { 0 };
	struct copy one, two, three;

	copy(&one, data, len, len + 1);
	release(&one);
	if (len > KERNEL_CHUNK_MAX)
		return 0;
	buf_bytes(&framed, "HONEKEV\1", 8);
	buf_u32(&framed, (uint32_t)len);
	buf_u32(&framed, crc32c(0, data, len));
	buf_bytes(&framed, data, len);
	if (copy(&one, framed.data, framed.len, framed.len) == 0) {
		check(copy(&two, one.out.data, one.out.len, one.out.len) == 0);
		check(one.out.len == two.out.len &&
		      memcmp(one.out.data, two.out.data, one.out.len) == 0);
		release(&two);
	}
	check(copy(&three, framed.data, framed.len, len / 2 + 1) == 0 ||
	      one.out.len >= 8); /* both refuse */
	check(
	    three.out.len == one.out.len && memcmp(three.out.data, one.out.data, one.out.len) == 0);
	release(&three);
	release(&one);
	buf_release(&framed);
	return 0;
}
