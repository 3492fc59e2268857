/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINE_MAX_BYTES = 2048 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char name[64]; /* name and journal are guarded by the lock */
static bool journal;
static _Atomic int threshold = LOG_INFO;

/* JOURNAL_STREAM is inherited, so it counts only if it names this process's standard error. */
static bool
stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream != NULL && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void
log_open(const char *program, enum log_level least)
{
	assert(program != NULL && least >= LOG_DEBUG && least <= LOG_ERROR);
	pthread_mutex_lock(&lock);
	snprintf(name, sizeof name, "%s", program);
	journal = stderr_is_journal();
	pthread_mutex_unlock(&lock);
	threshold = least;
}

static size_t
print_head(char *line, size_t size, enum log_level level)
{
	static const struct {
		const char *word;
		int priority; /* syslog's */
	} levels[] = { { "debug", 7 }, { "info", 6 }, { "warning", 4 }, { "error", 3 } };
	char now[25];
	int n;

	if (journal) {
		n = snprintf(line, size, "<%d>", levels[level].priority);
	} else {
		wall_print(clock_wall(), now);
		n = snprintf(line, size, "%s %s %s: ", now, name, levels[level].word);
	}
	return (size_t)n;
}

static void
write_all(const char *at, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(STDERR_FILENO, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* there is no other place to report it */
		at += n;
		len -= (size_t)n;
	}
}

/* Replaces control characters by blanks, so that text from other parties cannot add lines or
 * control a terminal: those of ASCII, and U+0080 to U+009F (in UTF-8 0xc2 and another byte). */
static void
replace_controls(char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i],
			      next = i + 1 < len ? (unsigned char)line[i + 1] : 0;

		if (c < ' ' || c == 0x7f)
			line[i] = ' ';
		else if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			line[i] = line[i + 1] = ' ';
	}
}

void
log_line(enum log_level level, const char *fmt, ...)
{
	int error = errno, n;
	char line[LINE_MAX_BYTES];
	size_t len;
	va_list ap;

	assert(level >= LOG_DEBUG && level <= LOG_ERROR);
	if ((int)level < threshold)
		return;
	pthread_mutex_lock(&lock);
	len = print_head(line, sizeof line, level);
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof line - len, fmt, ap);
	va_end(ap);
	if (n >= (int)(sizeof line - len)) {
		memcpy(line + sizeof line - 4, "...", 3);
		n = (int)(sizeof line - len) - 1;
	}
	len += n < 0 ? 0 : (size_t)n;
	replace_controls(line, len);
	line[len++] = '\n';
	write_all(line, len);
	pthread_mutex_unlock(&lock);
	errno = error;
}
