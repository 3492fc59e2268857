/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/main/agent_config.h"
#include "agent/reader/sources.h"
#include "base/ini.h"
#include "wire/agent_messages.h"

#define AT(member) offsetof(struct config, member)
#define SECOND 1e9

static const struct ini_key KEYS[] = {
	{ "agent", "node", INI_TEXT, AT(node), "", 0, 0,
	    "The node's name, unique among all agents of a controller; empty: the host's name." },
	{ "agent", "run_dir", INI_TEXT, AT(run_dir), "", 0, 0,
	    "Folder for traces on their way, on a tmpfs; empty: /run/hone/agent-NODE." },
	{ "agent", "policy", INI_TEXT, AT(policy), "/dev/shm/hone-policy", 0, 0,
	    "The table of rates that libhone reads in every program (HONE_POLICY there)." },
	{ "agent", "user", INI_TEXT, AT(user), "", 0, 0,
	    "Who it becomes when it was started as root; empty: hone, if there are such a user and a group tracing." },
	{ "agent", "hang", INI_TIME, AT(hang_ns), "10s", SECOND, 600 * SECOND,
	    "An agent that does not move for so long hangs: its guardian switches off what it had on." },
	{ "agent", "reader", INI_TEXT, AT(reader), "hone", 0, 0,
	    "What reads the tracer's records: hone, or babeltrace2 for LTTng versions that hone's own reader does not understand." },
	{ "log", "level", INI_TEXT, AT(log_level), "info", 0, 0,
	    "The least that is logged: debug, info, warn, error." },
	{ "controller", "url", INI_TEXT, AT(url), "ipc:///run/hone/agents.sock", 0, 0,
	    "Where honed listens for agents: ipc:///path, or tls://host:port, which needs the keys of [tls]." },
	{ "controller", "silence", INI_TIME, AT(silence_ns), "5s", 0.1 * SECOND, 600 * SECOND,
	    "A controller that says nothing for so long is dialled again." },
	{ "controller", "retry", INI_TIME, AT(retry_ns), "1s", 0.01 * SECOND, 600 * SECOND,
	    "The longest wait between two attempts to reach it." },
	{ "controller", "refused", INI_TIME, AT(refused_ns), "5s", 0.01 * SECOND, 3600 * SECOND,
	    "The wait after it refused us, e.g. for another version." },
	{ "controller", "sampling_without", INI_TIME, AT(sampling_without_ns), "30s", 0,
	    86400 * SECOND,
	    "How long requests are still sampled after the controller was heard last." },
	{ "tls", "ca", INI_TEXT, AT(ca), "/etc/hone/keys/ca.pem", 0, 0,
	    "For tls://, as hone keys agent NODE makes them: the CA of the controller that we talk to." },
	{ "tls", "certificate", INI_TEXT, AT(certificate), "/etc/hone/keys/agent.pem", 0, 0,
	    "The node's certificate; it must be for the name that agent.node says." },
	{ "tls", "key", INI_TEXT, AT(key), "/etc/hone/keys/agent.key", 0, 0,
	    "Its key, which nobody else may read." },
	{ "tls", "revoked", INI_TEXT, AT(revoked), "", 0, 0,
	    "A copy of the controller's revoked.pem; empty: it is not asked whether the controller's certificate is revoked." },
	{ "queue", "memory", INI_BYTES, AT(memory_bytes), "64MiB", 1 << 20, 1e11,
	    "The most that unacknowledged batches may take; beyond, the oldest unsent are dropped and counted." },
	{ "queue", "files", INI_BYTES, AT(files_bytes), "64MiB", 1 << 20, 1e11,
	    "The most that the tracer's files in run_dir may hold unread; beyond, no request is sampled until under half." },
	{ "queue", "batch", INI_BYTES, AT(batch_bytes), "64KiB", 1 << 10, 512 << 10,
	    "A batch of this size is sent at once." },
	{ "queue", "batch_time", INI_TIME, AT(batch_ns), "20ms", 0, 10 * SECOND,
	    "With records, a batch goes so long after the one before; what comes after a pause goes at once." },
	{ "queue", "watermark", INI_TIME, AT(watermark_ns), "100ms", 0.001 * SECOND, 10 * SECOND,
	    "At least so often a batch goes out, if only to say that nothing happened." },
	{ "queue", "window", INI_COUNT, AT(window), "64", 1, 4096,
	    "Batches on their way without an acknowledgement." },
	{ "tracer", "sub_buffers", INI_COUNT, AT(sub_buffers), "16", 2, 1024,
	    "Sub-buffers for each program and processor, a power of two; with switch_timer they say how long a "
	    "stall is survived." },
	{ "tracer", "sub_buffer_size", INI_BYTES, AT(sub_buffer_bytes), "32KiB", 4096, 1 << 26,
	    "The size of one, a power of two." },
	{ "tracer", "switch_timer", INI_TIME, AT(switch_timer_ns), "250ms", 0.001 * SECOND, SECOND,
	    "How long a record may lie in a sub-buffer that is not full." },
	{ "tracer", "slow_call", INI_TIME, AT(slow_call_ns), "2s", 0.05 * SECOND, 600 * SECOND,
	    "A session daemon that takes longer for one request is reported as trouble." },
	{ "tracer", "list_every", INI_TIME, AT(list_every_ns), "5min", SECOND, 86400 * SECOND,
	    "How often the tracepoints of known programs are listed again, for providers that were loaded late." },
	{ "tracer", "rules_per_session", INI_COUNT, AT(rules_per_session), "8", 1, 1e6,
	    "Added tracepoints in one LTTng session: a change costs as many walks over all tracepoints of the node." },
	{ "tracer", "sessions", INI_COUNT, AT(sessions), "16", 0, 256,
	    "Sessions for added tracepoints; when all are full they take more. 0: all in the one of what is always on." },
	{ "tracer", "added_sub_buffer_size", INI_BYTES, AT(added_sub_buffer_bytes), "8KiB", 4096,
	    1 << 26, "As sub_buffer_size, in the sessions of added tracepoints." },
	{ "tracer", "idle_session", INI_TIME, AT(idle_session_ns), "60s", 0, 86400 * SECOND,
	    "When nothing added has been on for so long, sessions but one are ended and their memory is given back." },
	{ "maps", "folder", INI_TEXT, AT(maps), "/etc/hone/maps", 0, 0,
	    "Mappings (*.map): which tracepoints are requests, in programs that do not know libhone; read again on SIGHUP." },
	{ "status", "every", INI_TIME, AT(status_ns), "500ms", 0.01 * SECOND, SECOND,
	    "How often the agent reports its occupancy, losses and cost." },
	{ "status", "shed", INI_SHARE, AT(shed), "90%", 0.1, 1,
	    "The fill of the fullest queue at which added tracepoints go off without asking." },
};

