/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/honed.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/systemd.h"
#include "base/stream.h"
#include "base/tls.h"
#include "controlplane/answers/answer.h"
#include "controlplane/engine/engine.h"
#include "controlplane/honed/want_sender.h"
#include "forest/forest.h"

enum {
	WAIT_MS = 20,  /* for mail, at most */
	BURST_MS = 50, /* of mail between two looks at the engine, at most */
	STOP_MS = 5000,
	ASK_FEW = 8, /* clocks are asked for so often in quick succession, then in rest: */
	ASK_QUICK_MS = 50,
	ASK_MS = 500,
	PRUNE_S = 60,     /* between two looks whether old diagnoses are to go */
	GIVE_BACK_S = 60, /* memory that is free */
	CHOOSE_S = 2,     /* programs that are the same for so long are all there */
	SAYS_AT_ONCE = 50,
	LINE_BYTES = 640,
};
#define SAYS_PER_S 0.2
#define SECOND_NS INT64_C(1000000000)
#define DAY_NS (86400 * SECOND_NS)

struct node {              /* an agent that was here; its place in honed.nodes is its tag */
	struct peer *peer; /* NULL: not connected */
	char name[NODE_NAME_MAX + 1];
	uint32_t number;   /* the engine's */
	struct sent sent;  /* what it was told last */
	struct mono asked; /* for its clock, last; and how often on this connection */
	uint32_t nasked;
	bool shed; /* it said last that it switched off what was added, by itself */
};

struct honed {
	const struct config *config;
	struct forest *forest;
	struct store *store;
	struct engine *engine;
	struct roles *roles;
	struct audit_book book;
	struct refusals refusals; /* of agents */
	struct bucket says; /* lines that others make us write; and how many were left out since one
	                       said so */
	uint64_t unsaid;
	struct server *server;
	struct tls *tls; /* NULL where agents come by a local socket */
	struct node *nodes;
	uint32_t nnodes;
	struct arena scratch;        /* of one message */
	struct mono started, tried;  /* tried: the last commit that failed */
	char trouble[400];           /* "" or why the last commit failed */
	struct engine_queues queues; /* as it was said last; its texts are not kept */
	struct err step,
	    prune;          /* the engine's last trouble, so that it is said once; and pruning's */
	struct mono pruned; /* when nothing more was to go, last */
	struct mono gave_back;
	uint64_t fingerprint; /* of the programs that run, and since when; and that the space was
	                         chosen for */
	struct mono fingerprinted;
	uint64_t chosen;
};

/* ---- opening ---- */

/* The folder of a file or a local socket. False: there is none to make. ERR_INPUT: too long. */
static int
folder_of(const char *path, char out[4096], struct err *e)
{
	char *slash;

	out[0] = '\0';
	if (strncmp(path, "ipc://", 6) == 0)
		path += 6;
	else if (strstr(path, "://") != NULL)
		return 0;
	if (snprintf(out, 4096, "%s", path) >= 4096)
		return err_set(e, ERR_INPUT, "%.80s...: a path of over 4095 bytes", path);
	if ((slash = strrchr(out, '/')) == NULL)
		strcpy(out, ".");
	else
		slash[slash == out] = '\0';
	return 0;
}

/* The last one, when it is missing: /run is empty after every start of the machine. */
static int
make_folder(const struct privilege *who, const char *path, struct err *e)
{
	char folder[4096];
	struct stat st;
	int rc;

	if ((rc = folder_of(path, folder, e)) != 0 || folder[0] == '\0' || stat(folder, &st) == 0)
		return rc;
	if ((rc = privilege_folder(who, folder, 0755, e)) != 0)
		return err_prefix(e, "make this folder, or say another place in honed.conf");
	return 0;
}

int
honed_folders(const struct config *c, const struct privilege *who, struct err *e)
{
	const char *const paths[] = { c->agents, c->operators, c->database, c->space };
	int rc = 0;

	for (size_t i = 0; i < sizeof paths / sizeof paths[0] && rc == 0; i++)
		rc = make_folder(who, paths[i], e);
	return rc;
}

