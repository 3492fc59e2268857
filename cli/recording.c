/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/kernel_stream.h"

enum { WRITE_BYTES = 1 << 20 };

struct recording_file {
	struct kernel_writer *writer;
	struct buf out;
	int fd;
	uint64_t bytes;
	char path[PATH_MAX];
};

int
recording_file_open(struct recording_file **ret, const char *folder,
    const struct kernel_names *names, struct err *e)
{
	struct recording_file *f = calloc(1, sizeof *f);

	if (f == NULL || (f->writer = kernel_writer_new(names)) == NULL) {
		free(f);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	snprintf(f->path, sizeof f->path, "%s/kernel.events", folder);
	if ((mkdir(folder, 0700) != 0 && errno != EEXIST) ||
	    (f->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0) {
		err_errno(e, "%s", folder);
		kernel_writer_free(f->writer);
		free(f);
		return ERR_SYSTEM;
	}
	*ret = f;
	return 0;
}

static int
write_out(struct recording_file *f, struct err *e)
{
	size_t at = 0;

	if (f->out.failed)
		return err_set(e, ERR_MEMORY, "out of memory");
	while (at < f->out.len) {
		ssize_t n = write(f->fd, f->out.data + at, f->out.len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "%s", f->path);
		at += (size_t)n;
	}
	f->bytes += at;
	buf_reset(&f->out);
	return 0;
}

int
recording_file_take(struct recording_file *f, const struct kernel_event *ev, struct err *e)
{
	kernel_writer_event(f->writer, ev, &f->out);
	return f->out.len < WRITE_BYTES ? 0 : write_out(f, e);
}

int
recording_file_close(struct recording_file *f, uint64_t *bytes, struct err *e)
{
	int rc;

	*bytes = 0;
	if (f == NULL)
		return 0;
	kernel_writer_flush(f->writer, &f->out);
	rc = write_out(f, e);
	*bytes = f->bytes;
	if (close(f->fd) != 0 && rc == 0)
		rc = err_errno(e, "%s", f->path);
	kernel_writer_free(f->writer);
	buf_release(&f->out);
	free(f);
	return rc;
}
