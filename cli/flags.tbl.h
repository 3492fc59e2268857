/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FLAG(name, as it is written, its value or NULL, help): in the order of --help */
FLAG(SOCKET, "--socket", "URL", "socket of honed (default: HONE_SOCKET, then " CLIENT_SOCKET ")")
FLAG(TIMEOUT, "--timeout", "SECONDS", "how long to wait for an answer (10; report: 330)")
FLAG(JSON, "--json", NULL, "print the answer as JSON")
FLAG(HELP, "--help", NULL, "print this text")
FLAG(WAIT, "--wait", NULL, "show the progress, and return when it has ended")
FLAG(STRATEGY, "--strategy", "NAME", "how to choose tracepoints, see below")
FLAG(K, "--k", "N", "tracepoints to enable in a cycle, 1 to 16 (search.k of honed)")
FLAG(SEED, "--seed", "N", "random seed, 1 or more")
FLAG(SECONDS, "--seconds", "N",
    "duration of learning or a recording, 1 to 86400, or of a check, 1 to 120 (10), or of a capture (60)")
FLAG(FORMAT, "--format", "NAME", "format of the files (detected by content); of annotate: of the output, otlp, jaeger or zipkin; of export: otlp (default), zipkin, jaeger, chrome, folded or pprof")
FLAG(CORRELATE, "--correlate", "HOW",
    "thread=BEGIN..END: a request is what a thread does between these two events")
FLAG(THREAD, "--thread", "ID",
    "of a kernel recording: what the thread with this id or name did, and what its waits were for")
FLAG(TYPE, "--type", "PATTERN", "only request types whose name matches")
FLAG(IGNORE, "--ignore", "PATTERN", "labels of excluded waits; may be repeated")
FLAG(BIN, "--bin", "RULE", "LABEL.FIELD=CUT,...: separate groups by this field; may be repeated")
FLAG(BASELINE, "--baseline", "NAME", "compare with this baseline; a name or a file")
FLAG(STATES, "--states", NULL, "of kernel recordings: keep what each operation usually waits for")
FLAG(SUPPORT, "--support", "SHARE",
    "with --states: share of the operations that have a pattern, 50% to 100% (95%)")
FLAG(CONFIDENCE, "--confidence", "SHARE", "confidence of all intervals, 50% to 99.99% (95%)")
FLAG(CV, "--cv", "SHARE", "CV threshold for \"unpredictable\": standard deviation / mean (10%)")
FLAG(MIN_TRACES, "--min-traces", "N", "fewest traces with which a group is judged (30)")
FLAG(SAMPLES, "--samples", NULL, "add single requests to the document")
FLAG(MEMORY, "--memory", "MIB", "memory limit for groups and spans, 16 to 1048576 (128; for states of threads of recordings 1024)")
FLAG(HTML, "--html", "FILE", "also write a page with diagrams to this file")
FLAG(RESET, "--reset", NULL, "then begin a new window of traffic")
FLAG(EFFORT, "--effort", "CYCLES",
    "stop after this number of cycles, 1 to 10000 (search.effort of honed)")
FLAG(EFFECT, "--effect", "SHARE",
    "least effect worth mending: a share of the variance of the type, 0.1% to 100% (search.effect_min of honed)")
FLAG(CAUSES, "--causes", "N",
    "search what a verdict leaves of the problem until so many causes are named, 1 to 32 (search.causes_max of honed)")
FLAG(TAIL, "--tail", "QUANTILE",
    "search what requests beyond this quantile spend more time on, p90 to p99.99")
FLAG(BELOW, "--below", NULL,
    "go on below the tracepoints: states, places in the code, holders (search.below of honed)")
FLAG(NO_BELOW, "--no-below", NULL, "do not go on below the tracepoints")
FLAG(HEALTHY, "--healthy", NULL,
    "search nothing: the type is healthy now, and later diagnoses are compared with it")
FLAG(NO_BASELINE, "--no-baseline", NULL, "do not compare with what --healthy kept")
FLAG(RUN, "--run", "N", "number of the diagnosis; hone history lists them; of capture: of the capture")
FLAG(DOT, "--dot", "FILE", "also write a graph for Graphviz; - is standard output")
FLAG(SALVAGE, "--salvage", NULL, "recover the readable rows of a damaged database")
FLAG(TRACEPOINT, "--tracepoint", "NAME", "provider:event; of annotate --pid: patterns of them, with commas between")
FLAG(LIMIT, "--limit", "N", "greatest number of rows, 1 to 100000 (50)")
FLAG(VERSION, "--version", "NAME", "version of the application")
FLAG(SPACE, "--space", "FILE", "file of the learned space (that of honed)")
FLAG(SINCE, "--since", "TIME", "90s, 10min, 2h or 3d ago; or 2026-11-21, 2026-11-21T14:30")
FLAG(DIR, "--dir", "DIR", "folder of certificates and private keys (/etc/hone/keys)")
FLAG(HOST, "--host", "NAME",
    "of keys: the only name or address by which agents accept the controller; of annotate: the spans of this node are of the recorded host; may be repeated")
FLAG(DAYS, "--days", "N", "validity of the certificate, 1 to 36500 (365)")
FLAG(AGAIN, "--again", NULL, "replace the existing certificate")
FLAG(MAP, "--map", "FILE",
    "mapping: the tracepoints that begin and end requests of a program without libhone; of recordings: MiSeRTrace's meta file")
FLAG(EVENTS, "--events", "WHAT",
    "of map: a file, saved output of lttng list --userspace --fields, instead of running lttng; of a recording: groups of events, with commas between (lean)")
FLAG(PID, "--pid", "N,...", "only these processes and their children; may be repeated")
FLAG(TEXTS, "--texts", NULL, "also how messages begin, where that is text: user data")
FLAG(RING, "--ring", "KIB", "size of the buffer of each processor, a power of two (64 MiB of all)")
FLAG(SPANS, "--spans", "FILE", "trace file or folder whose spans are annotated; may be repeated")
FLAG(OVER, "--over", "MS", "only spans of at least this duration (0); of capture: requests that took longer, or over a quantile, as p99.9")
FLAG(CALL_OVER, "--call-over", "US",
    "list system calls of at least this duration; shorter ones are summed (0)")
FLAG(CALLS, "--calls", "NAMES", "only these system calls, with commas between: fsync,futex")
FLAG(OUTPUT, "--output", "FILE", "write to this file; - is standard output")
FLAG(NO_PROGRAM, "--no-program", NULL, "check the file only, not a program")
FLAG(GATEWAY, "--gateway", "ADDR,...",
    "of kernel recordings: who begins requests: addresses, networks, pid:N, cgroup:PATH (all that are not recorded)")
FLAG(RULE, "--rule", "NAME",
    "of kernel recordings: what a thread sends belongs to its current request, or to all that it has open: current, all (current)")
FLAG(COUNT, "--count", "PATTERN,...", "of capture: end after N requests, 1 to 100 (1); of kernel recordings: events that are counted, into the request or span that caused them (annotate: *page_fault*)")
FLAG(SLOWEST, "--slowest", "N", "the N slowest requests")
FLAG(ALL, "--all", NULL, "all requests")
FLAG(TO, "--to", "URL", "send the spans to this back end; its usual path is added where there is none")
FLAG(DRY_RUN, "--dry-run", NULL, "say what it would cost, and change nothing")
FLAG(FORCE, "--force", NULL, "also over the budget, and where the cost is not known")
FLAG(WRITE, "--write", "FOLDER", "also write a recording of Hone to this new folder")
