/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/annotate_live.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/below_record.h"
#include "cli/progress.h"
#include "cli/session_keeper.h"
#include "cli/tracepoint_list.h"
#include "kernel/files/ctf_writer.h"

enum { SHOW_MS = 250, LTTNG_MS = 30000 };

#define EVENTS "sched,net,syscalls,faults,stacks"

struct live {
	struct invocation *call;
	struct kernel_names names;
	struct kernel_ctf_writer *to; /* NULL: no event has come yet */
	char spans[PATH_MAX], kernel[PATH_MAX], session[32];
	uint64_t taken;
	struct err failed; /* what hone-below says; code 0: nothing */
	struct session_keeper keeper;
	bool asked, has_session, programs_record;
};

/* ---- the session ---- */

static int
lttng(struct err *e, const char *const *arguments)
{
	struct buf said = { 0 };
	int rc = tracepoint_list_lttng(&said, arguments, LTTNG_MS, e);

	buf_release(&said);
	return rc;
}

#define LTTNG(...) lttng(e, (const char *const[]){ "lttng", "--no-sessiond", __VA_ARGS__, NULL })

static int
track_processes(struct live *l, struct err *e)
{
	int rc = 0;

	for (int i = 0; l->call->pids[i] != NULL && rc == 0; i++)
		rc = LTTNG(
		    "track", "--userspace", "--session", l->session, "--vpid", l->call->pids[i]);
	return rc;
}

static int
open_session(struct live *l, struct err *e)
{
	const char *more = l->call->value[FLAG_TRACEPOINT];
	char output[PATH_MAX + 16];
	int rc;

	snprintf(l->session, sizeof l->session, "hone-annotate-%d", (int)getpid());
	snprintf(output, sizeof output, "--output=%s", l->spans);
	if ((rc = session_keeper_start(&l->keeper, l->session, e)) != 0 ||
	    (rc = LTTNG("create", l->session, output)) != 0)
		return rc;
	l->has_session = true;
	if ((rc = LTTNG("enable-channel", "--userspace", "--session", l->session, "--buffers-pid",
		 "--num-subbuf=8", "--subbuf-size=256k", "spans")) != 0 ||
	    (rc = LTTNG("add-context", "--userspace", "--session", l->session, "--channel", "spans",
		 "--type", "vtid", "--type", "$app.hone:trace_id", "--type",
		 "$app.hone:unit_id")) != 0 ||
	    (rc = track_processes(l, e)) != 0 ||
	    (rc = LTTNG("enable-event", "--userspace", "--session", l->session, "--channel",
		 "spans", "hone:*", "--filter", "$app.hone:sampled == 1")) != 0)
		return rc;
	if (more != NULL &&
	    (rc = LTTNG("enable-event", "--userspace", "--session", l->session, "--channel",
		 "spans", more, "--filter", "$app.hone:sampled == 1")) != 0)
		return rc;
	return LTTNG("start", l->session);
}

/* Ends the session. What it has recorded is complete then. */
static int
close_session(struct live *l, struct err *e)
{
	int rc = 0, destroyed;
	struct err ignored;

	if (!l->has_session)
		return 0;
	l->has_session = false;
	rc = LTTNG("stop", l->session);
	e = rc == 0 ? e : &ignored;
	destroyed = LTTNG("destroy", l->session);
	return rc != 0 ? rc : destroyed;
}

/* ---- the kernel ---- */

static int
take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct live *l = of;
	struct utsname u;
	int rc = 0;

	if (l->to == NULL) {
		uname(&u);
		rc = kernel_ctf_open(&l->to, l->kernel, &l->names,
		    &(struct kernel_ctf_options){ clock_wall().ns - clock_mono().ns, u.release },
		    e);
	}
	l->taken++;
	return rc != 0 ? rc : kernel_ctf_take(l->to, ev, e);
}

static int
take_news(void *of, const struct kernel_news *n, struct err *e)
{
	struct live *l = of;

	(void)e;
	if (n->kind == KERNEL_NOTE)
		fprintf(l->call->err->out, "hone: %s\n", pen_clean(l->call->err, n->text));
	if (n->kind == KERNEL_FAILED)
		err_set(&l->failed, n->code != 0 ? n->code : ERR_SYSTEM, "%s", n->text);
	return 0;
}

