/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/apply/apply_internal.h"
#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/kube/status.h"

enum { VALUE_MIN = 4, VALUE_MAX = 1024 * 1024 };

#define REDACTED "[redacted]"

static void replace_all(char **text, const char *value)
{
    char *found = NULL;

    while (strlen(value) >= VALUE_MIN && !strstr(REDACTED, value) &&
           (found = strstr(*text, value))) {
        char *shorter =
            xasprintf("%.*s" REDACTED "%s", (int)(found - *text), *text, found + strlen(value));

        free(*text);
        *text = shorter;
    }
}

/* A message that was cut may end with the beginning of a value. */
static void replace_end(char **text, const char *value)
{
    size_t length = strlen(*text);
    size_t size = strlen(value);

    for (size_t n = size < length ? size : length; n >= VALUE_MIN; n--) {
        if (memcmp(*text + length - n, value, n) == 0 && !strstr(REDACTED, value)) {
            char *shorter = xasprintf("%.*s" REDACTED, (int)(length - n), *text);

            free(*text);
            *text = shorter;
            return;
        }
    }
}

/* A line of a value, as it is and as programs quote it: with escapes, as in JSON. */
static void replace_line(char **text, const char *line)
{
    cleanup_json json_t *value = json_string(line);
    cleanup_wipe char *quoted = value ? doc_dump(value) : NULL;

    replace_all(text, line);
    replace_end(text, line);
    if (!quoted)
        return; /* not UTF-8, so not in a message, which is JSON */
    quoted[strlen(quoted) - 1] = '\0';
    replace_all(text, quoted + 1);
    replace_end(text, quoted + 1);
}

/* Line by line, since a quoted value has no line breaks. */
static void replace_value(char **text, const char *value)
{
    cleanup_wipe char *copy = xstrdup(value);
    char *rest = copy;

    replace_all(text, value);
    for (char *line = strsep(&rest, "\r\n"); line; line = strsep(&rest, "\r\n"))
        replace_line(text, line);
}

/* A value that is not a text is invalid, and the API server quotes it when it says so. */
static void replace_invalid(char **text, const json_t *value)
{
    cleanup_wipe char *number = json_is_number(value) ? doc_dump(value) : NULL;
    const char *key = NULL;
    size_t i;
    json_t *member = NULL;

    if (number)
        replace_all(text, number);
    if (json_is_string(value))
        replace_value(text, json_string_value(value));
    doc_foreach(json_is_object(value) ? value : NULL, key, member)
    {
        replace_invalid(text, member);
    }
    json_array_foreach(doc_writable(value), i, member) replace_invalid(text, member);
}

/* Admission webhooks may quote what they refuse. */
static void redact(const json_t *secret, char **text)
{
    const char *key = NULL;
    json_t *value = NULL;

    replace_invalid(text, doc_member(secret, "stringData"));
    doc_foreach(doc_member(secret, "data"), key, value)
    {
        cleanup_buffer struct buffer decoded = {0};
        struct error ignored = {0};
        const char *encoded = json_string_value(value);

        if (!encoded) {
            replace_invalid(text, value);
            continue;
        }
        replace_value(text, encoded);
        buffer_init(&decoded, VALUE_MAX);
        if (base64_decode(encoded, strlen(encoded), &decoded, &ignored) == 0 && decoded.data)
            replace_value(text, decoded.data);
        if (decoded.data)
            explicit_bzero(decoded.data, decoded.size);
    }
}

/* The text without 'create configmaps "a/x": ', which repeats what the message begins with. */
static const char *without_request(const char *text)
{
    const char *end = strstr(text, "\": ");

    return end ? end + strlen("\": ") : text;
}

static bool may_succeed_later(const struct error *err)
{
    return err->kind == ERROR_TEMPORARY || err->kind == ERROR_CONFLICT ||
           err->kind == ERROR_EXISTS || err->kind == ERROR_NOT_FOUND || err->kind == ERROR_GONE ||
           kube_is_namespace_terminating(err);
}

void apply_message(const struct plan_object *object, const char *doing, const struct error *err,
                   struct error *ret_err)
{
    cleanup_free char *name = object_ref_text(&object->ref);
    cleanup_free char *text =
        xasprintf("%s: cannot be %s: %s", name, doing, without_request(err->text));

    if (strcmp(object->ref.kind, "Secret") == 0) {
        redact(object->manifest, &text);
        redact(object->patch_after, &text);
    }
    *ret_err = *err;
    (void)error_set(ret_err, may_succeed_later(err) ? ERROR_TEMPORARY : err->kind, "%s", text);
    ret_err->os = err->os;
    ret_err->http_status = err->http_status;
    ret_err->retry_after_ms = err->retry_after_ms;
}
