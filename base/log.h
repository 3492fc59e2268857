/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a daemon says on standard error: one line for each, with level and time. Only programs log.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_open(const char *program, enum log_level least);
/* Lines are whole even from many threads. Under systemd (JOURNAL_STREAM) with <N> priorities and no
 * time. */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
