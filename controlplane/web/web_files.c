/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/web/web_files.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report/html.h"

EMBED(live_html, "controlplane/web/live.html");
EMBED(live_css, "controlplane/web/live.css");
EMBED(live_js, "controlplane/web/live.js");
EMBED(live_verdict, "controlplane/web/verdict.js");
EMBED(live_forest, "controlplane/web/forest_view.js");
EMBED(live_nodes, "controlplane/web/nodes_view.js");
EMBED(live_traffic, "controlplane/web/traffic_view.js");
EMBED(live_page_css, "report/page.css");
EMBED(live_draw, "report/draw.js");
EMBED(live_figures, "report/figures.js");
EMBED(live_group, "report/group.js");
EMBED(live_times, "report/times.js");
EMBED(live_below, "report/below.js");

struct web_part {
	const char *at, *end;
};
#define PART(name)               \
	{                        \
		name, name##_end \
	}

enum { PARTS = 10 };
static const struct {
	const char *path, *type;
	struct web_part parts[PARTS]; /* the script's share one scope, as on the page of a report */
} SOURCES[] = {
	{ "/", "text/html; charset=utf-8", { PART(live_html) } },
	{ "/live.css", "text/css; charset=utf-8", { PART(live_page_css), PART(live_css) } },
	{ "/live.js", "text/javascript; charset=utf-8",
	    { PART(live_draw), PART(live_figures), PART(live_group), PART(live_times),
		PART(live_below), PART(live_verdict), PART(live_forest), PART(live_nodes),
		PART(live_traffic), PART(live_js) } },
};
enum { FILES = sizeof SOURCES / sizeof SOURCES[0] };

static struct web_file files[FILES];

/* The text by gzip (RFC 1952), at the best compression: it is done once. */
static bool
pack(struct web_file *f)
{
	enum { GZIP = 16 + MAX_WBITS, MEMORY = 9 };
	z_stream z = { 0 };
	bool done;

	if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return false;
	z.next_in = (unsigned char *)f->text;
	z.avail_in = (unsigned int)f->len;
	z.avail_out = (unsigned int)deflateBound(&z, f->len);
	f->packed = malloc(z.avail_out);
	z.next_out = (unsigned char *)f->packed;
	done = f->packed != NULL && deflate(&z, Z_FINISH) == Z_STREAM_END;
	f->packed_len = z.total_out;
	deflateEnd(&z);
	return done;
}

int
web_files_init(void)
{
	for (int i = 0; i < FILES; i++) {
		struct buf text = { 0 };

		for (int k = 0; k < PARTS && SOURCES[i].parts[k].at != NULL; k++)
			html_lines(&text, SOURCES[i].parts[k].at, SOURCES[i].parts[k].end);
		if (text.failed) {
			buf_release(&text);
			web_files_release();
			return -1;
		}
		files[i] = (struct web_file){ .path = SOURCES[i].path,
			.type = SOURCES[i].type,
			.text = (char *)text.data,
			.len = text.len };
		if (!pack(&files[i])) {
			web_files_release();
			return -1;
		}
	}
	return 0;
}

const struct web_file *
web_file(const char *path)
{
	for (int i = 0; i < FILES; i++)
		if (files[i].text != NULL && strcmp(files[i].path, path) == 0)
			return &files[i];
	return NULL;
}

void
web_files_release(void)
{
	for (int i = 0; i < FILES; i++) {
		free(files[i].text);
		free(files[i].packed);
		files[i] = (struct web_file){ 0 };
	}
}
