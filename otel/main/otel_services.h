/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tells the controller which services send spans here (PROGRAMS). */
#ifndef OTEL_MAIN_OTEL_SERVICES_H
#define OTEL_MAIN_OTEL_SERVICES_H

#include "otel/main/otel_state.h"

/* Posts PROGRAMS when there are other services, once a second at most. */
void otel_services_turn(struct otel *o, struct mono now);

#endif
