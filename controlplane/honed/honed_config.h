/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of honed, honed.conf(5); config.tbl.h is the table of its keys. */
#ifndef CONTROLPLANE_HONED_HONED_CONFIG_H
#define CONTROLPLANE_HONED_HONED_CONFIG_H

#include <stdint.h>

#include "base/err.h"
#include "base/ini.h"
#include "base/log.h"
#include "controlplane/engine/engine.h"
#include "controlplane/server/server.h"

/* One member for each line of config.tbl.h: texts; whole numbers; times in ns; sizes in bytes; shares
 * of 1. */
#define CONFIG_TEXT char *
#define CONFIG_COUNT int64_t
#define CONFIG_TIME int64_t
#define CONFIG_BYTES int64_t
#define CONFIG_SHARE double
struct config {
#define KEY(section, name, field, type, fallback, min, max, help) CONFIG_##type field;
#include "controlplane/honed/config.tbl.h"
#undef KEY
};

extern const struct ini_key config_keys[];
extern const unsigned config_nkeys;

int config_init(struct config *c, struct err *e); /* all defaults; ERR_MEMORY */
/* Reads the file over what *c holds; see ini_read(). */
int config_read(struct config *c, const char *path, struct err *e);
int config_set(struct config *c, const char *assignment, struct err *e); /* "section.key=value" */
/* What no single key can say: ERR_INPUT if keys contradict each other, or a URL, a rule or a user
 * name is not valid. */
int config_check(const struct config *c, struct err *e);
void config_release(struct config *c);

/* What this honed does; by kafka.brokers and kafka.role, which config_check() has checked. */
enum honed_role { ROLE_ALONE, ROLE_GATE, ROLE_SHARD, ROLE_DECIDER };
enum honed_role config_role(const struct config *c);

enum log_level config_log_level(const struct config *c);
/* Texts in these are borrowed from the configuration. */
struct engine_options config_engine(const struct config *c);
struct server_options config_server(const struct config *c); /* without roles */
/* ERR_INPUT: a user or group that does not exist. */
int config_roles(const struct config *c, struct roles **ret, struct err *e);

#endif