enum { NKEYS = sizeof KEYS / sizeof KEYS[0] };

static const char *const LEVELS[] = { "debug", "info", "warn", "error" };

enum log_level
config_log_level(const struct config *c)
{
	for (int i = 0; i < 4; i++)
		if (strcmp(c->log_level, LEVELS[i]) == 0)
			return (enum log_level)i;
	return LOG_INFO;
}

static bool
power_of_two(int64_t n)
{
	return n > 0 && (n & (n - 1)) == 0;
}

/* It becomes part of a session's name and of paths. */
static bool
node_name_fits(const char *s)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && (i == 0 || strchr("-_.", s[i]) == NULL))
			return false;
	return len > 0 && len <= NODE_NAME_MAX;
}

static int
check(const struct config *c, struct err *e)
{
	bool known = false;

	for (int i = 0; i < 4; i++)
		known = known || strcmp(c->log_level, LEVELS[i]) == 0;
	if (!known)
		return err_set(e, ERR_INPUT,
		    "log.level: \"%s\" is not one of debug, info, warn, error", c->log_level);
	if (!node_name_fits(c->node))
		return err_set(e, ERR_INPUT,
		    "agent.node: \"%s\": 1 to %d letters, digits, and - _ . after the first",
		    c->node, NODE_NAME_MAX);
	if (c->run_dir[0] != '/' || strlen(c->run_dir) > PATH_MAX / 4)
		return err_set(e, ERR_INPUT,
		    "agent.run_dir: \"%s\": a path from / of at most %d bytes", c->run_dir,
		    PATH_MAX / 4);
	if (c->policy[0] != '/' || strlen(c->policy) > 255)
		return err_set(e, ERR_INPUT,
		    "agent.policy: \"%s\": a path from / of at most 255 bytes", c->policy);
	if (sources_check(c->reader, e) != 0)
		return err_prefix(e, "agent.reader");
	if (c->maps[0] != '/')
		return err_set(e, ERR_INPUT, "maps.folder: \"%s\": a path from /", c->maps);
	if (strncmp(c->url, "tcp://", 6) == 0)
		return err_set(e, ERR_INPUT,
		    "controller.url: \"%s\": not in the clear; use tls://host:port, with keys that hone keys "
		    "agent %s makes",
		    c->url, c->node);
	if (strncmp(c->url, "ipc:///", 7) != 0 && strncmp(c->url, "tls://", 6) != 0)
		return err_set(
		    e, ERR_INPUT, "controller.url: \"%s\": ipc:///path or tls://host:port", c->url);
	if (!power_of_two(c->sub_buffers) || !power_of_two(c->sub_buffer_bytes) ||
	    !power_of_two(c->added_sub_buffer_bytes))
		return err_set(e, ERR_INPUT,
		    "tracer.sub_buffers, tracer.sub_buffer_size and tracer.added_sub_buffer_size: "
		    "powers of two");
	return 0;
}

/* What depends on the machine. */
static int
fill_in(struct config *c, struct err *e)
{
	char host[256] = "";
	char *text;

	if (c->node[0] == '\0') {
		if (gethostname(host, sizeof host - 1) != 0)
			return err_errno(e, "the host's name");
		text = strndup(host, NODE_NAME_MAX);
		if (text == NULL)
			return err_set(e, ERR_MEMORY, "out of memory");
		free(c->node);
		c->node = text;
	}
	if (c->run_dir[0] == '\0') {
		if (asprintf(&text, "/run/hone/agent-%s", c->node) < 0)
			return err_set(e, ERR_MEMORY, "out of memory");
		free(c->run_dir);
		c->run_dir = text;
	}
	return 0;
}

int
config_load(struct config *c, const char *path, char *const *assignments, int n, struct err *e)
{
	int rc;

	memset(c, 0, sizeof *c);
	if ((rc = ini_defaults(KEYS, NKEYS, c, e)) != 0)
		return rc;
	if (path != NULL && (rc = ini_read(KEYS, NKEYS, c, path, e)) != 0)
		return rc;
	for (int i = 0; i < n; i++)
		if ((rc = ini_set(KEYS, NKEYS, c, assignments[i], e)) != 0)
			return rc;
	if ((rc = fill_in(c, e)) != 0)
		return rc;
	return check(c, e);
}

void
config_print(const struct config *c, FILE *out)
{
	ini_print(KEYS, NKEYS, c, 1, out);
}

void
config_release(struct config *c)
{
	ini_release(KEYS, NKEYS, c);
	memset(c, 0, sizeof *c);
}
