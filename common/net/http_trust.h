/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a connection trusts and who it is, from struct http_tls to curl. Part of http. */
#pragma once

#include <curl/curl.h>

#include "common/net/http.h"

int http_trust_set(CURL *easy, const struct http_tls *tls, struct error *err) must_check;
