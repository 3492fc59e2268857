/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log of a daemon on standard error: one line for each message. Only programs log. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Sets the program's name and the least level that is written (LOG_INFO before the first call). */
void log_open(const char *program, enum log_level least);

/* Writes "TIME PROGRAM LEVEL: message"; for systemd's journal (JOURNAL_STREAM) "<N>message" with
 * syslog's priority. Lines have at most 2048 bytes, longer ones end in "..."; control characters
 * become blanks. Lines of several threads do not mix. errno is kept. */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
