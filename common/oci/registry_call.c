/* SPDX-License-Identifier: Apache-2.0 */
/* A call fetches one object with as many requests as needed. Each attempt is authorized
 * (registry_token.c) and sent; after a temporary failure it is retried, a blob from the offset it
 * has reached. */
#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/oci/content_range.h"
#include "common/oci/manifest.h"
#include "common/oci/registry_internal.h"

#define WEB_PAGE_TEXT "the registry responded with a web page instead of a manifest"

#define ACCEPT_MANIFESTS                                                                           \
    MEDIA_TYPE_OCI_MANIFEST ", " MEDIA_TYPE_OCI_INDEX ", " MEDIA_TYPE_DOCKER_MANIFEST              \
                            ", " MEDIA_TYPE_DOCKER_LIST

enum {
    /* So much new data renews the deadline: long downloads are fine as long as they progress. */
    PROGRESS_BYTES = 1024 * 1024,
    /* An attempt that is slower for as long as the deadline is given up. */
    RATE_MIN_BYTES_PER_S = 1024,
};

/* ---- Attempts and results ---- */

static void call_free(struct registry_call *call)
{
    if (call->link) {
        *call->link = call->next;
        if (call->next)
            call->next->link = call->link;
    }
    http_cancel(call->http);
    loop_timer_stop(&call->timer);
    registry_token_forget_waiter(call);
    digest_free(call->digest);
    free(call->repository);
    free(call->object);
    free(call->wanted_scope);
    free(call);
}

void registry_cancel(struct registry_call *call)
{
    if (call)
        call_free(call);
}

static void finish_blob(struct registry_call *call, const struct error *err)
{
    registry_blob_fn *on_done = call->blob.on_done;
    void *data = call->blob.data;
    struct error result = *err;

    call_free(call);
    on_done(data, &result);
}

static void finish_failed(struct registry_call *call, const struct error *err)
{
    registry_manifest_fn *on_manifest = call->on_manifest;
    void *data = call->manifest_data;
    struct error result = *err;
    const struct buffer nothing = {0};

    (void)error_wrap(&result, "%s \"%s\" of \"%s/%s\"", call->is_manifest ? "manifest" : "blob",
                     call->object, call->host->name, call->repository);
    if (!call->is_manifest) {
        finish_blob(call, &result);
        return;
    }
    call_free(call);
    on_manifest(data, &nothing, "", "", &result);
}

/* Recognized by the messages of libcurl and OpenSSL, which have no codes for these; registry_test.c
 * checks them against the real ones. libcurl 7.88 has the same text for an unknown name (NXDOMAIN)
 * and for name servers that do not answer (EAI_AGAIN). */
static enum registry_obstacle obstacle_of(const struct error *err)
{
    if (strstr(err->text, WEB_PAGE_TEXT))
        return OBSTACLE_WEB_PAGE;
    if (strstr(err->text, "Could not resolve host"))
        return OBSTACLE_UNKNOWN_HOST;
    if (strstr(err->text, "wrong version number"))
        return OBSTACLE_PLAIN_HTTP;
    return OBSTACLE_NONE;
}

/* Counts the failure. True if it will not resolve itself; err then is final and gives advice. */
static bool is_obstacle_final(struct registry_call *call, struct error *err)
{
    enum registry_obstacle obstacle = obstacle_of(err);
    uint64_t now_ms = loop_now_ms(call->registry->loop);

    if (obstacle != call->obstacle) {
        call->obstacle = obstacle;
        call->obstacle_repeats = 0;
        call->obstacle_since_ms = now_ms;
    }
    if (++call->obstacle_repeats < REGISTRY_FINAL_REPEATS)
        return false;
    switch (obstacle) {
    case OBSTACLE_NONE:
        return false;
    case OBSTACLE_UNKNOWN_HOST:
        if (now_ms - call->obstacle_since_ms < REGISTRY_UNKNOWN_HOST_MS)
            return false;
        (void)error_wrap(err, "unknown host, check the name and the DNS configuration");
        break;
    case OBSTACLE_PLAIN_HTTP:
        (void)error_wrap(err, "the registry does not speak TLS, allow plain HTTP if that is right");
        break;
    case OBSTACLE_WEB_PAGE:
        (void)error_wrap(err, "not a registry, or a login page or proxy in front of it");
        break;
    }
    err->kind = ERROR_INVALID;
    return true;
}

