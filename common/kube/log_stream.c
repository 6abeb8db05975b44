/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/log_stream.h"

#include <inttypes.h>

#include "common/base/loop.h"
#include "common/base/memory.h"
#include "common/kube/client_internal.h"
#include "common/kube/request.h"

/* The server may take this long to connect to the kubelet. A followed log can be silent for any
 * time. */
enum { RESPONSE_TIMEOUT_MS = 60 * 1000 };

struct log_stream {
    const struct kube_log_options *options;
    struct kube *kube;
    const char *what;
    struct error err;
    bool is_done;
};

static int on_data(void *data, const struct http_response *response, const char *bytes, size_t size,
                   struct error *err)
{
    const struct log_stream *stream = data;

    (void)response;
    return stream->options->on_bytes(stream->options->data, bytes, size, err);
}

static void on_done(void *data, const struct http_response *response, const struct error *err)
{
    struct log_stream *stream = data;

    stream->is_done = true;
    (void)!kube_http_result(stream->kube, response, err, stream->what, &stream->err);
}

int kube_log_perform(struct kube *kube, const struct kube_log_options *options, struct error *err)
{
    const struct kube_resource pods = KUBE_PODS;
    cleanup_free char *url = NULL;
    cleanup_free char *lines =
        options->tail_lines >= 0 ? xasprintf("%" PRId64, options->tail_lines) : NULL;
    cleanup_free char *what = xasprintf("read the log of container \"%s\" of pod \"%s/%s\"",
                                        options->container, options->namespace_name, options->pod);
    struct log_stream stream = {.options = options, .kube = kube, .what = what};
    struct http_request request = {
        .method = "GET",
        .stall_timeout_ms = options->is_follow ? 0 : RESPONSE_TIMEOUT_MS,
        .on_data = on_data,
        .on_done = on_done,
        .data = &stream,
    };
    struct http_call *call = NULL;

    if (kube_is_busy(kube))
        return error_set(err, ERROR_INTERNAL, "kube_log_perform() called from inside a callback");
    if (kube_path_make(kube_server(kube), &pods, options->namespace_name, options->pod, "log", &url,
                       err) < 0)
        return -1;
    kube_query_add(&url, "container", options->container);
    kube_query_add(&url, "tailLines", lines);
    kube_query_add(&url, "follow", options->is_follow ? "true" : NULL);
    request.url = url;
    if (kube_http_start(kube, &request, &call, err) < 0)
        return error_wrap(err, "%s", what);
    while (!stream.is_done) {
        if (loop_run_once(kube_loop(kube), -1, err) < 0) {
            http_cancel(call);
            return -1;
        }
    }
    if (stream.err.kind == ERROR_NONE)
        return 0;
    *err = stream.err;
    return -1;
}
