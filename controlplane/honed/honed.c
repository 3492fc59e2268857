/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/honed.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/systemd.h"
#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"
#include "controlplane/honed/agent_links.h"
#include "controlplane/honed/doors.h"
#include "controlplane/honed/entrance.h"
#include "controlplane/honed/folders.h"
#include "controlplane/honed/forest_keeper.h"
#include "controlplane/honed/healthy_keeper.h"
#include "controlplane/honed/held_answers.h"
#include "controlplane/honed/levels_keeper.h"
#include "controlplane/honed/limited_log.h"
#include "controlplane/honed/long_answers.h"
#include "controlplane/honed/questions.h"
#include "controlplane/honed/remote_agents.h"
#include "controlplane/honed/restarts.h"
#include "controlplane/honed/space_keeper.h"
#include "controlplane/server/server.h"

#define MS_NS INT64_C(1000000)
#define TRIM_NS INT64_C(60000000000)

enum {
	WAIT_MS = 20,   /* for mail, at most, between two steps */
	BURST_MS = 50,  /* of mail, at most, between two steps */
	STOP_MS = 5000, /* for agents to confirm, at the end */
};

struct honed {
	const struct config *config;
	struct forest_keeper keeper;
	struct engine *engine;
	struct space_keeper space;
	struct healthy_keeper healthy;
	struct levels_keeper levels;
	struct entrance entrance;
	struct server *server; /* of the entrance */
	struct agent_links agents;
	struct remote_agents *remote; /* the caller's; NULL: agents connect to us */
	struct log_facts log;         /* of remote, for answers */
	struct restarts restarts;     /* of what the decider before this one was at */
	struct questions questions;
	struct long_answers long_answers;
	struct held_answers held_answers; /* of a decider */
	struct doors *doors;
	struct limited_log peers; /* what peers cause to be logged */
	struct err step_trouble;  /* the engine's; logged once */
	struct mono trimmed;
};

static void give_held(void *of, void *peer, char *text);
static void refuse_held(void *of, void *peer, const char *why);

/* ---- opening ---- */

static int
open_engine(struct honed *h, struct err *e)
{
	struct engine_options o = config_engine(h->config);
	int rc = engine_new(&h->engine, &o, h->keeper.forest, e);

	if (rc < 0)
		return rc;
	h->space = (struct space_keeper){ .path = h->config->space, .engine = h->engine };
	if ((rc = space_keeper_load(&h->space, e)) < 0)
		return rc;
	if ((rc = healthy_keeper_open(
		 &h->healthy, h->engine, h->config->watch_healthy, h->config->database, e)) < 0)
		return rc;
	return levels_keeper_open(
	    &h->levels, h->engine, h->config->levels_file, h->config->database, e);
}

static int
open_agents(struct honed *h, struct err *e)
{
	int rc = entrance_open(&h->entrance, h->config, e);

	if (rc < 0)
		return rc;
	h->server = h->entrance.server;
	h->agents = (struct agent_links){ .engine = h->engine,
		.forest = h->keeper.forest,
		.port = agent_port_server(h->server) };
	limited_log_init(&h->agents.refusals, clock_mono());
	return 0;
}