/* As whom we have become: a database that cannot be written is better told here than by SQLite. */
static int
check_folders(const struct config *c, struct err *e)
{
	const char *const paths[] = { c->agents, c->operators, c->database, c->space };
	char folder[4096];
	int rc;

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		if ((rc = folder_of(paths[i], folder, e)) != 0)
			return rc;
		if (folder[0] != '\0' && access(folder, W_OK | X_OK) != 0)
			return err_errno(e,
			    "%s: honed runs as user %ld and must be able to write there: give it to that user "
			    "(chown), or say another controller.user or another place in honed.conf",
			    folder, (long)geteuid());
		if (folder[0] != '\0' && access(paths[i], F_OK) == 0 && access(paths[i], W_OK) != 0)
			return err_errno(e,
			    "%s: honed runs as user %ld and must be able to write it: give it to that user "
			    "(chown)",
			    paths[i], (long)geteuid());
	}
	return 0;
}

static void
end_hypotheses(struct forest *f, uint64_t run, struct wall now)
{
	struct hypothesis *hy;
	uint64_t at = 0;

	while ((hy = forest_next(f, run, &at)) != NULL) {
		if (hypothesis_settled(hy->state))
			continue;
		hypothesis_enter(hy, HYPOTHESIS_WITHDRAWN, now);
		hy->reason = REASON_STOPPED;
		forest_touch(f, hy);
	}
}

/* What was active when a controller died is not active now: the leases have switched its
 * tracepoints off. */
static int
end_orphans(struct honed *h, struct err *e)
{
	struct wall now = clock_wall();
	struct run *r;
	uint64_t at = 0;

	while ((r = forest_run_next(h->forest, &at)) != NULL) {
		if (r->state != RUN_ACTIVE)
			continue;
		r->state = RUN_STOPPED;
		r->ended = now;
		r->reason = REASON_CONTROLLER_ENDED;
		forest_touch_run(h->forest, r);
		end_hypotheses(h->forest, r->id, now);
		forest_audit_own(h->forest, "the lease", "off: all that it had added", r->id,
		    REASON_CONTROLLER_ENDED, NULL, now);
		log_line(LOG_WARN,
		    "diagnosis %" PRIu64
		    " of %s was active when the controller ended: now it is stopped",
		    r->id, r->type);
	}
	return store_commit(h->store, h->forest, e);
}

static int
open_forest(struct honed *h, struct err *e)
{
	int rc;

	if ((h->forest = forest_new()) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = store_open(&h->store, h->config->database, e)) < 0 ||
	    (rc = store_load(h->store, h->forest, (unsigned)h->config->history_days, e)) < 0)
		return rc;
	return end_orphans(h, e);
}

static int
open_space(struct honed *h, struct err *e)
{
	struct space *space = engine_space(h->engine);
	struct space_stats st;
	int rc = space_load(space, engine_labels(h->engine), h->config->space, NULL, e);

	if (rc == ERR_MISSING) {
		log_line(LOG_INFO,
		    "%s: nothing learned yet; put load on the application and say hone learn",
		    h->config->space);
		return 0;
	}
	if (rc < 0)
		return err_prefix(e, "what was learned (move the file away to begin anew)");
	if (space_stats(space, LABEL_NONE, &st))
		log_line(LOG_INFO,
		    "%s: learned from %" PRIu64 " traces: %" PRIu32 " places, %" PRIu32
		    " tracepoints to turn "
		    "on",
		    h->config->space, st.traces, st.places, st.labels);
	return 0;
}

