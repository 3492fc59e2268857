/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LEVER(name, word): by what the tracepoints of a program are switched. On the wire a lever is its position here. */
LEVER(TRACER,   "tracer")   /* LTTng, or hone-below: a program with tracepoints */
LEVER(NONE,     "none")     /* spans of OpenTelemetry that nothing here switches */
LEVER(SAMPLING, "sampling") /* the program asks which share of its requests to sample (Jaeger's remote sampling) */
LEVER(OPAMP,    "opamp")    /* instrumentations, by an agent of OpAMP in the program */
LEVER(GATE,     "gate")     /* single spans, by npm/hone-otel-gate */