int
honed_open(struct honed **ret, const struct config *c, struct err *e)
{
	struct honed *h = calloc(1, sizeof *h);
	int rc;

	if (h == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	h->config = c;
	limited_log_init(&h->peers, clock_mono());
	if ((rc = folders_check(c, e)) < 0 ||
	    (rc = forest_keeper_open(&h->keeper, c->database, c->history_days, c->size_max, e)) <
		0 ||
	    (rc = open_engine(h, e)) < 0 || (rc = open_agents(h, e)) < 0) {
		honed_close(h);
		return rc;
	}
	h->questions = (struct questions){ .config = c,
		.engine = h->engine,
		.keeper = &h->keeper,
		.roles = h->entrance.roles,
		.started = clock_mono(),
		.long_answers = &h->long_answers };
	h->long_answers.questions = &h->questions;
	h->held_answers.port = (struct held_port){ h, give_held, refuse_held };
	log_line(LOG_INFO, "honed %s: agents at %s, operators at %s, database %s", HONE_VERSION,
	    server_url(h->server, DOOR_AGENTS), server_url(h->server, DOOR_OPERATORS), c->database);
	if ((rc = doors_open(&h->doors, c, &h->questions, e)) < 0) {
		honed_close(h);
		return rc;
	}
	*ret = h;
	return 0;
}

int
honed_decide(struct honed *h, struct remote_agents *r, struct err *e)
{
	int rc = remote_agents_begin(r, &h->agents, h->config, e);

	if (rc == 0) {
		h->remote = r;
		h->questions.log = &h->log;
		h->keeper.feed = remote_agents_feed(r);
		restarts_begin(&h->restarts, h->keeper.forest, clock_mono(), clock_wall());
	}
	return rc;
}

void
honed_close(struct honed *h)
{
	if (h == NULL)
		return;
	doors_close(h->doors);
	held_answers_end(&h->held_answers,
	    "the decider ends, and Kafka does not have what was asked for: ask the one that takes over whether it is done");
	long_answers_forget(&h->long_answers, h);
	entrance_close(&h->entrance);
	healthy_keeper_close(&h->healthy);
	levels_keeper_close(&h->levels);
	if (h->engine != NULL)
		engine_free(h->engine);
	forest_keeper_close(&h->keeper);
	agent_links_release(&h->agents);
	free(h);
}

/* ---- mail ---- */

/* Takes the text. */
static void
give(struct honed *h, struct peer *p, char *text)
{
	if (text == NULL)
		server_refuse(h->server, p, "the controller ends, or is out of memory");
	else
		server_answer(h->server, p, text, strlen(text));
	free(text);
}

/* Takes the file. */
static void
give_file(struct honed *h, struct peer *p, int file)
{
	struct stat is;
	void *text = MAP_FAILED;

	if (fstat(file, &is) == 0)
		text = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_SHARED, file, 0);
	close(file);
	if (text == MAP_FAILED) {
		give(h, p, NULL);
		return;
	}
	server_answer(h->server, p, text, (size_t)is.st_size);
	munmap(text, (size_t)is.st_size);
}

/* Of struct long_asker. */
static void
long_answered(void *door, void *peer, struct long_answer a)
{
	if (a.file >= 0)
		give_file(door, peer, a.file);
	else
		give(door, peer, a.text);
}

static bool
still_waits(void *door, void *peer)
{
	const struct honed *h = door;

	return server_waits(h->server, peer);
}

/* Of struct held_port. */
static void
give_held(void *of, void *peer, char *text)
{
	give(of, peer, text);
}

static void
refuse_held(void *of, void *peer, const char *why)
{
	server_refuse(((struct honed *)of)->server, peer, why);
}

static uint64_t
changes_of(struct forest *f)
{
	const struct forest_changes *c = forest_changes(f);

	return (uint64_t)c->nruns + c->nhypotheses + c->nverdicts + c->nswitched + c->nevidence +
	       c->naudit;
}

/* What a question changes is in the audit, too, so it adds to the changes. */
static void
answer_short(struct honed *h, const struct mail *m)
{
	uint64_t before = changes_of(h->keeper.forest);
	char *text = questions_answer(&h->questions, &m->who, (const char *)m->data, m->len);
	struct err e;

	if (text == NULL || h->keeper.feed == NULL || changes_of(h->keeper.forest) == before ||
	    !answer_is_ok(text) || /* what was refused is in the audit, too */
	    held_answers_add(&h->held_answers, m->peer, text, clock_mono(), &e) != 0)
		give(h, m->peer, text);
	else
		server_defer(h->server, m->peer);
}

/* Each connection has one question at a time, so their number is bounded by that of the connections. */
static void
answer(struct honed *h, const struct mail *m)
{
	const struct long_asker asker = {
		.door = h, .peer = m->peer, .answered = long_answered, .waits = still_waits
	};
	const char *question = (const char *)m->data;
	struct err e;

	if (answer_length(question, m->len) == ANSWER_SHORT)
		answer_short(h, m);
	else if (long_answers_ask(&h->long_answers, &asker, &m->who, question, m->len, &e) != 0)
		give(h, m->peer, answer_failure(&e));
	else
		server_defer(h->server, m->peer);
}

static void
take_refusal(struct honed *h, const struct mail *m)
{
	const char *why = m->text != NULL ? m->text : "",
		   *others = m->times > 1 ? ", and others" : "";

	if (m->who.pid >= 0)
		limited_log(&h->peers, clock_mono(), LOG_WARN, "refused: %s (process %d%s)", why,
		    m->who.pid, others);
	else
		limited_log(&h->peers, clock_mono(), LOG_WARN, "refused: %s%s", why, others);
	questions_refused(&h->questions, &m->who, m->door == DOOR_AGENTS, m->times, why);
}

static void
take_frame(struct honed *h, const struct mail *m)
{
	struct err e = { 0 };

	if (agent_links_frame(&h->agents, m, &e) == 0)
		return;
	limited_log(&h->peers, clock_mono(), LOG_WARN, "agent %s: %s: %s",
	    agent_links_name(&h->agents, m->tag), frame_kind_name(m->frame), e.text);
	err_prefix(&e, "%s", frame_kind_name(m->frame));
	server_refuse(h->server, m->peer, e.text);
}

