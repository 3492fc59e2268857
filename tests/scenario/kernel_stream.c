/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: "kernel_stream [COPY] <STREAM" prints the events of a stream as lines, as they come, and keeps a copy of the stream. Says at the
 * end what the source said. */
#include <stdio.h>
#include <unistd.h>

#include "kernel/kernel_stream.h"
#include "tests/scenario/kernel_events.h"

static struct kernel_names names;

static int
take(void *of, const struct kernel_event *ev, struct err *e)
{
	(void)of;
	(void)e;
	kernel_events_print(stdout, &names, ev);
	return 0;
}

static int
take_news(void *of, const struct kernel_news *n, struct err *e)
{
	static const char *const words[] = { "note", "cost", "failed", "end" };

	(void)of;
	(void)e;
	fprintf(stderr, "%s %d cpu_us %llu late %llu missed %llu %s\n", words[n->kind], n->code,
	    (unsigned long long)n->cpu_us, (unsigned long long)n->late,
	    (unsigned long long)n->missed, n->text);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct kernel_reader_options o = { &names, false, take, take_news, NULL };
	FILE *copy = argc > 1 ? fopen(argv[1], "w") : NULL;
	static char bytes[65536];
	struct kernel_reader *r;
	struct err e = { 0 };
	int rc = 0;
	ssize_t n;

	if (kernel_names_new(&names, &e) != 0 || (r = kernel_reader_new(&o)) == NULL ||
	    (argc > 1 && copy == NULL)) {
		fputs("kernel_stream: cannot begin\n", stderr);
		return 1;
	}
	while (rc == 0 && (n = read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
		if (copy != NULL && fwrite(bytes, 1, (size_t)n, copy) != (size_t)n)
			rc = err_errno(&e, "%s", argv[1]);
		else
			rc = kernel_reader_feed(r, bytes, (size_t)n, &e);
	}
	if (rc == 0 && kernel_reader_is_cut(r))
		rc = err_set(&e, ERR_INPUT, "the stream ends in the middle");
	if (rc != 0)
		fprintf(stderr, "kernel_stream: %s\n", e.text);
	if (copy != NULL && fclose(copy) != 0)
		rc = 1;
	kernel_reader_free(r);
	kernel_names_release(&names);
	return rc == 0 ? 0 : 1;
}
