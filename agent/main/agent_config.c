/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/main/agent_config.h"
#include "agent/main/kernel_gateways.h"
#include "agent/reader/listed_users.h"
#include "agent/reader/sources.h"
#include "base/ini.h"
#include "agent/link/link_settings.h"
#include "wire/agent_messages.h"

#define AT(member) offsetof(struct agent_config, member)
#define SECOND 1e9

const struct ini_key agent_config_keys[] = {
	{ "agent", "node", INI_TEXT, AT(node), "", 0, 0,
	    "Name of the node, unique among all agents of a controller; empty: the host name." },
	{ "agent", "run_dir", INI_TEXT, AT(run_dir), "", 0, 0,
	    "Folder of the tracer's files until they are read, on a tmpfs; empty: /run/hone/agent-NODE." },
	{ "agent", "policy", INI_TEXT, AT(policy), "/dev/shm/hone-policy", 0, 0,
	    "Table of rates, which libhone reads in every program (HONE_POLICY there)." },
	{ "agent", "callers_known", INI_BOOL, AT(callers_known), "no", 0, 0,
	    "Whether only known programs call those of this node, and no clients: then a caller's trace id decides whether its request is sampled, as in hone-otel." },
	{ "agent", "user", INI_TEXT, AT(user), "", 0, 0,
	    "User that the agent becomes when root starts it; empty: hone, if that user and the group tracing exist." },
	{ "agent", "users", INI_TEXT, AT(users), "", 0, 0,
	    "Users whose programs are read: names or numbers, separated by blanks. Of a container's users, those that the host sees. Empty: everybody's." },
	{ "agent", "hang", INI_TIME, AT(hang_ns), "10s", SECOND, 600 * SECOND,
	    "After this time without a turn the agent hangs: its guardian disables what it enabled." },
	{ "agent", "reader", INI_TEXT, AT(reader), "hone", 0, 0,
	    "What reads the tracer's records: hone; babeltrace2, for LTTng versions that Hone's own reader does not understand; "
	    "or auto: hone, and babeltrace2 if that is needed." },
	{ "log", "level", INI_TEXT, AT(log_level), "info", 0, 0,
	    "Lowest level that is logged: debug, info, warn, error." },
#include "agent/link/link_keys.tbl.h"
	{ "queue", "memory", INI_BYTES, AT(memory_bytes), "64MiB", 1 << 20, 1e11,
	    "Limit of unacknowledged batches; above it the oldest unsent ones are dropped and counted." },
	{ "queue", "files", INI_BYTES, AT(files_bytes), "64MiB", 1 << 20, 1e11,
	    "Limit of unread data in the tracer's files; above it no request is sampled until half of it is read." },
#include "agent/link/queue_keys.tbl.h"
	{ "tracer", "sub_buffers", INI_COUNT, AT(sub_buffers), "16", 2, 1024,
	    "Sub-buffers for each program and processor, a power of two; times switch_timer, the stall that loses no record." },
	{ "tracer", "sub_buffer_size", INI_BYTES, AT(sub_buffer_bytes), "32KiB", 4096, 1 << 26,
	    "Size of a sub-buffer, a power of two." },
	{ "tracer", "switch_timer", INI_TIME, AT(switch_timer_ns), "250ms", 0.001 * SECOND, SECOND,
	    "Longest time that a record stays in a sub-buffer that is not full." },
	{ "tracer", "slow_call", INI_TIME, AT(slow_call_ns), "2s", 0.05 * SECOND, 600 * SECOND,
	    "A request that the session daemon has not answered in this time is reported." },
	{ "tracer", "list_every", INI_TIME, AT(list_every_ns), "5min", SECOND, 86400 * SECOND,
	    "Time between two lists of the tracepoints of known programs, for providers that are loaded late." },
	{ "tracer", "rules_per_session", INI_COUNT, AT(rules_per_session), "8", 1, 1e6,
	    "Added tracepoints in one LTTng session: a change costs as many walks over all tracepoints of the node." },
	{ "tracer", "sessions", INI_COUNT, AT(sessions), "16", 0, 256,
	    "Most sessions for added tracepoints; full ones take more. 0: all are in the base session." },
	{ "tracer", "added_sub_buffer_size", INI_BYTES, AT(added_sub_buffer_bytes), "8KiB", 4096,
	    1 << 26, "As sub_buffer_size, in sessions of added tracepoints." },
	{ "tracer", "idle_session", INI_TIME, AT(idle_session_ns), "60s", 0, 86400 * SECOND,
	    "Without an added tracepoint for this long, all these sessions but one are ended." },
	{ "tracer", "recorder_sub_buffers", INI_COUNT, AT(recorder_sub_buffers), "8", 2, 1024,
	    "Sub-buffers of the flight recorder for each program and processor, a power of two: with their size, how far back it reaches." },
	{ "tracer", "recorder_sub_buffer_size", INI_BYTES, AT(recorder_sub_buffer_bytes), "128KiB",
	    4096, 1 << 22,
	    "Size of a sub-buffer of the flight recorder, a power of two; less where a program would take over 16 MiB for all processors. "
	    "The memory is taken only while the recorder is on." },
	{ "maps", "folder", INI_TEXT, AT(maps), "/etc/hone/maps", 0, 0,
	    "Folder of mappings (*.map), which say what requests of programs without libhone are; read again on SIGHUP." },
	{ "below", "enabled", INI_BOOL, AT(below), "yes", 0, 0,
	    "Whether hone-below may be started, which says what threads do between two tracepoints. It needs CAP_BPF and CAP_PERFMON." },
	{ "below", "probes", INI_BOOL, AT(probes), "yes", 0, 0,
	    "Whether hone-below may switch USDT probes that programs contain. Everybody who runs a program passes those that are on, at 0.5 us each." },
	{ "below", "user", INI_TEXT, AT(below_user), "", 0, 0,
	    "User that hone-below becomes when root starts the agent; empty: hone-below if it exists, else that of the agent." },
	{ "kernel", "services", INI_TEXT, AT(services), "", 0, 0,
	    "Programs without instrumentation whose requests are followed by kernel events: patterns of names with commas between, as \"front,back*\". "
	    "It needs hone-below. Empty: none." },
	{ "kernel", "gateways", INI_TEXT, AT(gateways), "", 0, 0,
	    "Who begins requests: addresses, with a port or without, and networks, with commas between, as \"10.0.0.1:80,10.1.0.0/16\". Empty, with "
	    "kernel.gateway_cgroups: everybody who is not followed." },
	{ "kernel", "gateway_cgroups", INI_TEXT, AT(gateway_cgroups), "", 0, 0,
	    "Control groups, as paths below /sys/fs/cgroup with commas between, whose processes begin requests." },
	{ "kernel", "rule", INI_TEXT, AT(kernel_rule), "current", 0, 0,
	    "Which requests a message belongs to: current, the one that its thread works for, also in event loops; or all that the thread has received and not answered." },
	{ "kernel", "http", INI_BOOL, AT(kernel_http), "no", 0, 0,
	    "Whether method and path of HTTP/1 are part of a request's type. For that the first 64 bytes of each message are read, which are user data." },
	{ "kernel", "limit", INI_COUNT, AT(kernel_limit), "50000", 100, 1e7,
	    "Kernel events a second; above that the programs are not followed for ten minutes." },
	{ "status", "every", INI_TIME, AT(status_ns), "500ms", 0.01 * SECOND, SECOND,
	    "Time between two reports of occupancy, losses and cost." },
	{ "status", "shed", INI_SHARE, AT(shed), "90%", 0.1, 1,
	    "Fill of the fullest queue at which the agent disables all added tracepoints by itself." },
};

