/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the controller wants: rates of sampling. */
#ifndef OTEL_MAIN_OTEL_CONTROL_H
#define OTEL_MAIN_OTEL_CONTROL_H

#include "otel/main/otel_state.h"

/* Takes the state of the connection, and a want that has come. Requests are sampled while the controller was heard at most
 * controller.sampling_without ago, and has sent a want. */
void otel_control_turn(struct otel *o, struct mono now);

/* Posts DONE for the newest epoch: none of the wanted tracepoints exists here. */
void otel_post_done(struct otel *o);

#endif
