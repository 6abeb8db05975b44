/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate authority in memory, which issues server certificates for single addresses. */
#pragma once

#include <openssl/ssl.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"

struct authority;

/* ERROR_INTERNAL if OpenSSL fails. */
int authority_new(const char *common_name, struct authority **ret_authority, struct error *err)
    must_check;
void authority_free(struct authority *authority); /* NULL is fine */
define_cleanup(struct authority *, authority_free)
#define cleanup_authority __attribute__((cleanup(authority_freep)))

/* The certificate of the authority, borrowed. */
const char *authority_pem(const struct authority *authority);
/* Gives a connection a certificate for this IPv4 address (host byte order). */
int authority_certify(const struct authority *authority, SSL *ssl, uint32_t address,
                      struct error *err) must_check;