static void
take(struct honed *h, const struct mail *m)
{
	switch (m->kind) {
	case MAIL_JOINED:
		if (h->remote != NULL)
			server_refuse(h->server, m->peer,
			    "this honed is a decider; agents connect to a gate (kafka.role)");
		else
			agent_links_joined(&h->agents, m);
		break;
	case MAIL_LEFT:
		agent_links_left(&h->agents, m);
		break;
	case MAIL_FRAME:
		take_frame(h, m);
		break;
	case MAIL_ASKED:
		answer(h, m);
		break;
	case MAIL_NOTE:
		limited_log(
		    &h->peers, clock_mono(), LOG_WARN, "%s", m->text != NULL ? m->text : "?");
		break;
	case MAIL_REFUSED:
		take_refusal(h, m);
		break;
	}
}

static void
take_mail(struct honed *h)
{
	int64_t until_ns = clock_mono().ns + BURST_MS * MS_NS;
	struct mail m;

	for (int wait_ms = WAIT_MS; server_next(h->server, &m, wait_ms); wait_ms = 0) {
		take(h, &m);
		mail_release(&m);
		if (clock_mono().ns > until_ns)
			break;
	}
}

/* What comes by Kafka, and what is known of it for answers. */
static void
take_remote(struct honed *h)
{
	struct remote_counts c;

	if (h->remote == NULL)
		return;
	remote_agents_take(h->remote);
	remote_agents_counts(h->remote, &c);
	engine_elsewhere(h->engine, &(struct assemble_counts){ .records = c.rows.shards.records,
					.used = c.rows.shards.used,
					.given_up = c.rows.shards.given_up,
					.held = c.rows.shards.held,
					.outside = c.rows.shards.outside,
					.complete = c.rows.shards.complete,
					.late = c.rows.shards.late,
					.duplicate = c.rows.shards.duplicate,
					.lossy = c.rows.shards.lossy,
					.lost = { [LOSS_QUEUE] = c.rows.shards.lost } });
	h->log = (struct log_facts){ .term = c.term,
		.gates = c.gates,
		.agents = c.agents,
		.partitions = c.rows.partitions,
		.behind = c.rows.behind,
		.gate_records = c.records,
		.gate_bytes = c.bytes,
		.records = c.rows.shards.records,
		.used = c.rows.shards.used,
		.held = c.rows.shards.held,
		.late = c.rows.shards.late,
		.duplicate = c.rows.shards.duplicate,
		.given_up = c.rows.shards.given_up,
		.lost = c.rows.shards.lost,
		.refused = c.rows.shards.refused + c.rows.refused,
		.rows = c.rows.numbers.items,
		.taken = c.rows.taken,
		.waiting = c.rows.waiting,
		.again = c.rows.again,
		.strange = c.rows.strange,
		.full = c.rows.full,
		.lost_rows = c.rows.numbers.lost_items,
		.lost_events = c.lost_events,
		.over = c.over + c.rows.numbers.over,
		.unknown_agents = c.unknown_agents,
		.apart_ns = c.apart_ns,
		.forest_whole = c.forest_whole,
		.forest_entries = c.forest.entries,
		.forest_states = c.forest.states,
		.forest_lost = c.forest.lost,
		.digest = c.rows.digest };
}

/* A decision and its commit take time. Statuses that arrived in the meantime are processed before
 * any desired state is sent: if one reports a full queue, no further tracepoint is enabled. */
static bool
take_statuses(struct honed *h)
{
	struct engine_queues q;
	struct mail m;

	while (server_next_status(h->server, &m)) {
		take(h, &m);
		mail_release(&m);
	}
	engine_queues(h->engine, &q);
	return !q.paused;
}

/* ---- steps ---- */

static bool
feed_has(const void *feed, uint64_t put)
{
	return forest_feed_has(feed, put);
}

/* Whether Kafka, too, has what was decided. */
static bool
is_in_log(const struct honed *h)
{
	return h->keeper.feed == NULL || forest_feed_has_decisions(h->keeper.feed);
}

static void
step_held_answers(struct honed *h, bool committed)
{
	const struct forest_feed *f = h->keeper.feed;

	if (f == NULL)
		return;
	if (committed)
		held_answers_committed(&h->held_answers, forest_feed_put(f));
	held_answers_step(&h->held_answers, feed_has, f, clock_mono());
}

/* Returns free memory to the system: answers and diagnoses leave gaps between what stays, about half
 * of a small heap. */
