/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The configuration of hone-otel(8). otel_config_keys is the one table of its settings: the parser, `hone-otel -nv` and
 * hone-otel.conf(5) follow it (a unit test compares the page).
 */
#ifndef OTEL_MAIN_OTEL_CONFIG_H
#define OTEL_MAIN_OTEL_CONFIG_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/ini.h"
#include "base/log.h"
#include "otel/control/span_levels.h"

struct otel_config {
	char *node, *user, *log_level;
	char *url;
	char *ca, *certificate, *key, *revoked; /* for tls:// */
	int64_t silence_ns, retry_ns, refused_ns, sampling_without_ns;
	int64_t memory_bytes, batch_bytes, batch_ns, watermark_ns, calm_ns, window;
	char *otlp, *grpc, *zipkin, *opamp, *sampling; /* addresses; "": not listened at */
	char *off; /* instrumentations, see otel/control/opamp_table.h */
	int64_t poll_ns;
	char *levels[SPAN_LEVEL_LISTS]; /* patterns, the most severe first */
	double rate;
	int64_t connections, body_bytes, bodies_bytes, idle_ns;
	int64_t hold_ns, delay_ns, age_ns, past_ns, spans_bytes, trace_spans;
	int64_t status_ns;
};

extern const struct ini_key otel_config_keys[];
extern const size_t otel_config_nkeys;

/* Takes the defaults, then the file (path NULL: none), then each "section.key=value". Checks values that depend on each
 * other. ERR_INPUT: the text names file, line and key, or the assignment; ERR_MISSING: no such file; ERR_MEMORY;
 * ERR_SYSTEM. Also then *c must be released. */
int otel_config_load(
    struct otel_config *c, const char *path, char *const *assignments, int n, struct err *e);

/* Writes a file that otel_config_load() reads back to the same values, each key below its help. */
void otel_config_print(const struct otel_config *c, FILE *out);
void otel_config_release(struct otel_config *c);

struct span_levels otel_config_levels(const struct otel_config *c); /* valid while c is */
enum log_level otel_config_log_level(const struct otel_config *c);  /* of log.level */

#endif
