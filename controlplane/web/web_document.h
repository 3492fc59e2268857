/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The page as one document, from pieces that are compressed once each and then put together for a request in the time of a copy. A piece is
 * raw deflate that ends at a byte without a final block (Z_FULL_FLUSH, so that it refers to nothing before itself); a document by gzip is
 *
 *	header of gzip | piece ... | final block without content | CRC-32 and length of the whole text
 *
 * (RFC 1951, RFC 1952), with the CRC-32 from those of the pieces (crc32_combine() of zlib). Pure; no piece is changed once it is made.
 */
#ifndef CONTROLPLANE_WEB_WEB_DOCUMENT_H
#define CONTROLPLANE_WEB_WEB_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/web/web_feed.h"

struct web_piece { /* all zeroes: no text */
	char *text;
	size_t len;
	uint8_t *packed;
	size_t packed_len;
	uint32_t crc;
};

/* Takes the text, which is from malloc(), also where it fails. level: of zlib, 0 to 9. False: out of memory, and *p is all zeroes. */
bool web_piece_make(struct web_piece *p, char *text, size_t len, int level);
void web_piece_release(struct web_piece *p);

/* The pieces' text, or that by gzip, in memory from malloc(); NULL: out of memory. O(length). */
char *web_document(const struct web_piece *const *pieces, int n, bool gzip, size_t *len);

/*
 * What the page shows before its stream of events has begun: the newest states, each as a piece that is made once for a state.
 * All zeroes: none. Of one thread.
 */
struct web_first {
	struct {
		uint64_t number; /* of the state in the piece */
		struct web_piece piece;
	} topics[WEB_TOPIC_COUNT];
};

/* The piece of this state of the topic, `,["NAME","ID",JSON]`, valid until the next call for the topic; ID is that of its event. The text goes into an
 * element <script>, so that < is written as an escape. NULL: out of memory. O(length) for a state that is new, else O(1). */
const struct web_piece *web_first_piece(
    struct web_first *first, enum web_topic topic, uint64_t instance, const struct web_text *state);
void web_first_release(struct web_first *first);

#endif
