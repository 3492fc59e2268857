/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What hone and honed have to agree on beside the frames: docs/questions.md. */
#ifndef WIRE_QUESTION_H
#define WIRE_QUESTION_H

/* "version" of every answer. It grows when a field changes its meaning, its type or its name, or
 * goes; a new field leaves it as it is. 2: verdicts and reasons as fields, no sentences. 3: counts of
 * incomplete traces have their reasons, and are not among the lossy ones; the phase of a run, congestion,
 * limits, troubles of nodes and the audit as fields. */
enum { ANSWER_VERSION = 3 };

#endif
