/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/redact.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/pod/mask.h"
#include "deployer/pod/secret_finder.h"

enum { DOCUMENT_MAX = 4 * 1024 * 1024, DEPTH_MAX = 8, ENCODED_MIN = 8 };

#define NOT_SHOWN                                                                                  \
    "(not shown: inputs or state of the run can't be redacted completely; with debug.keepPod the " \
    "pod is kept for kubectl logs)"

static bool add_document(struct redaction *redaction, const char *text, size_t size, int depth);

/* ---- Values ---- */

static void add(struct redaction *redaction, const char *value, size_t size)
{
    if (size < REDACT_LENGTH_MIN)
        return;
    if (redaction->count >= REDACT_VALUES_MAX) {
        redaction->is_incomplete = true;
        return;
    }
    if (redaction->count + 1 >= redaction->capacity) {
        redaction->capacity = redaction->capacity ? 2 * redaction->capacity : 64;
        redaction->items =
            xreallocarray(redaction->items, redaction->capacity, sizeof(*redaction->items));
    }
    redaction->items[redaction->count++] = xstrndup(value, size);
    redaction->items[redaction->count] = NULL;
}

static void add_word(void *data, const char *word, size_t size)
{
    add(data, word, size);
}

/* The line itself, and as it is written in JSON: main may print a whole input file. */
static void add_line(struct redaction *redaction, const char *line, size_t size)
{
    cleanup_json json_t *text = NULL;
    cleanup_wipe char *quoted = NULL;

    while (size && (line[0] == ' ' || line[0] == '\t')) {
        line++;
        size--;
    }
    while (size && (line[size - 1] == ' ' || line[size - 1] == '\t' || line[size - 1] == '\r'))
        size--;
    add(redaction, line, size);
    if (!memchr(line, '"', size) && !memchr(line, '\\', size) && !memchr(line, '\t', size))
        return;
    text = json_stringn(line, size);
    quoted = text ? doc_dump(text) : NULL;
    if (quoted)
        add(redaction, quoted + 1, strlen(quoted) - 2);
}

/* As it is written in a Secret that main prints. Base64 encodes three bytes as four characters, so
 * the encoding of complete triples does not depend on what follows, a newline for example. */
static void add_as_base64(struct redaction *redaction, const char *value, size_t size)
{
    cleanup_wipe char *encoded = base64_encode(value, size - size % 3);

    add(redaction, encoded, strlen(encoded));
}

static void add_lines(struct redaction *redaction, const char *text, size_t size)
{
    const char *line = text;
    bool is_one = !memchr(text, '\n', size);

    for (size_t i = 0; i <= size; i++) {
        size_t length = (size_t)(text + i - line);

        if (i < size && text[i] != '\n' && text[i] != '\0')
            continue;
        /* A single line is a value; one of several lines may be a keyword such as "return". */
        if (is_one || !word_is_common(line, length))
            add_line(redaction, line, length);
        line = text + i + 1;
    }
    if (is_one)
        add_as_base64(redaction, text, size);
}

static bool is_text(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte < ' ' ? !strchr("\t\r\n", byte) || !byte : byte == 0x7f)
            return false;
    }
    return true;
}

static void add_text(struct redaction *redaction, const char *text, size_t size, int depth);

/* "auth" of a registry, "client-key-data" of a kubeconfig: programs print the decoded value. */
static void add_encoded(struct redaction *redaction, const char *text, size_t size, int depth)
{
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};

    buffer_init(&bytes, DOCUMENT_MAX);
    if (size < ENCODED_MIN || memchr(text, ' ', size) ||
        base64_decode(text, size, &bytes, &err) < 0 || bytes.size < REDACT_LENGTH_MIN)
        return;
    if (is_text(bytes.data, bytes.size))
        add_text(redaction, bytes.data, bytes.size, depth + 1);
    explicit_bzero(bytes.data, bytes.size);
}

static void add_text(struct redaction *redaction, const char *text, size_t size, int depth)
{
    if (size < REDACT_LENGTH_MIN)
        return;
    if (depth >= DEPTH_MAX) {
        redaction->is_incomplete = true;
        return;
    }
    add_lines(redaction, text, size);
    secret_finder_run(text, size, add_word, redaction);
    add_encoded(redaction, text, size, depth);
    /* Documents can be nested: a kubeconfig in a Secret in a target. */
    if (memchr(text, ':', size) || memchr(text, '{', size) || memchr(text, '[', size))
        (void)add_document(redaction, text, size, depth + 1);
}

