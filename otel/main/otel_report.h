/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What hone-otel reports to the controller (STATUS), and says in its log when spans are left out. */
#ifndef OTEL_MAIN_OTEL_REPORT_H
#define OTEL_MAIN_OTEL_REPORT_H

#include "otel/main/otel_state.h"

/* Notes how full the queues are. */
void otel_report_look(struct otel *o);
/* Posts a STATUS every status.every, or at once if o->report.due; and once a minute at most, a line in the log. */
void otel_report_turn(struct otel *o, struct mono now);
/* That line, if something was left out since the last one: before the end. */
void otel_report_end(struct otel *o, struct mono now);

#endif
