/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of an Alertmanager: any bytes. Each alert is counted in one way, and names are bounded, not empty, and differ. */
#include "controlplane/answers/received_alerts.h"
#include "tests/fuzz/common/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct received_alerts r;
	struct err e = { 0 };
	int rc = received_alerts_read(&r, (const char *)data, len, &e);

	check(rc == 0 || (rc == ERR_INPUT && e.text[0] != '\0'));
	check(r.ntypes <= RECEIVED_TYPES_MAX);
	check(r.ntypes + r.resolved + r.own + r.unnamed + r.left_out <= r.alerts);
	check(r.alerts <= len);
	for (uint32_t i = 0; i < r.ntypes; i++) {
		check(r.types[i][0] != '\0' && strlen(r.types[i]) <= RECEIVED_NAME_MAX);
		for (uint32_t k = 0; k < i; k++)
			check(strcmp(r.types[i], r.types[k]) != 0);
	}
	return 0;
}