static void add_number(struct redaction *redaction, const json_t *number)
{
    cleanup_wipe char *text = doc_dump(number);
    const char *digits = *text == '-' ? text + 1 : text;
    size_t count = 0;

    for (const char *at = digits; *at; at++)
        count += isdigit((unsigned char)*at) != 0;
    if (count >= REDACT_DIGITS_MIN)
        add(redaction, digits, strlen(digits));
}

static void add_leaves(struct redaction *redaction, const json_t *doc, int depth)
{
    const char *key = NULL;
    json_t *member = NULL;
    size_t i = 0;

    if (json_is_string(doc))
        add_text(redaction, json_string_value(doc), json_string_length(doc), depth);
    else if (json_is_number(doc))
        add_number(redaction, doc);
    json_object_foreach((json_t *)(uintptr_t)doc, key, member) add_leaves(redaction, member, depth);
    json_array_foreach(doc, i, member) add_leaves(redaction, member, depth);
}

/* False if the text is not a document, or only a string, whose lines YAML would join. */
static bool add_document(struct redaction *redaction, const char *text, size_t size, int depth)
{
    cleanup_json json_t *doc = NULL;
    struct error err = {0};

    if (doc_parse_yaml(text, size, DOCUMENT_MAX, &doc, &err) < 0)
        return false;
    if (json_is_string(doc)) {
        add_line(redaction, json_string_value(doc), json_string_length(doc));
        return false;
    }
    add_leaves(redaction, doc, depth);
    return true;
}

/* For our own documents, which are JSON, the leaves are enough. Other text can have comments,
 * numbers in other notations, and several documents, so its lines are added, too. */
static void add_value(struct redaction *redaction, const char *text, size_t size)
{
    bool is_json = size && (text[0] == '{' || text[0] == '[');

    if (!is_json || !add_document(redaction, text, size, 0))
        add_text(redaction, text, size, 0);
}

void redaction_add_secret(struct redaction *redaction, const json_t *secret)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *)(uintptr_t)doc_member(secret, "data"), key, value)
    {
        cleanup_buffer struct buffer bytes = {0};
        struct error err = {0};

        buffer_init(&bytes, DOCUMENT_MAX);
        if (!json_is_string(value) ||
            base64_decode(json_string_value(value), json_string_length(value), &bytes, &err) < 0) {
            redaction->is_incomplete = true;
            continue;
        }
        if (bytes.size)
            add_value(redaction, bytes.data, bytes.size);
        if (bytes.data)
            explicit_bzero(bytes.data, bytes.size);
    }
}

void redaction_add_state_text(struct redaction *redaction, const char *text, size_t size)
{
    bool is_incomplete = redaction->is_incomplete;

    add_value(redaction, text, size);
    if (redaction->is_incomplete && !is_incomplete) {
        redaction->is_incomplete = false;
        redaction->is_state_incomplete = true;
    }
}

void redaction_exempt(struct redaction *redaction, const char *shown)
{
    size_t kept = 0;

    for (size_t i = 0; i < redaction->count; i++) {
        if (strstr(shown, redaction->items[i]))
            wipe_free(redaction->items[i]);
        else
            redaction->items[kept++] = redaction->items[i];
    }
    redaction->count = kept;
    if (redaction->items)
        redaction->items[kept] = NULL;
}

static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};

void redaction_exempt_images(struct redaction *redaction, const json_t *pod)
{
    for (size_t list = 0; list < array_length(lists); list++) {
        const json_t *statuses = doc_member(doc_member(pod, "status"), lists[list]);

        for (size_t i = 0; i < json_array_size(statuses); i++)
            redaction_exempt(redaction, doc_text_or(json_array_get(statuses, i), "image", ""));
    }
}

void redaction_done(struct redaction *redaction)
{
    for (size_t i = 0; i < redaction->count; i++)
        wipe_free(redaction->items[i]);
    free(redaction->items);
    *redaction = (struct redaction){0};
}

