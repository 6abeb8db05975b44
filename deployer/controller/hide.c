/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/hide.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/item/mask.h"

enum { DOCUMENT_MAX = 4 * 1024 * 1024, DEPTH_MAX = 8 };

static void add_document(struct hidden *hidden, const char *text, size_t size, int depth);

static void add_line(struct hidden *hidden, const char *line, size_t size)
{
    while (size && (line[0] == ' ' || line[0] == '\t')) {
        line++;
        size--;
    }
    while (size && (line[size - 1] == ' ' || line[size - 1] == '\r'))
        size--;
    if (size < HIDE_LENGTH_MIN || hidden->count >= HIDE_VALUES_MAX)
        return;
    hidden->items = xreallocarray(hidden->items, hidden->count + 2, sizeof(*hidden->items));
    hidden->items[hidden->count++] = xstrndup(line, size);
    hidden->items[hidden->count] = NULL;
}

static void add_text(struct hidden *hidden, const char *text, size_t size, int depth)
{
    const char *line = text;

    for (size_t i = 0; i <= size; i++) {
        if (i < size && text[i] != '\n')
            continue;
        add_line(hidden, line, (size_t)(text + i - line));
        line = text + i + 1;
    }
    /* A kubeconfig in a Secret in a target is a document in a document in a document. */
    if (depth < DEPTH_MAX && (memchr(text, ':', size) || memchr(text, '{', size)))
        add_document(hidden, text, size, depth + 1);
}

static void add_leaves(struct hidden *hidden, const json_t *doc, int depth)
{
    const char *key = NULL;
    json_t *member = NULL;
    size_t i = 0;

    if (json_is_string(doc)) {
        add_text(hidden, json_string_value(doc), json_string_length(doc), depth);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)doc, key, member) add_leaves(hidden, member, depth);
    json_array_foreach(doc, i, member) add_leaves(hidden, member, depth);
}

static void add_document(struct hidden *hidden, const char *text, size_t size, int depth)
{
    cleanup_json json_t *doc = NULL;
    struct error err = {0};

    if (doc_parse_yaml(text, size, DOCUMENT_MAX, &doc, &err) < 0)
        return;
    if (json_is_string(doc) && depth > 0)
        return;
    add_leaves(hidden, doc, depth);
}

void hidden_add_secret(struct hidden *hidden, const json_t *secret)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *)(uintptr_t)doc_member(secret, "data"), key, value)
    {
        cleanup_buffer struct buffer bytes = {0};
        struct error err = {0};

        buffer_init(&bytes, DOCUMENT_MAX);
        if (!json_is_string(value) ||
            base64_decode(json_string_value(value), json_string_length(value), &bytes, &err) < 0)
            continue;
        if (bytes.size)
            add_document(hidden, bytes.data, bytes.size, 0);
        if (bytes.data)
            explicit_bzero(bytes.data, bytes.size);
    }
}

void hidden_done(struct hidden *hidden)
{
    for (size_t i = 0; i < hidden->count; i++)
        wipe_free(hidden->items[i]);
    free(hidden->items);
    *hidden = (struct hidden){0};
}

static void hide_in_state(json_t *status, const char *which, const struct hidden *hidden)
{
    json_t *terminated = json_object_get(json_object_get(status, which), "terminated");
    const char *message = json_string_value(json_object_get(terminated, "message"));
    cleanup_free char *masked = NULL;

    if (!message)
        return;
    if (!hidden) {
        (void)json_object_del(terminated, "message");
        return;
    }
    masked = mask_text(message, (const char *const *)hidden->items);
    (void)json_object_set_new(terminated, "message", json_string(masked));
}

/* A copy of a member that can be written without the original; the rest is shared. */
static json_t *own_member(json_t *object, const char *key)
{
    json_t *copy = json_copy(json_object_get(object, key));

    if (copy)
        (void)json_object_set_new(object, key, copy);
    return copy;
}

json_t *hidden_from_pod(const json_t *pod, const struct hidden *hidden)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)pod);
    json_t *statuses = own_member(own_member(copy, "status"), "containerStatuses");

    for (size_t i = 0; i < json_array_size(statuses); i++) {
        const json_t *shared = json_array_get(statuses, i);
        json_t *status = NULL;

        if (strcmp(doc_text_or(shared, "name", ""), CONTAINER_MAIN) != 0)
            continue;
        status = json_deep_copy(shared);
        (void)json_array_set_new(statuses, i, status);
        hide_in_state(status, "state", hidden);
        hide_in_state(status, "lastState", hidden);
    }
    return copy;
}
