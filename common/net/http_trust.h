/* SPDX-License-Identifier: Apache-2.0 */
/* Applies struct http_tls to a curl handle. Private to common/net. */
#pragma once

#include <curl/curl.h>

#include "common/net/http.h"

int http_trust_set(CURL *easy, const struct http_tls *tls, struct error *err) must_check;
