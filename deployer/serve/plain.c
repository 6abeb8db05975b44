/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/serve/plain.h"

#include <string.h>

#include "common/base/memory.h"
#include "deployer/serve/daemon.h"

int serve_listen(struct loop *loop, const char *address, serve_fn *serve, void *data,
                 struct server **ret_server, struct error *err)
{
    cleanup_free char *host = NULL;
    uint16_t port = 0;

    if (address_parse(address, &host, &port, err) < 0)
        return -1;
    return port ? server_new(loop, host, port, serve, data, ret_server, err) : 0;
}

int serve_rows(const struct metric_row *rows, size_t count, struct buffer *ret_body,
               const char **ret_content_type)
{
    struct error err = {0};

    *ret_content_type = "text/plain; version=0.0.4; charset=utf-8";
    for (size_t i = 0; i < count; i++) {
        if (buffer_append_text(ret_body, &err, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n",
                               rows[i].name, rows[i].help, rows[i].name, rows[i].type, rows[i].name,
                               (unsigned long long)rows[i].value) < 0)
            return 503;
    }
    return 200;
}

int serve_probe(const char *path, bool is_ready, struct buffer *ret_body)
{
    struct error err = {0};

    if (strcmp(path, "/healthz") != 0 && strcmp(path, "/readyz") != 0)
        return 404;
    if (strcmp(path, "/readyz") == 0 && !is_ready)
        return 503;
    return buffer_append_text(ret_body, &err, "ok\n") < 0 ? 503 : 200;
}
