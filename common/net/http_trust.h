/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the authorities of struct http_tls, and applies it to a curl handle. Private to
 * common/net. */
#pragma once

#include <curl/curl.h>

#include "common/net/http.h"

#define HTTP_TRUST_INCOMPLETE "client certificate and key must be given together"

/* Appends the authorities that tls trusts, as PEM. text is initialized here and belongs to the
 * caller, also after a failure. ERROR_INVALID: a file cannot be read. */
int http_trust_read(const struct http_tls *tls, struct buffer *text, struct error *err) must_check;

int http_trust_set(CURL *easy, const struct http_tls *tls, struct error *err) must_check;