void registry_call_fail(struct registry_call *call, const struct error *failure)
{
    struct registry *registry = call->registry;
    uint64_t now_ms = loop_now_ms(registry->loop);
    struct error err = *failure;
    uint32_t delay_ms = 0;

    if (call->offset >= call->gained_offset + PROGRESS_BYTES) {
        call->gained_offset = call->offset;
        call->give_up_at_ms = now_ms + registry->deadline_ms;
        retry_reset(&call->retry);
    }
    if (!retry_is_useful(&err) || is_obstacle_final(call, &err)) {
        finish_failed(call, &err);
        return;
    }
    delay_ms = retry_next_ms(&call->retry, &err);
    if (now_ms + delay_ms > call->give_up_at_ms) {
        (void)error_wrap(&err, "given up after %" PRIu32 " attempts", call->retry.attempts);
        finish_failed(call, &err);
        return;
    }
    if (registry->on_retry)
        registry->on_retry(registry->on_retry_data, &err, delay_ms);
    loop_timer_start(&call->timer, delay_ms);
}

void registry_call_attempt(void *data)
{
    struct registry_call *call = data;

    call->has_begun = false;
    call->is_plain = call->host->is_plain;
    call->attempt_at_ms = loop_now_ms(call->registry->loop);
    call->attempt_offset = call->offset;
    registry_authorize(call);
}

/* ---- Responses ---- */

/* Only codes of the specification are quoted: other text of a registry could contain a secret. */
static const char *known_code(const struct http_response *response)
{
    static const char *const codes[] = {
        "BLOB_UNKNOWN",          "DENIED",       "DIGEST_INVALID", "MANIFEST_INVALID",
        "MANIFEST_UNKNOWN",      "NAME_INVALID", "NAME_UNKNOWN",   "TOOMANYREQUESTS",
        "UNAUTHORIZED",          "UNAVAILABLE",  "UNKNOWN",        "UNSUPPORTED",
        "MANIFEST_BLOB_UNKNOWN",
    };
    cleanup_json json_t *body = NULL;
    struct error ignored = {0};
    const char *code = NULL;

    if (!response->body->size || doc_parse_json(response->body->data, response->body->size,
                                                REGISTRY_MANIFEST_MAX, &body, &ignored) < 0)
        return "";
    code = doc_text(json_array_get(doc_member(body, "errors"), 0), "code");
    for (size_t i = 0; code && i < array_length(codes); i++) {
        if (strcmp(code, codes[i]) == 0)
            return codes[i];
    }
    return "";
}

/* Sent by a gateway or a login page in front of the registry, perhaps only for a moment. */
static bool is_web_page(const struct http_response *response)
{
    const char *type = http_response_header(response, "Content-Type");

    return type && strncasecmp(type, "text/html", strlen("text/html")) == 0;
}

static int judge_status(const struct registry_call *call, const struct http_response *response,
                        struct error *err)
{
    int status = response->status;
    const char *code = NULL;
    enum error_kind kind = ERROR_INVALID;

    if (status == 200 && call->is_manifest && is_web_page(response))
        return error_set(err, ERROR_TEMPORARY, WEB_PAGE_TEXT);
    if (status == 200 || (status == 206 && !call->is_manifest))
        return 0;
    code = known_code(response);
    if (status == 404)
        kind = ERROR_NOT_FOUND;
    else if (status == 401 || status == 403)
        kind = ERROR_DENIED;
    else if (status == 408 || status == 429 || status >= 500)
        kind = ERROR_TEMPORARY;
    (void)error_set(err, kind, "the registry responded with %d%s%s", status, *code ? " " : "",
                    code);
    err->http_status = status;
    err->retry_after_ms = http_retry_after_ms(response, REGISTRY_RETRY_AFTER_MAX_MS);
    return -1;
}