/* ---- Texts ---- */

static char *mask(const struct redaction *redaction, const char *text, bool is_mains)
{
    if (!redaction || !redaction->is_known || (is_mains && !redaction->is_state_known))
        return NULL;
    if (redaction->is_incomplete || (is_mains && redaction->is_state_incomplete))
        return xstrdup(NOT_SHOWN);
    return mask_text(text, (const char *const *)redaction->items);
}

char *redaction_apply(const struct redaction *redaction, const char *text)
{
    return mask(redaction, text, true);
}

bool redaction_is_complete(const struct redaction *redaction)
{
    return redaction->is_known && redaction->is_state_known && !redaction->is_incomplete &&
           !redaction->is_state_incomplete;
}

/* is_removed_if_unknown: remove the text if the secrets are not known. */
static void redact_message(json_t *state, bool is_removed_if_unknown, bool is_mains,
                           const struct redaction *redaction)
{
    const char *message = json_string_value(json_object_get(state, "message"));
    cleanup_free char *masked = NULL;

    if (!message)
        return;
    masked = mask(redaction, message, is_mains);
    if (masked)
        (void)json_object_set_new(state, "message", json_string(masked));
    else if (is_removed_if_unknown)
        (void)json_object_del(state, "message");
}

/* Replaces a member by a copy, which can be changed without changing the original. */
static json_t *own_member(json_t *object, const char *key)
{
    json_t *copy = json_copy(json_object_get(object, key));

    if (copy)
        (void)json_object_set_new(object, key, copy);
    return copy;
}

static const char *const when[] = {"state", "lastState"};

/* init and wait are our own programs and print no secrets. An injected container, such as a proxy
 * or a log collector, can see the data of main from the time when main starts. */
static void redact_container(json_t *status, bool has_main_started,
                             const struct redaction *redaction)
{
    const char *name = doc_text_or(status, "name", "");
    bool is_main = strcmp(name, CONTAINER_MAIN) == 0;
    bool is_program_of_ours =
        strcmp(name, CONTAINER_INIT) == 0 || strcmp(name, CONTAINER_WAIT) == 0;
    bool is_mains = is_main || (!is_program_of_ours && has_main_started);

    for (size_t i = 0; i < array_length(when); i++) {
        json_t *state = json_object_get(status, when[i]);

        redact_message(json_object_get(state, "waiting"), is_main, false, redaction);
        redact_message(json_object_get(state, "terminated"), !is_program_of_ours, is_mains,
                       redaction);
    }
}

json_t *redaction_apply_to_pod(const json_t *pod, const struct redaction *redaction)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)pod);
    json_t *pod_status = own_member(copy, "status");
    bool has_main_started = redaction_has_main_started(pod);

    for (size_t list = 0; list < array_length(lists); list++) {
        json_t *statuses = own_member(pod_status, lists[list]);

        for (size_t i = 0; i < json_array_size(statuses); i++) {
            json_t *status = json_deep_copy(json_array_get(statuses, i));

            (void)json_array_set_new(statuses, i, status);
            redact_container(status, has_main_started, redaction);
        }
    }
    return copy;
}

bool redaction_is_needed(const json_t *pod)
{
    for (size_t list = 0; list < array_length(lists); list++) {
        const json_t *statuses = doc_member(doc_member(pod, "status"), lists[list]);

        for (size_t i = 0; i < json_array_size(statuses); i++) {
            const json_t *status = json_array_get(statuses, i);
            bool is_main = strcmp(doc_text_or(status, "name", ""), CONTAINER_MAIN) == 0;

            if (*doc_text_or(status, "state.waiting.message", "") ||
                (is_main && *doc_text_or(status, "state.terminated.message", "")))
                return true;
        }
    }
    return false;
}

bool redaction_has_main_started(const json_t *pod)
{
    const json_t *statuses = doc_get(pod, "status.containerStatuses");

    for (size_t i = 0; i < json_array_size(statuses); i++) {
        const json_t *status = json_array_get(statuses, i);

        if (strcmp(doc_text_or(status, "name", ""), CONTAINER_MAIN) == 0)
            return doc_get(status, "state.running") || doc_get(status, "state.terminated") ||
                   doc_get(status, "lastState.terminated");
    }
    return false;
}
