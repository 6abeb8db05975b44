/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/status.h"

#include <string.h>

#include "common/data/doc.h"

enum { STATUS_MAX = 1024 * 1024, PLAIN_MAX = 200 };

static bool contains(const char *text, const char *part)
{
    return text && strstr(text, part) != NULL;
}

static enum error_kind kind_of(int http_status, const char *reason, const char *message)
{
    switch (http_status) {
    case 401:
    case 403:
        return ERROR_DENIED;
    case 404:
        return ERROR_NOT_FOUND;
    case 408:
    case 429:
        return ERROR_TEMPORARY;
    case 409:
        return reason && strcmp(reason, "AlreadyExists") == 0 ? ERROR_EXISTS : ERROR_CONFLICT;
    case 410:
        return ERROR_GONE;
    case 413:
        return ERROR_TOO_LARGE;
    default:
        break;
    }
    if (http_status < 500)
        return ERROR_INVALID;
    /* Objects over etcd's size limit are reported as internal errors; a retry would not help. */
    if (contains(message, "request is too large") || contains(message, "larger than max"))
        return ERROR_TOO_LARGE;
    return ERROR_TEMPORARY;
}

/* Old API servers quote part of a body that they cannot decode, and the body may be a Secret. */
static void cut_quote(char *text)
{
    char *quote = strstr(text, "error found in #");

    if (!quote)
        return;
    while (quote > text && strchr(", ", quote[-1]))
        quote--;
    *quote = '\0';
}

static const char *status_text(int http_status)
{
    switch (http_status) {
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 413:
        return "Request Entity Too Large";
    case 429:
        return "Too Many Requests";
    case 503:
        return "Service Unavailable";
    default:
        return "";
    }
}

static int set_error(int http_status, const char *reason, const char *message,
                     uint32_t retry_after_ms, const char *what, struct error *err)
{
    if (message && message[0])
        (void)error_set(err, kind_of(http_status, reason, message), "%s: %s", what, message);
    else
        (void)error_set(err, kind_of(http_status, reason, message), "%s: HTTP status %d %s", what,
                        http_status, reason ? reason : status_text(http_status));
    cut_quote(err->text);
    err->http_status = http_status;
    err->retry_after_ms = retry_after_ms;
    return -1;
}

static uint32_t longer_wait_ms(const json_t *status, uint32_t retry_after_ms)
{
    int64_t seconds = doc_integer_or(status, "details.retryAfterSeconds", 0);
    uint32_t wait_ms = 0;

    if (seconds > 0)
        wait_ms = seconds > KUBE_RETRY_AFTER_MAX_MS / 1000 ? KUBE_RETRY_AFTER_MAX_MS
                                                           : (uint32_t)seconds * 1000;
    return wait_ms > retry_after_ms ? wait_ms : retry_after_ms;
}

/* The printable start of a plain-text body, as sent by proxies and by an overloaded API server. */
static void first_line(const char *body, size_t size, char ret_line[PLAIN_MAX + 1])
{
    size_t length = 0;

    while (length < size && length < PLAIN_MAX && body[length] >= ' ' && body[length] < 0x7f)
        length++;
    if (length > 0 && (body[0] == '<' || body[0] == '{'))
        length = 0; /* HTML, or truncated JSON */
    memcpy(ret_line, body ? body : "", length);
    ret_line[length] = '\0';
}

int kube_status_error(int http_status, const char *body, size_t size, uint32_t retry_after_ms,
                      const char *what, struct error *err)
{
    cleanup_json json_t *status = NULL;
    struct error ignored = {0};
    char line[PLAIN_MAX + 1] = "";

    if (size > 0 && body[0] == '{' &&
        doc_parse_json(body, size, STATUS_MAX, &status, &ignored) == 0)
        return set_error(http_status, doc_text(status, "reason"), doc_text(status, "message"),
                         longer_wait_ms(status, retry_after_ms), what, err);
    first_line(body, size, line);
    return set_error(http_status, NULL, line, retry_after_ms, what, err);
}

int kube_status_error_object(const json_t *status, const char *what, struct error *err)
{
    int64_t code = doc_integer_or(status, "code", 0);

    if (code < 400 || code > 599)
        code = 500;
    return set_error((int)code, doc_text(status, "reason"), doc_text(status, "message"),
                     longer_wait_ms(status, 0), what, err);
}

bool kube_is_namespace_terminating(const struct error *err)
{
    /* The message for the cause NamespaceTerminating; RBAC and webhooks do not use this text. */
    return err->http_status == 403 && contains(err->text, "because it is being terminated");
}