static int
follow(struct live *l, struct below_record *b, struct err *e)
{
	struct mono begun = clock_mono();
	double seconds = l->call->number[FLAG_SECONDS], done;
	struct pen *p = l->call->err;
	struct progress g;
	int rc;

	progress_open(&g, p);
	do {
		done = (double)mono_since_ns(clock_mono(), begun) / 1e9;
		progress_show(&g, fmin(done / seconds, 1),
		    l->taken > 0 ? "recording requests and the kernel" : "starting the recorder",
		    pen_printf(p, "%s kernel events, %s left", pen_count(p, (double)l->taken),
			pen_seconds(p, ceil(fmax(seconds - done, 0)))));
		rc = below_record_wait(b, SHOW_MS, e);
	} while (rc == BELOW_RECORD_RUNS || rc == BELOW_RECORD_ASKED);
	progress_close(&g);
	return rc == BELOW_RECORD_ENDED ? 0 : rc;
}

static int
record_kernel(struct live *l, struct err *e)
{
	struct below_record_options o = { .reader = { &l->names, false, take, take_news, l } };
	struct below_record *b = NULL;
	const char *pids = "";
	struct err closing;
	int rc, closed;

	for (int i = 0; l->call->pids[i] != NULL; i++)
		pids = pen_printf(l->call->err, "%s%s%s", pids, i > 0 ? "," : "", l->call->pids[i]);
	o.arguments[0] = "--seconds";
	o.arguments[1] = pen_printf(l->call->err, "%.17g", l->call->number[FLAG_SECONDS]);
	o.arguments[2] = "--events";
	o.arguments[3] = l->programs_record ? EVENTS ",units" : EVENTS;
	if (l->call->value[FLAG_EVENTS] != NULL)
		o.arguments[3] = l->call->value[FLAG_EVENTS];
	o.arguments[4] = "--pid";
	o.arguments[5] = pids;
	if (l->call->value[FLAG_TEXTS] != NULL)
		o.arguments[6] = "--texts";
	if ((rc = below_record_start(&b, &o, e)) == 0)
		rc = follow(l, b, e);
	below_record_close(b);
	closed = kernel_ctf_close(l->to, &closing);
	l->to = NULL;
	if (rc == 0 && l->failed.code != 0) {
		*e = l->failed;
		return e->code;
	}
	if (rc == 0 && closed != 0) {
		*e = closing;
		return closed;
	}
	return rc;
}

int
annotate_live(
    struct invocation *c, const char *folder, bool programs_record, uint64_t *taken, struct err *e)
{
	struct live l = { .call = c, .programs_record = programs_record };
	char full[PATH_MAX];
	sigset_t both, before;
	struct err closing;
	int rc, closed;

	if ((mkdir(folder, 0700) != 0 && errno != EEXIST) || realpath(folder, full) == NULL)
		return err_errno(e, "%s", folder);
	if (snprintf(l.spans, sizeof l.spans, "%s/spans", full) >= (int)sizeof l.spans ||
	    snprintf(l.kernel, sizeof l.kernel, "%s/kernel", full) >= (int)sizeof l.kernel)
		return err_set(e, ERR_INPUT, "%s: the path is too long", folder);
	if (access(l.spans, F_OK) == 0 || access(l.kernel, F_OK) == 0)
		return err_set(e, ERR_BUSY, "%s: has a recording; give a new folder", folder);
	if ((rc = kernel_names_new(&l.names, e)) != 0)
		return rc;
	/* A signal during this would leave the session; below_record_wait() takes the one that came meanwhile. */
	sigemptyset(&both);
	sigaddset(&both, SIGINT);
	sigaddset(&both, SIGTERM);
	sigprocmask(SIG_BLOCK, &both, &before);
	if (!programs_record || (rc = open_session(&l, e)) == 0)
		rc = record_kernel(&l, e);
	closed = close_session(&l, &closing);
	if (closed == 0) /* else it tries once more, when this process has ended */
		session_keeper_end(&l.keeper);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (rc == 0 && closed != 0) {
		*e = closing;
		rc = closed;
	}
	if (rc == 0 && l.taken == 0)
		rc = err_set(e, ERR_MISSING, "no event of the kernel was recorded");
	kernel_names_release(&l.names);
	*taken = l.taken;
	return rc;
}