const size_t agent_config_nkeys = sizeof agent_config_keys / sizeof agent_config_keys[0];

enum log_level
agent_config_log_level(const struct agent_config *c)
{
	return link_settings_log_level(c->log_level);
}

static bool
power_of_two(int64_t n)
{
	return n > 0 && (n & (n - 1)) == 0;
}

static int
check_kernel(const struct agent_config *c, struct err *e)
{
	struct gateways *g;

	if (strcmp(c->kernel_rule, "current") != 0 && strcmp(c->kernel_rule, "all") != 0)
		return err_set(
		    e, ERR_INPUT, "kernel.rule: \"%s\" is neither current nor all", c->kernel_rule);
	if ((c->gateways[0] != '\0' || c->gateway_cgroups[0] != '\0') && c->services[0] == '\0')
		return err_set(e, ERR_INPUT,
		    "kernel.gateways and kernel.gateway_cgroups: only with kernel.services");
	if (kernel_gateways_read(&g, c->gateways, e) != 0)
		return err_prefix(e, "kernel.gateways");
	gateways_free(g);
	return 0;
}

static int
check(const struct agent_config *c, struct err *e)
{
	struct listed_users listed;
	const struct link_settings link = { c->node, c->url, c->log_level };

	if (link_settings_check(&link, e) != 0)
		return e->code;
	if (c->run_dir[0] != '/' || strlen(c->run_dir) > PATH_MAX / 4)
		return err_set(e, ERR_INPUT,
		    "agent.run_dir: \"%s\": a path from / of at most %d bytes", c->run_dir,
		    PATH_MAX / 4);
	if (c->policy[0] != '/' || strlen(c->policy) > 90)
		return err_set(e, ERR_INPUT,
		    "agent.policy: \"%s\": a path from / of at most 90 bytes", c->policy);
	if (sources_check(c->reader, e) != 0)
		return err_prefix(e, "agent.reader");
	if (listed_users_parse(&listed, c->users, e) != 0)
		return err_prefix(e, "agent.users");
	if (listed.n > 0 && strcmp(c->reader, "hone") != 0)
		return err_set(e, ERR_INPUT, "agent.users: only with agent.reader = hone");
	if (check_kernel(c, e) != 0)
		return e->code;
	if (c->maps[0] != '/')
		return err_set(e, ERR_INPUT, "maps.folder: \"%s\": a path from /", c->maps);
	if (!power_of_two(c->recorder_sub_buffers) || !power_of_two(c->recorder_sub_buffer_bytes))
		return err_set(e, ERR_INPUT,
		    "tracer.recorder_sub_buffers and tracer.recorder_sub_buffer_size: powers of two");
	if (!power_of_two(c->sub_buffers) || !power_of_two(c->sub_buffer_bytes) ||
	    !power_of_two(c->added_sub_buffer_bytes))
		return err_set(e, ERR_INPUT,
		    "tracer.sub_buffers, tracer.sub_buffer_size and tracer.added_sub_buffer_size: "
		    "powers of two");
	return 0;
}

