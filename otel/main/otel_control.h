/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the controller wants: rates of sampling, and spans that are to be on. */
#ifndef OTEL_MAIN_OTEL_CONTROL_H
#define OTEL_MAIN_OTEL_CONTROL_H

#include "otel/main/otel_state.h"

/* Takes the state of the connection, and a want that has come. Requests are sampled while the controller was heard at most
 * controller.sampling_without ago, and has sent a want. */
void otel_control_turn(struct otel *o, struct mono now);

/* Spans that the controller wants: sheds them when memory is full; tells the source in which share of traces they are on; posts DONE
 * when every gate has said that the newest want is in effect, and again when gates or their spans are others.
 * O(gates). */
void otel_control_points(struct otel *o, struct mono now);

#endif
