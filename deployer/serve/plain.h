/* SPDX-License-Identifier: Apache-2.0 */
/* Probes and metrics of commands that have only a few numbers without labels. */
#pragma once

#include <stdint.h>

#include "deployer/serve/server.h"

struct metric_row {
    const char *name, *type, *help;
    uint64_t value;
};

/* Listens at "host:port" (address_parse()); with "off" *ret_server is left alone. */
int serve_listen(struct loop *loop, const char *address, serve_fn *serve, void *data,
                 struct server **ret_server, struct error *err) must_check;
/* Writes the rows in the text format of Prometheus. Returns the HTTP status, for a serve_fn. */
int serve_rows(const struct metric_row *rows, size_t count, struct buffer *ret_body,
               const char **ret_content_type);
/* Answers /healthz, and /readyz with 503 unless ready; 404 for any other path. */
int serve_probe(const char *path, bool is_ready, struct buffer *ret_body);
