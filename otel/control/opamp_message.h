/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages of OpAMP (open-telemetry/opamp-spec, proto/opamp.proto, status beta) as far as Hone needs them, by their fields' numbers:
 *
 *	AgentToServer	1 instance_uid: 16 bytes; 2 sequence_num; 3 AgentDescription { 1 identifying, 2 other KeyValue }; 4 capabilities;
 *			7 RemoteConfigStatus { 1 hash; 2 status; 3 error }; 9 disconnect
 *	ServerToAgent	1 instance_uid; 3 AgentRemoteConfig { 1 AgentConfigMap { 1 entry { 1 key; 2 file { 1 body; 2 content type } } }; 2 hash };
 *			6 flags; 7 capabilities
 *	KeyValue	1 key; 2 AnyValue { 1 string; 3 int }
 *
 * Pure.
 */
#ifndef OTEL_CONTROL_OPAMP_MESSAGE_H
#define OTEL_CONTROL_OPAMP_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define OPAMP_PATH "/v1/opamp"
#define OPAMP_TYPE "application/x-protobuf"

enum { OPAMP_BODY_MAX = 256 << 10, OPAMP_UID_BYTES = 16, OPAMP_HASH_MAX = 32 };
enum { OPAMP_NAME_MAX = 100 }; /* of a service; longer ones are cut, as in labels */
enum {
	OPAMP_ACCEPTS_CONFIG = 2,
	OPAMP_REPORTS_EFFECTIVE = 4
}; /* of the capabilities of an agent */
enum opamp_status { OPAMP_UNSET, OPAMP_APPLIED, OPAMP_APPLYING, OPAMP_FAILED };

struct opamp_report { /* what an agent says; texts are "" if it does not say it */
	uint8_t uid[OPAMP_UID_BYTES];
	uint64_t sequence, capabilities;
	bool described; /* service, distribution and pid are of this message */
	const char *service, *distribution;
	uint32_t pid;
	bool has_status; /* of the configuration with this hash */
	uint8_t hash[OPAMP_HASH_MAX];
	uint32_t hash_len;
	enum opamp_status status;
	const char *error;
	bool leaves;
	const char *client; /* User-Agent of its request, the caller's; NULL: none */
};

struct opamp_answer {
	uint8_t uid[OPAMP_UID_BYTES];
	bool report_all;    /* the agent is to describe itself */
	const char *config; /* body of the file `elastic`, JSON; NULL: nothing is offered */
	uint64_t hash;      /* of it */
};

/* Texts are in the arena, without control characters. ERR_INPUT: not such a message, or its uid has not 16 bytes; ERR_MEMORY. O(len). */
int opamp_report_read(
    struct opamp_report *ret, struct arena *a, const void *data, size_t len, struct err *e);

/* What a text has in place of this byte: that of labels (span_names.c), so that both name the same service. */
static inline char
opamp_text_char(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f ? '?' : c == '/' ? '.' : c;
}

/* The hash as it comes back in a report. */
bool opamp_hash_is(const struct opamp_report *r, uint64_t hash);

/* Appends the message. to->failed: out of memory. O(bytes). */
void opamp_answer_write(const struct opamp_answer *w, struct buf *to);

#endif