static void finish_manifest(struct registry_call *call, const struct http_response *response)
{
    registry_manifest_fn *on_manifest = call->on_manifest;
    void *data = call->manifest_data;
    const char *type = http_response_header(response, "Content-Type");
    const char *claimed = http_response_header(response, "Docker-Content-Digest");
    char hex[DIGEST_HEX_MAX] = "";
    cleanup_free char *digest = NULL;
    cleanup_digest struct digest *hash = NULL;
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *wanted_hex = NULL;
    struct error err = {0};
    const char *wanted = strchr(call->object, ':') ? call->object : claimed;

    if (wanted && digest_parse(wanted, &algorithm, &wanted_hex, &err) < 0) {
        finish_failed(call, &err);
        return;
    }
    hash = digest_new(algorithm);
    digest_update(hash, response->body->data ? response->body->data : "", response->body->size);
    digest_hex(hash, hex);
    digest = xasprintf("%s:%s", algorithm == DIGEST_SHA512 ? "sha512" : "sha256", hex);
    if (wanted && strcmp(digest, wanted) != 0) {
        (void)error_set(&err, ERROR_INVALID, "digest mismatch: received \"%s\", expected \"%s\"",
                        digest, wanted);
        finish_failed(call, &err);
        return;
    }
    call_free(call);
    on_manifest(data, response->body, type ? type : "", digest, &err);
}

/* The server has sent the whole body. */
static void finish_body(struct registry_call *call)
{
    struct error err = {0};
    bool is_whole = digest_matches(call->digest, call->object);

    if (call->blob.size >= 0 && call->offset != (uint64_t)call->blob.size) {
        /* Truncated without an error, or the size in the manifest is wrong. */
        (void)error_set(&err, is_whole ? ERROR_INVALID : ERROR_TEMPORARY,
                        "%" PRIu64 " bytes received, but the size in the manifest is %" PRId64,
                        call->offset, call->blob.size);
        registry_call_fail(call, &err);
        return;
    }
    if (!is_whole) {
        /* If the blob was resumed, one of its parts may have come from a gateway: retry once
         * without Range. */
        bool is_pieced = call->attempt_offset > 0 && !call->is_range_useless;

        call->is_range_useless = true;
        (void)error_set(&err, is_pieced ? ERROR_TEMPORARY : ERROR_INVALID,
                        "digest mismatch: the received data does not have this digest");
        registry_call_fail(call, &err);
        return;
    }
    finish_blob(call, &err);
}

/* The connection may fail after the last byte. */
static bool is_complete(const struct registry_call *call)
{
    return !call->is_manifest && call->offset > 0 &&
           (call->blob.size < 0 || call->offset == (uint64_t)call->blob.size) &&
           digest_matches(call->digest, call->object);
}

static void settle_scheme(const struct registry_call *call)
{
    if (call->host->is_scheme_settled)
        return;
    call->host->is_plain = call->is_plain;
    call->host->is_scheme_settled = true;
}

/* Servers with TLS respond to plain HTTP with 400, which says nothing about the registry. */
static bool is_answer_to_plain_http(const struct registry_call *call,
                                    const struct http_response *response)
{
    bool is_plain_settled = call->host->is_scheme_settled && call->host->is_plain;

    return call->is_plain && !is_plain_settled && response->status == 400;
}

static void on_transport_failure(struct registry_call *call, const struct error *err)
{
    struct registry_host *host = call->host;

    if (is_complete(call)) {
        finish_blob(call, &(struct error){0});
        return;
    }
    /* Plain HTTP is allowed: alternate between https and http until one responds. */
    if (!host->is_scheme_settled && err->kind == ERROR_TEMPORARY)
        host->is_plain = !call->is_plain;
    registry_call_fail(call, err);
}

static void on_answer(void *data, const struct http_response *response, const struct error *err)
{
    struct registry_call *call = data;
    struct error failure = {0};

    call->http = NULL;
    if (err->kind != ERROR_NONE) {
        on_transport_failure(call, err);
        return;
    }
    if (is_answer_to_plain_http(call, response)) {
        (void)error_set(&failure, ERROR_TEMPORARY, "the registry responded with 400 to plain HTTP");
        on_transport_failure(call, &failure);
        return;
    }
    settle_scheme(call);
    if (response->status == 401) {
        if (registry_learn_challenge(call, response, &failure))
            registry_call_attempt(call);
        else
            finish_failed(call, &failure);
        return;
    }
    call->authorizations = 0;
    if (judge_status(call, response, &failure) < 0)
        registry_call_fail(call, &failure);
    else if (call->is_manifest)
        finish_manifest(call, response);
    else
        finish_body(call);
}

