/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/flag.h"

#include "cli/client.h"

const struct flag_text flag_texts[FLAGS] = {
#define FLAG(name, written, value, help) [FLAG_##name] = { written, value, help },
#include "cli/flags.tbl.h"
#undef FLAG
};
