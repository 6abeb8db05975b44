/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and SHA-512, as a stream and as OCI digests ("sha256:<hex>"). The only user of libcrypto.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum digest_algorithm {
    DIGEST_SHA256,
    DIGEST_SHA512,
};

/* With the NUL: of the hex digits, and of a whole OCI digest. */
enum { DIGEST_HEX_MAX = 128 + 1, DIGEST_TEXT_MAX = 7 + DIGEST_HEX_MAX };

struct digest; /* a hash that is being computed */

struct digest *digest_new(enum digest_algorithm algorithm);
void digest_free(struct digest *digest);
void digest_update(struct digest *digest, const void *data, size_t size);

/* Lower-case hex of the hash so far; more data may follow. */
void digest_hex(const struct digest *digest, char ret_hex[DIGEST_HEX_MAX]);

/* Hex of sha256(data). */
void digest_sha256_hex(const void *data, size_t size, char ret_hex[DIGEST_HEX_MAX]);
/* Base64 of sha256(data), as in a Content-Security-Policy. Belongs to the caller. */
char *digest_sha256_base64(const void *data, size_t size);

/* "sha256:<64 hex>" or "sha512:<128 hex>", lower case; anything else is ERROR_INVALID. *ret_hex
 * points into text. */
int digest_parse(const char *text, enum digest_algorithm *ret_algorithm, const char **ret_hex,
                 struct error *err) must_check;
/* Whether the hash so far is this OCI digest. */
bool digest_matches(const struct digest *digest, const char *text);

/* Hashes the whole file, whatever its offset, and compares it with an OCI digest; the offset is 0
 * afterwards. ERROR_INVALID if the digest is malformed or differs. name is for messages. */
int digest_check_file(int fd, const char *name, const char *text, struct error *err) must_check;

define_cleanup(struct digest *, digest_free)
#define cleanup_digest __attribute__((cleanup(digest_freep)))
