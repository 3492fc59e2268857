/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An agent whose tracer is OpenTelemetry: it takes spans by HTTP, sends their records to the controller, and samples as the
 * controller wants. Its tracepoints are spans that gates in programs turn on and off (otel/control/gate_table.h).
 */
#ifndef OTEL_MAIN_OTEL_LOOP_H
#define OTEL_MAIN_OTEL_LOOP_H

#include "base/err.h"
#include "base/log.h"
#include "otel/main/otel_config.h"

struct otel;

/* Listens, and starts to connect. log() receives texts for the log, in the calling thread. On success *ret is the
 * caller's, until otel_close(); c must live as long. ERR_MEMORY, ERR_SYSTEM, or an error of the [tls] files. */
int otel_open(struct otel **ret, const struct otel_config *c, const char *version,
    void (*log)(enum log_level level, const char *text), struct err *e);

/* One turn of the main loop: takes spans, sends, reports; then waits for up to 50 ms, or until there is something to do. */
void otel_turn(struct otel *o);

/* Sends what it holds, within 0.5 s, and frees all. NULL is fine. */
void otel_close(struct otel *o);

/* Wakes otel_turn(). May be called by a signal handler. */
void otel_wake(struct otel *o);

#endif