/* The doors for agents and operators; that for agents of other machines with our keys. */
static int
open_doors(struct honed *h, struct err *e)
{
	const struct config *c = h->config;
	const struct tls_files keys = { c->ca, c->certificate, c->key, c->revoked };
	struct server_options so = config_server(c);
	int rc;

	if (url_is_tls(c->agents) && (rc = tls_open(&h->tls, &keys, e)) < 0)
		return err_prefix(e, "[tls] in honed.conf");
	so.tls = h->tls;
	so.roles = h->roles;
	return server_open(&h->server, &so, e);
}

int
honed_open(struct honed **ret, const struct config *c, struct err *e)
{
	struct engine_options eo = config_engine(c);
	struct honed *h = calloc(1, sizeof *h);
	int rc;

	if (h == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	h->config = c;
	h->started = clock_mono();
	bucket_init(&h->says, SAYS_PER_S, SAYS_AT_ONCE, h->started);
	if ((rc = check_folders(c, e)) < 0 || (rc = open_forest(h, e)) < 0 ||
	    (rc = engine_new(&h->engine, &eo, h->forest, e)) < 0 || (rc = open_space(h, e)) < 0 ||
	    (rc = config_roles(c, &h->roles, e)) < 0 || (rc = open_doors(h, e)) < 0) {
		honed_close(h);
		return rc;
	}
	log_line(LOG_INFO, "honed %s: agents at %s, operators at %s, database %s", HONE_VERSION,
	    server_url(h->server, DOOR_AGENTS), server_url(h->server, DOOR_OPERATORS), c->database);
	*ret = h;
	return 0;
}

void
honed_close(struct honed *h)
{
	if (h == NULL)
		return;
	server_close(h->server);
	tls_close(h->tls);
	roles_free(h->roles);
	if (h->engine != NULL)
		engine_free(h->engine);
	store_close(h->store);
	if (h->forest != NULL)
		forest_free(h->forest);
	for (uint32_t i = 0; i < h->nnodes; i++)
		sent_release(&h->nodes[i].sent);
	free(h->nodes);
	arena_release(&h->scratch);
	free(h);
}

/* ---- what came in ---- */

static int
node_for(struct honed *h, const char *name, uint32_t *tag, struct err *e)
{
	struct node *more;
	uint32_t i = 0;

	while (i < h->nnodes && strcmp(h->nodes[i].name, name) != 0)
		i++;
	if (i == h->nnodes) {
		if ((more = realloc(h->nodes, (i + 1) * sizeof *more)) == NULL)
			return err_set(e, ERR_MEMORY, "the controller is out of memory");
		h->nodes = more;
		h->nodes[i] = (struct node){ 0 };
		snprintf(h->nodes[i].name, sizeof h->nodes[i].name, "%s", name);
		h->nnodes++;
	}
	*tag = i;
	return 0;
}

static void
joined(struct honed *h, const struct mail *m)
{
	struct node *n;
	struct err e;
	uint32_t tag = 0;

	if (node_for(h, m->hello->node, &tag, &e) < 0 ||
	    engine_join(h->engine, m->hello->node, m->hello->version, clock_mono(),
		&h->nodes[tag].number, &e) < 0) {
		log_line(LOG_WARN, "agent %s: refused: %s", m->hello->node, e.text);
		server_refuse(h->server, m->peer, e.text);
		return;
	}
	n = &h->nodes[tag];
	n->peer = m->peer;
	n->sent.at = n->asked = (struct mono){ 0 };
	n->nasked = 0;
	n->shed = false;
	engine_clock(h->engine, n->number, NULL, m->hello->clock_ns, m->at);
	log_line(LOG_INFO, "agent %s (hone-agent %s) is here", n->name, m->hello->version);
	server_welcome(h->server, m->peer, tag);
}

static void
left(struct honed *h, const struct mail *m)
{
	struct node *n = &h->nodes[m->tag];
	const struct want *w = engine_want(h->engine, n->number);
	char did[120];

	if (w != NULL && w->ntoggles > 0) {
		snprintf(did, sizeof did, "off: %u added on agent %s", w->ntoggles, n->name);
		forest_audit_own(
		    h->forest, "the lease", did, 0, REASON_AGENT_GONE, NULL, clock_wall());
	}
	engine_leave(h->engine, n->number, clock_mono());
	n->peer = NULL;
	log_line(LOG_WARN, "agent %s is gone: %s", n->name,
	    m->text != NULL && m->text[0] != '\0' ? m->text : "hung up");
}

/* A line that somebody else makes us write: whoever sends nonsense a thousand times a second fills
 * no disk. */
static void __attribute__((format(printf, 2, 3))) say(struct honed *h, const char *fmt, ...)
{
	char words[LINE_BYTES];
	va_list ap;

	if (bucket_wait_ns(&h->says, clock_mono()) > 0) {
		h->unsaid++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(words, sizeof words, fmt, ap);
	va_end(ap);
	log_line(LOG_WARN, "%s", words);
}

static void
say_how_many_more(struct honed *h)
{
	if (h->unsaid == 0 || bucket_wait_ns(&h->says, clock_mono()) > 0)
		return;
	log_line(LOG_WARN, "and %" PRIu64 " more of such lines, which were left out", h->unsaid);
	h->unsaid = 0;
}

/* Why nothing more goes on, when that begins; and who let go by itself, each time. */
static void
say_queues(struct honed *h)
{
	struct engine_queues q;

	engine_queues(h->engine, &q);
	if (q.sheds > h->queues.sheds)
		log_line(LOG_WARN, "%s", q.shed_why);
	if (q.pauses > h->queues.pauses)
		log_line(LOG_WARN, "paused: %s", q.why);
	if (h->queues.paused && !q.paused)
		log_line(LOG_INFO, "goes on after a pause of %.1f s",
		    (double)mono_since_ns(clock_mono(), h->queues.since) / 1e9);
	h->queues = q;
}

static int
took_records(struct honed *h, const struct mail *m, struct err *e)
{
	int rc = engine_batch(h->engine, h->nodes[m->tag].number, m->data, m->len, clock_mono(), e);

	if (rc == 0)
		server_took(h->server, m->peer, m->seq);
	return rc;
}

/* It says so with each status, until it may switch on again. */
static void
note_shed(struct honed *h, struct node *n, const struct status *s)
{
	char by[NODE_NAME_MAX + 8], words[80];

	if (s->shed && !n->shed) {
		snprintf(by, sizeof by, "agent %s", n->name);
		snprintf(
		    words, sizeof words, "its queue \"%s\" is nearly full", queue_name(s->shed_by));
		forest_audit_own(h->forest, by, "off: all that was added there", 0,
		    REASON_CONGESTION, words, clock_wall());
	}
	n->shed = s->shed;
}

static int
took_frame(struct honed *h, const struct mail *m, struct err *e)
{
	struct arena *a = &h->scratch;
	uint32_t node = h->nodes[m->tag].number;
	struct programs programs;
	struct clock_echo clock;
	struct status status;
	struct done done;
	int rc;

	switch (m->frame) {
	case FRAME_RECORDS:
		return took_records(h, m, e);
	case FRAME_CLOCK:
		if ((rc = clock_decode(&clock, m->data, m->len, e)) == 0 &&
		    engine_clock(h->engine, node, &clock, 0, m->at))
			log_line(LOG_INFO,
			    "agent %s: its clock is not what it was; traces on their way are no evidence",
			    h->nodes[m->tag].name);
		return rc;
	case FRAME_STATUS:
		if ((rc = status_decode(&status, a, m->data, m->len, e)) == 0) {
			engine_status(h->engine, node, &status, m->at);
			note_shed(h, &h->nodes[m->tag], &status);
			say_queues(h);
		}
		return rc;
	case FRAME_PROGRAMS:
		rc = programs_decode(&programs, a, m->data, m->len, e);
		return rc < 0 ? rc : engine_programs(h->engine, node, &programs, e);
	default:
		if ((rc = done_decode(&done, a, m->data, m->len, e)) == 0)
			engine_done(h->engine, node, &done, clock_mono());
		return rc;
	}
}

static void
asked(struct honed *h, const struct mail *m)
{
	struct answer_context c = {
		.now = clock_mono(),
		.started = h->started,
		.when = clock_wall(),
		.database = h->config->database,
		.space_path = h->config->space,
		.store_trouble = h->trouble,
		.who = m->who,
		.roles = h->roles,
		.book = &h->book,
		.refusals = &h->refusals,
	};
	char *text = answer_ask(h->engine, h->forest, &c, (const char *)m->data, m->len);

	if (text == NULL)
		server_refuse(h->server, m->peer, "the controller is out of memory");
	else
		server_answer(h->server, m->peer, text, strlen(text));
	free(text);
}

static void
refused(struct honed *h, const struct mail *m)
{
	const char *words = m->text != NULL ? m->text : "",
		   *others = m->times > 1 ? ", and others" : "";

	if (m->who.pid >= 0)
		say(h, "refused: %s (process %d%s)", words, m->who.pid, others);
	else
		say(h, "refused: %s%s", words, others);
	if (m->door == DOOR_AGENTS)
		refusals_add(&h->refusals, words, m->times, clock_wall());
	audit_asked(&h->book, h->forest, &m->who,
	    m->door == DOOR_AGENTS ? "connect as an agent" : "connect", AUDIT_REFUSED, 0, m->times,
	    words, clock_mono(), clock_wall(), NULL);
}

static void
take(struct honed *h, const struct mail *m)
{
	struct err e = { 0 };

	switch (m->kind) {
	case MAIL_JOINED:
		joined(h, m);
		break;
	case MAIL_LEFT:
		left(h, m);
		break;
	case MAIL_ASKED:
		asked(h, m);
		break;
	case MAIL_NOTE:
		say(h, "%s", m->text != NULL ? m->text : "?");
		break;
	case MAIL_REFUSED:
		refused(h, m);
		break;
	case MAIL_FRAME:
		if (took_frame(h, m, &e) == 0)
			break;
		say(h, "agent %s: %s: %s", h->nodes[m->tag].name, frame_kind_name(m->frame),
		    e.text);
		err_prefix(&e, "%s", frame_kind_name(m->frame));
		server_refuse(h->server, m->peer, e.text);
		break;
	}
	arena_reset(&h->scratch);
}

static void
take_mail(struct honed *h)
{
	int64_t until_ns = clock_mono().ns + BURST_MS * INT64_C(1000000);
	struct mail m;

	for (int wait_ms = WAIT_MS; server_next(h->server, &m, wait_ms); wait_ms = 0) {
		take(h, &m);
		mail_release(&m);
		if (clock_mono().ns > until_ns)
			break;
	}
}

/*
 * A decision and its commit take their time. What agents said of their queues meanwhile
 * counts before anything goes out: from the moment it came nothing more is turned on.
 */
static bool
room_for_more(struct honed *h)
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

/* ---- what goes out ---- */

static bool
changed(struct forest *f)
{
	const struct forest_changes *c = forest_changes(f);

	return c->nruns + c->nhypotheses + c->nverdicts + c->nswitched + c->nevidence + c->naudit >
	       0;
}

/* True when all that the engine decided is safe in the database. */
static bool
committed(struct honed *h)
{
	struct mono now = clock_mono();
	struct err e;

	if (!changed(h->forest) && h->trouble[0] == '\0')
		return true;
	if (h->trouble[0] != '\0' && mono_since_ns(now, h->tried) < SECOND_NS)
		return false;
	if (store_commit(h->store, h->forest, &e) == 0) {
		if (h->trouble[0] != '\0')
			log_line(LOG_INFO, "%s: can be written again", h->config->database);
		h->trouble[0] = '\0';
		return true;
	}
	if (strcmp(h->trouble, e.text) != 0)
		log_line(
		    LOG_ERROR, "%s; nothing more is turned on until it can be written", e.text);
	snprintf(h->trouble, sizeof h->trouble, "%s", e.text);
	h->tried = now;
	return false;
}

static void
send_wants(struct honed *h, bool safe)
{
	struct mono now = clock_mono();

	for (uint32_t i = 0; i < h->nnodes; i++) {
		struct node *n = &h->nodes[i];

		if (n->peer == NULL)
			continue;
		const struct want *w = engine_want(h->engine, n->number);

		if (w != NULL && sent_due(&n->sent, w, safe, now, &h->scratch))
			server_want(h->server, n->peer, &n->sent.payload);
		arena_reset(&h->scratch);
	}
}

static void
ask_clocks(struct honed *h)
{
	struct mono now = clock_mono();

	for (uint32_t i = 0; i < h->nnodes; i++) {
		struct node *n = &h->nodes[i];
		int64_t every_ms = n->nasked < ASK_FEW ? ASK_QUICK_MS : ASK_MS;

		if (n->peer == NULL || mono_since_ns(now, n->asked) < every_ms * 1000000)
			continue;
		n->asked = now;
		n->nasked++;
		server_clock(h->server, n->peer);
	}
}

static void
save_space(struct honed *h)
{
	struct err e;

	if (!engine_learned(h->engine))
		return;
	if (space_save(engine_space(h->engine), h->config->space, &e) < 0)
		log_line(LOG_ERROR, "%s; what was learned holds until honed ends", e.text);
	else
		log_line(LOG_INFO, "%s: learned", h->config->space);
}

/* The newest version of the file that was learned of these programs; 0: there is none, or a
 * negative code. */
static int
version_for(const struct honed *h, uint64_t fingerprint, struct space_version *ret, struct err *e)
{
	struct space_version *all = NULL;
	uint32_t n = 0;
	int rc = space_versions(&all, &n, h->config->space, e), found = 0;

	for (uint32_t i = 0; rc == 0 && i < n && !found; i++)
		if (all[i].fingerprint == fingerprint) {
			*ret = all[i];
			found = 1;
		}
	free(all);
	return rc == ERR_MISSING ? 0 : rc < 0 ? rc : found;
}

static int
use_version(struct honed *h, const struct space_version *v, struct err *e)
{
	struct space *space = space_new(engine_labels(h->engine));
	int rc = space == NULL
	             ? err_set(e, ERR_MEMORY, "out of memory")
	             : space_load(space, engine_labels(h->engine), h->config->space, v->name, e);

	if (rc < 0) {
		space_free(space);
		return rc;
	}
	engine_space_use(h->engine, space);
	log_line(LOG_INFO, "%s: the programs that run are those of version %s; it is used",
	    h->config->space, v->name[0] != '\0' ? v->name : "(no name)");
	return 0;
}

/*
 * Once for each set of programs, when it has stood for a while: after a start, a roll-out
 * or a roll-back the space is the one that was learned of what runs. What an operator
 * chooses after that stays until the programs change.
 */
static void
choose_space(struct honed *h)
{
	uint64_t now_runs = engine_fingerprint(h->engine);
	struct space_version v;
	struct err e = { 0 };
	int rc;

	if (now_runs != h->fingerprint) {
		h->fingerprint = now_runs;
		h->fingerprinted = clock_mono();
	}
	if (now_runs == h->chosen ||
	    mono_since_ns(clock_mono(), h->fingerprinted) < CHOOSE_S * SECOND_NS ||
	    engine_busy(h->engine))
		return;
	h->chosen = now_runs;
	if (!engine_stale(h->engine))
		return;
	if ((rc = version_for(h, now_runs, &v, &e)) > 0)
		rc = use_version(h, &v, &e);
	if (rc < 0)
		log_line(LOG_ERROR, "%s; the space stays as it is", e.text);
	else if (engine_stale(h->engine))
		log_line(LOG_WARN,
		    "%s: what was learned is of other programs than those that run; say hone learn",
		    h->config->space);
}

/* A few old diagnoses at a time: between two of these calls the engine has its turn. */
static void
prune(struct honed *h)
{
	const struct config *c = h->config;
	struct wall before = { c->history_days > 0 ? clock_wall().ns - c->history_days * DAY_NS
						   : 0 };
	struct mono now = clock_mono();
	struct err e = { 0 };
	int gone;

	if (h->pruned.ns != 0 && mono_since_ns(now, h->pruned) < PRUNE_S * SECOND_NS)
		return;
	gone = store_prune(h->store, h->forest, before, c->size_max, &e);
	if (gone > 0)
		log_line(LOG_INFO, "%s: %d old diagnos%s deleted", c->database, gone,
		    gone == 1 ? "is" : "es");
	if (gone < 0 && strcmp(h->prune.text, e.text) != 0)
		log_line(LOG_WARN, "%s; old diagnoses stay", e.text);
	h->prune = e;
	if (gone <= 0)
		h->pruned = now;
}

/* What answers and diagnoses took and freed lies between what stays, where the allocator keeps it:
 * half of a small heap. */
static void
give_back(struct honed *h)
{
	struct mono now = clock_mono();

	if (mono_since_ns(now, h->gave_back) < GIVE_BACK_S * SECOND_NS)
		return;
	malloc_trim(0);
	h->gave_back = now;
}

static void
step(struct honed *h)
{
	struct err e = { 0 };
	bool safe;

	engine_mailbox(
	    h->engine, (double)server_waiting_bytes(h->server) / (double)h->config->mailbox_max);
	if (engine_step(h->engine, clock_mono(), clock_wall(), &e) < 0) {
		if (strcmp(e.text, h->step.text) != 0)
			log_line(LOG_ERROR, "%s", e.text);
		h->step = e;
	}
	say_queues(h);
	save_space(h);
	choose_space(h);
	ask_clocks(h);
	audit_flush(&h->book, h->forest, clock_mono(), clock_wall());
	say_how_many_more(h);
	safe = committed(h);
	send_wants(h, room_for_more(h) && safe);
	if (safe)
		prune(h);
	give_back(h);
}

static void
say_what_is_on(struct honed *h)
{
	for (uint32_t i = 0; i < h->nnodes; i++)
		if (h->nodes[i].peer != NULL)
			log_line(LOG_WARN,
			    "agent %s has not said that its added tracepoints are off; they go off with their "
			    "lease of %.3g s",
			    h->nodes[i].name, (double)h->config->lease / 1e9);
}

static bool
wind_down(struct honed *h)
{
	int64_t until_ns = clock_mono().ns + STOP_MS * INT64_C(1000000);
	struct err e;

	if (engine_busy(h->engine))
		forest_audit_own(
		    h->forest, "the controller", "stop", 0, REASON_TOLD_TO_END, NULL, clock_wall());
	if (engine_stop(h->engine, NULL, clock_wall(), &e) < 0 && e.code != ERR_MISSING)
		log_line(LOG_ERROR, "%s", e.text);
	step(h);
	while (!engine_quiet(h->engine) && clock_mono().ns < until_ns) {
		take_mail(h);
		step(h);
	}
	if (!committed(h))
		log_line(
		    LOG_ERROR, "%s: the end of the diagnoses is not stored", h->config->database);
	if (engine_quiet(h->engine))
		return true;
	say_what_is_on(h);
	return false;
}

bool
honed_run(struct honed *h, const atomic_bool *stop)
{
	bool quiet;

	while (!atomic_load(stop)) {
		take_mail(h);
		step(h);
		systemd_watchdog(clock_mono());
	}
	log_line(LOG_INFO, "stopping");
	systemd_notify("STOPPING=1");
	quiet = wind_down(h);
	log_line(LOG_INFO, quiet ? "nothing that Hone added is on" : "stopped");
	return quiet;
}