static void
trim_heap(struct honed *h)
{
	struct mono now = clock_mono();

	if (mono_since_ns(now, h->trimmed) < TRIM_NS)
		return;
	malloc_trim(0);
	h->trimmed = now;
}

static void
step(struct honed *h)
{
	struct err e = { 0 };
	bool committed;

	take_remote(h);
	restarts_step(&h->restarts, h->engine, h->keeper.forest, clock_mono(), clock_wall());
	/* 1. the engine decides */
	engine_mailbox(
	    h->engine, (double)server_waiting_bytes(h->server) / (double)h->config->mailbox_max);
	if (engine_step(h->engine, clock_mono(), clock_wall(), &e) < 0) {
		if (strcmp(e.text, h->step_trouble.text) != 0)
			log_line(LOG_ERROR, "%s", e.text);
		h->step_trouble = e;
	}
	agent_links_log_queues(&h->agents);
	/* 2. the learned space */
	space_keeper_save(&h->space);
	space_keeper_choose(&h->space);
	healthy_keeper_step(&h->healthy);
	levels_keeper_step(&h->levels, clock_mono());
	/* 3. the doors, whose questions may change the forest too */
	doors_step(h->doors, clock_mono());
	long_answers_step(&h->long_answers, clock_mono());
	agent_links_ask_clocks(&h->agents);
	audit_flush(&h->questions.book, h->keeper.forest, clock_mono(), clock_wall());
	limited_log_flush(&h->peers, clock_mono(), "");
	agent_links_log_left_out(&h->agents);
	/* 4. the database and the log of it, and only then the agents and who has asked */
	committed = forest_keeper_commit(&h->keeper);
	agent_links_send(&h->agents, take_statuses(h) && committed && is_in_log(h));
	if (h->remote != NULL)
		remote_agents_send(h->remote);
	step_held_answers(h, committed);
	/* 5. housekeeping */
	if (committed)
		forest_keeper_prune(&h->keeper, clock_wall(), clock_mono());
	trim_heap(h);
}

/* ---- the end ---- */

static bool
wind_down(struct honed *h)
{
	int64_t until_ns = clock_mono().ns + STOP_MS * MS_NS;
	struct err e;

	h->restarts.n = 0;
	if (engine_busy(h->engine))
		forest_audit_own(h->keeper.forest, &(struct audit){ .when = clock_wall(),
						       .actor = ACTOR_CONTROLLER,
						       .action = ACTION_STOP,
						       .reason = REASON_TOLD_TO_END });
	if (engine_stop(h->engine, NULL, clock_wall(), &e) < 0 && e.code != ERR_MISSING)
		log_line(LOG_ERROR, "%s", e.text);
	engine_end_levels(h->engine);
	step(h);
	while ((!engine_quiet(h->engine) || h->held_answers.first != NULL) &&
	       clock_mono().ns < until_ns) {
		take_mail(h);
		step(h);
	}
	if (!forest_keeper_commit(&h->keeper))
		log_line(
		    LOG_ERROR, "%s: the end of the diagnoses is not stored", h->config->database);
	if (engine_quiet(h->engine))
		return true;
	agent_links_log_unconfirmed(&h->agents, h->config->lease);
	return false;
}

/* Of how many nodes it is not known whether added tracepoints are enabled. */
static uint32_t
log_unknown(const struct honed *h)
{
	const struct nodes *nodes = &engine_parts_of(h->engine)->nodes;
	struct mono now = clock_mono();
	uint32_t count = 0;

	for (uint32_t i = 0; i < nodes->n; i++) {
		int64_t left_ns;

		if (!node_is_unknown(&nodes->items[i], now, &left_ns))
			continue;
		count++;
		log_line(LOG_WARN,
		    "agent %s left before it confirmed that its added tracepoints are disabled; their "
		    "lease %s",
		    nodes->items[i].name, left_ns > 0 ? "disables them" : "has ended");
	}
	return count;
}

bool
honed_run(struct honed *h, const atomic_bool *stop)
{
	bool quiet;

	while (!atomic_load(stop)) {
		take_mail(h);
		step(h);
		systemd_watchdog(clock_mono());
		if (h->remote != NULL && remote_agents_replaced(h->remote)) {
			log_line(LOG_ERROR,
			    "another decider has taken over: this one ends; gates drop what it has sent since");
			return false;
		}
	}
	log_line(LOG_INFO, "stopping");
	systemd_notify("STOPPING=1");
	quiet = wind_down(h);
	log_line(LOG_INFO, "stopped%s%s",
	    quiet ? "; all added tracepoints are off (confirmed by all " : "",
	    !quiet               ? ""
	    : log_unknown(h) > 0 ? "connected agents)"
				 : "agents)");
	return quiet;
}
