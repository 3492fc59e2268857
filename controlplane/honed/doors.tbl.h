/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DOOR(name, what comes through it): see door.h. In the order in which they open. */
DOOR(metrics, "metrics for Prometheus")
DOOR(web, "the live page, by HTTP to this machine's browsers")
DOOR(alerts, "alerts, to an Alertmanager, a webhook and a command")
