/* SPDX-License-Identifier: Apache-2.0 */
/* Downloads a file over HTTP. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "common/net/http.h"

/* Each call gets the next bytes. */
typedef int download_bytes_fn(void *data, const char *bytes, size_t size, struct error *err);

struct download_options {
    const char *url;
    /* Sent to the host of the URL only, and with TLS only unless is_plain_http_allowed; or NULL. */
    const char *user, *password;
    const struct http_tls *tls; /* borrowed until the client is freed: see http.h */
    bool is_plain_http_allowed;
    uint64_t max_bytes;   /* ERROR_TOO_LARGE beyond */
    uint64_t deadline_ms; /* of all attempts together */
    download_bytes_fn *on_bytes;
    /* The file begins again: what was handed out so far does not count. */
    int (*on_restart)(void *data, struct error *err);
    void *data;
    void (*on_retry)(void *data, const struct error *err, uint32_t delay_ms); /* or NULL */
    void *on_retry_data;
};

/* Blocks: runs the loop. Retries connection errors, 429 and 5xx until the deadline
 * (ERROR_TEMPORARY). 401 and 403 are ERROR_DENIED, 404 is ERROR_NOT_FOUND, others ERROR_INVALID. At
 * most five redirects are followed. */
int download_file(struct loop *loop, struct http_client *http,
                  const struct download_options *options, struct error *err) must_check;
