/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/web/web_hash.h"

#include <openssl/evp.h>
#include <stdio.h>

bool
web_hash(const void *text, size_t len, char to[WEB_HASH])
{
	unsigned char hash[EVP_MAX_MD_SIZE], base64[2 * EVP_MAX_MD_SIZE];
	unsigned int n;

	if (EVP_Digest(text, len, hash, &n, EVP_sha256(), NULL) != 1)
		return false;
	EVP_EncodeBlock(base64, hash, (int)n);
	snprintf(to, WEB_HASH, "'sha256-%.44s'", (const char *)base64);
	return true;
}
