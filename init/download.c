/* SPDX-License-Identifier: Apache-2.0 */
#include "init/download.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/net/retry.h"

enum {
    REDIRECTS_MAX = 5,
    RETRY_FIRST_MS = 500,
    RETRY_MAX_MS = 10 * 1000,
    STALL_MS = 30 * 1000,
    ERROR_BODY_MAX = 64 * 1024,
};

struct download {
    const struct download_options *options;
    uint64_t bytes;
    bool is_done;
    struct error err;
};

static int on_data(void *data, const struct http_response *response, const char *bytes, size_t size,
                   struct error *err)
{
    struct download *download = data;

    (void)response;
    download->bytes += size;
    if (download->bytes > download->options->max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "larger than %" PRIu64 " bytes",
                         download->options->max_bytes);
    return download->options->on_bytes(download->options->data, bytes, size, err);
}

static void judge(int status, struct error *err)
{
    enum error_kind kind = ERROR_INVALID;

    if (status >= 200 && status < 300)
        return;
    if (status == 401 || status == 403)
        kind = ERROR_DENIED;
    else if (status == 404 || status == 410)
        kind = ERROR_NOT_FOUND;
    else if (status == 429 || status >= 500)
        kind = ERROR_TEMPORARY;
    (void)error_set(err, kind, "the server answered with status %d", status);
    err->http_status = status;
}

static void on_done(void *data, const struct http_response *response, const struct error *err)
{
    struct download *download = data;

    download->is_done = true;
    download->err = *err;
    if (err->kind == ERROR_NONE) {
        judge(response->status, &download->err);
        download->err.retry_after_ms = http_retry_after_ms(response, RETRY_MAX_MS);
    }
}

static bool has_tls(const char *url)
{
    return strncasecmp(url, "https://", 8) == 0;
}

static int attempt(struct loop *loop, struct http_client *http, struct download *download,
                   struct error *err)
{
    const struct download_options *options = download->options;
    bool may_authenticate = has_tls(options->url) || options->is_plain_http_allowed;
    struct http_request request = {
        .method = "GET",
        .url = options->url,
        .basic_user = may_authenticate ? options->user : NULL,
        .basic_password = may_authenticate ? options->password : NULL,
        .tls = options->tls,
        .stall_timeout_ms = STALL_MS,
        .body_max = ERROR_BODY_MAX,
        .redirects_max = REDIRECTS_MAX,
        .is_plain_http_allowed = options->is_plain_http_allowed || !has_tls(options->url),
        .on_data = on_data,
        .on_done = on_done,
        .data = download,
    };
    struct http_call *call = NULL;

    download->bytes = 0;
    download->is_done = false;
    if (options->on_restart(options->data, err) < 0 || http_start(http, &request, &call, err) < 0)
        return -1;
    while (!download->is_done) {
        if (loop_run_once(loop, -1, err) < 0) {
            http_cancel(call);
            return -1;
        }
    }
    *err = download->err;
    return err->kind == ERROR_NONE ? 0 : -1;
}

struct pause {
    bool is_over;
};

static void on_pause(void *data)
{
    ((struct pause *)data)->is_over = true;
}

static int pause_for(struct loop *loop, uint32_t ms, struct error *err)
{
    struct pause pause = {0};
    struct loop_timer timer = {0};
    int result = 0;

    loop_timer_init(&timer, loop, on_pause, &pause);
    loop_timer_start(&timer, ms);
    while (!pause.is_over && result == 0)
        result = loop_run_once(loop, -1, err) < 0 ? -1 : 0;
    loop_timer_stop(&timer);
    return result;
}

int download_file(struct loop *loop, struct http_client *http,
                  const struct download_options *options, struct error *err)
{
    cleanup_free char *shown = http_url_redact(options->url);
    struct download download = {.options = options};
    uint64_t end_ms = loop_now_ms(loop) + options->deadline_ms;
    struct retry retry = {0};

    retry_init(&retry, RETRY_FIRST_MS, RETRY_MAX_MS);
    while (attempt(loop, http, &download, err) < 0) {
        uint32_t delay_ms = retry_next_ms(&retry, err);

        if (!retry_is_useful(err) || loop_now_ms(loop) + delay_ms > end_ms)
            return error_wrap(err, "download \"%s\"", shown);
        if (options->on_retry)
            options->on_retry(options->on_retry_data, err, delay_ms);
        *err = (struct error){0};
        if (pause_for(loop, delay_ms, err) < 0)
            return -1;
    }
    return 0;
}