/* Sets the defaults that depend on the machine. */
static int
fill_in(struct agent_config *c, struct err *e)
{
	char host[256] = "";
	char *text;

	if (c->node[0] == '\0') {
		if (gethostname(host, sizeof host - 1) != 0)
			return err_errno(e, "the host name");
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
agent_config_load(
    struct agent_config *c, const char *path, char *const *assignments, int n, struct err *e)
{
	int rc;

	memset(c, 0, sizeof *c);
	if ((rc = ini_defaults(agent_config_keys, agent_config_nkeys, c, e)) != 0)
		return rc;
	if (path != NULL && (rc = ini_read(agent_config_keys, agent_config_nkeys, c, path, e)) != 0)
		return rc;
	for (int i = 0; i < n; i++)
		if ((rc = ini_set(agent_config_keys, agent_config_nkeys, c, assignments[i], e)) !=
		    0)
			return rc;
	if ((rc = fill_in(c, e)) != 0)
		return rc;
	return check(c, e);
}

void
agent_config_print(const struct agent_config *c, FILE *out)
{
	ini_print(agent_config_keys, agent_config_nkeys, c, 1, out);
}

void
agent_config_release(struct agent_config *c)
{
	ini_release(agent_config_keys, agent_config_nkeys, c);
	memset(c, 0, sizeof *c);
}
