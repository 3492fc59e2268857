/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as the ring of a snapshot, behind the metadata of tests/data: never more rings than there are, and an answer that the controller
 * can decode. The first byte says from which packet of a real ring the bytes replace what is there; the others are these bytes.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "agent/reader/snapshot.h"
#include "agent/system/folder.h"
#include "tests/fuzz/common/fuzz.h"

enum { PACKETS_BYTES = 12288 };

static char root[64], process[160], ring[200];
static uint8_t packets[PACKETS_BYTES];

static void
clean(void)
{
	folder_remove(root);
}

static void
copy(const char *from, const char *to, uint8_t *ret, size_t size)
{
	static uint8_t bytes[65536];
	FILE *f = fopen(from, "rb");
	size_t n;

	check(f != NULL);
	n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	if (ret != NULL)
		memcpy(ret, bytes, size);
	if (to == NULL)
		return;
	check((f = fopen(to, "wb")) != NULL && fwrite(bytes, 1, n, f) == n);
	fclose(f);
}

static void
begin(void)
{
	char metadata[200];

	strcpy(root,
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm/hone-fuzz.XXXXXX" : "/tmp/hone-fuzz.XXXXXX");
	check(mkdtemp(root) != NULL);
	atexit(clean);
	snprintf(process, sizeof process, "%s/s/ust/pid/kinds-1-20261126-055900", root);
	check(folder_make(process, NULL) == 0);
	snprintf(metadata, sizeof metadata, "%s/metadata", process);
	snprintf(ring, sizeof ring, "%s/hone_0", process);
	copy("tests/data/ctf-kinds.wrapped", metadata, NULL, 0);
	copy("tests/data/ctf-kinds.packets", NULL, packets, sizeof packets);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct keep keep = { 1, UINT64_C(0xe3893a5b0228c4b9), 0, INT64_MAX };
	uint8_t bytes[PACKETS_BYTES];
	struct buf batch = { 0 }, again = { 0 };
	struct arena a = { 0 };
	struct snapshot *s;
	struct kept k;
	struct batch b;
	size_t at;
	FILE *f;

	if (root[0] == '\0')
		begin();
	if (len < 2)
		return 0;
	at = (size_t)(data[0] % 3) * 4096 + (size_t)data[1] * 8 % 4096;
	memcpy(bytes, packets, sizeof bytes);
	data += 2;
	len -= 2;
	memcpy(bytes + at, data, len < sizeof bytes - at ? len : sizeof bytes - at);
	check((f = fopen(ring, "wb")) != NULL && fwrite(bytes, 1, sizeof bytes, f) == sizeof bytes);
	fclose(f);
	check(snapshot_open(&s, root, "hone", &keep, 1, NULL, NULL) == 0);
	while (snapshot_step(s))
		;
	check(snapshot_kept(s, 0, &k, &batch, NULL) == 0);
	check(k.rings == 1 && k.overwritten <= 1);
	check(batch_decode(&b, &a, k.batch, k.batch_len, NULL) == 0);
	kept_encode(&k, &again);
	check(kept_decode(&k, &a, again.data, again.len, NULL) == 0);
	snapshot_close(s);
	arena_release(&a);
	buf_release(&batch);
	buf_release(&again);
	return 0;
}