/* ---- Bytes of a blob ---- */

/* Decides whether the body continues at call->offset or starts over. */
static int begin_body(struct registry_call *call, const struct http_response *response,
                      struct error *err)
{
    call->has_begun = true;
    settle_scheme(call);
    if (response->status == 206) {
        const char *text = http_response_header(response, "Content-Range");
        struct content_range range = {0};

        if (!text || !content_range_parse(text, &range) || range.first != call->offset) {
            call->is_range_useless = true;
            return error_set(err, ERROR_TEMPORARY,
                             "the registry responded with another range than requested");
        }
        return 0;
    }
    if (call->offset == 0)
        return 0;
    call->blob.on_restart(call->blob.data);
    /* Keep gained_offset: bytes received again do not count as progress, or a download that always
     * fails at the same offset would renew its deadline forever. */
    call->offset = 0;
    call->attempt_offset = 0;
    digest_free(call->digest);
    call->digest =
        digest_new(strncmp(call->object, "sha512:", 7) == 0 ? DIGEST_SHA512 : DIGEST_SHA256);
    return 0;
}

static int check_rate(const struct registry_call *call, struct error *err)
{
    uint64_t elapsed_ms = loop_now_ms(call->registry->loop) - call->attempt_at_ms;
    uint64_t gained = call->offset > call->attempt_offset ? call->offset - call->attempt_offset : 0;

    if (elapsed_ms > call->registry->deadline_ms &&
        gained < elapsed_ms / 1000 * RATE_MIN_BYTES_PER_S)
        return error_set(err, ERROR_TEMPORARY, "the download is too slow");
    return 0;
}

static int on_bytes(void *data, const struct http_response *response, const char *bytes,
                    size_t size, struct error *err)
{
    struct registry_call *call = data;
    uint64_t max = call->blob.max_bytes;

    if (!call->has_begun && begin_body(call, response, err) < 0)
        return -1;
    if (call->blob.size >= 0 && call->offset + size > (uint64_t)call->blob.size)
        return error_set(err, is_web_page(response) ? ERROR_TEMPORARY : ERROR_INVALID,
                         "more data than the %" PRId64 " bytes of the manifest", call->blob.size);
    if (call->offset + size > max)
        return error_set(err, ERROR_TOO_LARGE, "larger than the limit of %" PRIu64 " bytes", max);
    if (check_rate(call, err) < 0)
        return -1;
    digest_update(call->digest, bytes, size);
    call->offset += size;
    return call->blob.on_bytes(call->blob.data, bytes, size, err);
}

/* ---- Requests ---- */

static char *call_url(const struct registry_call *call)
{
    return xasprintf("%s://%s/v2/%s/%s/%s", call->is_plain ? "http" : "https", call->host->contact,
                     call->repository, call->is_manifest ? "manifests" : "blobs", call->object);
}

void registry_call_send(struct registry_call *call, const char *bearer,
                        const struct credential *basic)
{
    cleanup_free char *url = call_url(call);
    cleanup_free char *range = NULL;
    struct http_header header = {0};
    struct http_request request = {
        .method = "GET",
        .url = url,
        .headers = &header,
        .bearer = bearer,
        .basic_user = basic ? basic->username : NULL,
        .basic_password = basic ? (basic->password ? basic->password : "") : NULL,
        .tls = &call->host->tls,
        .stall_timeout_ms = REGISTRY_STALL_MS,
        .body_max = REGISTRY_MANIFEST_MAX,
        .redirects_max = REGISTRY_REDIRECTS_MAX,
        .is_plain_http_allowed = call->is_plain,
        .on_data = call->is_manifest ? NULL : on_bytes,
        .on_done = on_answer,
        .data = call,
    };
    struct error err = {0};

    if (call->is_manifest) {
        header = (struct http_header){"Accept", ACCEPT_MANIFESTS};
        request.header_count = 1;
        request.total_timeout_ms = call->registry->deadline_ms;
    } else if (call->offset > 0 && !call->is_range_useless) {
        range = xasprintf("bytes=%" PRIu64 "-", call->offset);
        header = (struct http_header){"Range", range};
        request.header_count = 1;
    }
    if (http_start(call->registry->http, &request, &call->http, &err) < 0)
        registry_call_fail(call, &err);
}
