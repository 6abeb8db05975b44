/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/hide.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/controller/words.h"
#include "deployer/item/mask.h"

enum { DOCUMENT_MAX = 4 * 1024 * 1024, DEPTH_MAX = 8, ENCODED_MIN = 8 };

#define LEFT_OUT                                                                                   \
    "(left out: inputs or state of the run can't all be taken out of it; with debug.keepPod the "  \
    "pod stays for kubectl logs)"

static bool add_document(struct hidden *hidden, const char *text, size_t size, int depth);

/* ---- Values ---- */

static void add(struct hidden *hidden, const char *value, size_t size)
{
    if (size < HIDE_LENGTH_MIN)
        return;
    if (hidden->count >= HIDE_VALUES_MAX) {
        hidden->is_incomplete = true;
        return;
    }
    if (hidden->count + 1 >= hidden->capacity) {
        hidden->capacity = hidden->capacity ? 2 * hidden->capacity : 64;
        hidden->items = xreallocarray(hidden->items, hidden->capacity, sizeof(*hidden->items));
    }
    hidden->items[hidden->count++] = xstrndup(value, size);
    hidden->items[hidden->count] = NULL;
}

static void add_word(void *data, const char *word, size_t size)
{
    add(data, word, size);
}

/* As it stands, and as it stands in JSON: main may print the whole file that it was given. */
static void add_line(struct hidden *hidden, const char *line, size_t size)
{
    cleanup_json json_t *text = NULL;
    cleanup_wipe char *quoted = NULL;

    while (size && (line[0] == ' ' || line[0] == '\t')) {
        line++;
        size--;
    }
    while (size && (line[size - 1] == ' ' || line[size - 1] == '\t' || line[size - 1] == '\r'))
        size--;
    add(hidden, line, size);
    if (!memchr(line, '"', size) && !memchr(line, '\\', size) && !memchr(line, '\t', size))
        return;
    text = json_stringn(line, size);
    quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
    if (quoted)
        add(hidden, quoted + 1, strlen(quoted) - 2);
}

/* As it stands in a Secret that main prints. Three bytes are four letters: so many of them are the
 * same whatever comes behind, a line's end for example. */
static void add_as_base64(struct hidden *hidden, const char *value, size_t size)
{
    cleanup_wipe char *encoded = base64_encode(value, size - size % 3);

    add(hidden, encoded, strlen(encoded));
}

static void add_lines(struct hidden *hidden, const char *text, size_t size)
{
    const char *line = text;
    bool is_one = !memchr(text, '\n', size);

    for (size_t i = 0; i <= size; i++) {
        size_t length = (size_t)(text + i - line);

        if (i < size && text[i] != '\n' && text[i] != '\0')
            continue;
        /* A text of one line is somebody's value; among others it may be no more than "return". */
        if (is_one || !word_is_common(line, length))
            add_line(hidden, line, length);
        line = text + i + 1;
    }
    if (is_one)
        add_as_base64(hidden, text, size);
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

static void add_text(struct hidden *hidden, const char *text, size_t size, int depth);

/* "auth" of a registry, "client-key-data" of a kubeconfig: whoever uses them prints what is in it.
 */
static void add_encoded(struct hidden *hidden, const char *text, size_t size, int depth)
{
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};

    buffer_init(&bytes, DOCUMENT_MAX);
    if (size < ENCODED_MIN || memchr(text, ' ', size) ||
        base64_decode(text, size, &bytes, &err) < 0 || bytes.size < HIDE_LENGTH_MIN)
        return;
    if (is_text(bytes.data, bytes.size))
        add_text(hidden, bytes.data, bytes.size, depth + 1);
    explicit_bzero(bytes.data, bytes.size);
}

static void add_text(struct hidden *hidden, const char *text, size_t size, int depth)
{
    if (size < HIDE_LENGTH_MIN)
        return;
    if (depth >= DEPTH_MAX) {
        hidden->is_incomplete = true;
        return;
    }
    add_lines(hidden, text, size);
    words_find(text, size, add_word, hidden);
    add_encoded(hidden, text, size, depth);
    /* A kubeconfig in a Secret in a target is a document in a document in a document. */
    if (memchr(text, ':', size) || memchr(text, '{', size) || memchr(text, '[', size))
        (void)add_document(hidden, text, size, depth + 1);
}

static void add_number(struct hidden *hidden, const json_t *number)
{
    cleanup_wipe char *text = doc_dump(number);
    const char *digits = *text == '-' ? text + 1 : text;
    size_t count = 0;

    for (const char *at = digits; *at; at++)
        count += isdigit((unsigned char)*at) != 0;
    if (count >= HIDE_DIGITS_MIN)
        add(hidden, digits, strlen(digits));
}

static void add_leaves(struct hidden *hidden, const json_t *doc, int depth)
{
    const char *key = NULL;
    json_t *member = NULL;
    size_t i = 0;

    if (json_is_string(doc))
        add_text(hidden, json_string_value(doc), json_string_length(doc), depth);
    else if (json_is_number(doc))
        add_number(hidden, doc);
    json_object_foreach((json_t *)(uintptr_t)doc, key, member) add_leaves(hidden, member, depth);
    json_array_foreach(doc, i, member) add_leaves(hidden, member, depth);
}

/* False: it is none, or a lone text, which YAML folds into one line. */
static bool add_document(struct hidden *hidden, const char *text, size_t size, int depth)
{
    cleanup_json json_t *doc = NULL;
    struct error err = {0};

    if (doc_parse_yaml(text, size, DOCUMENT_MAX, &doc, &err) < 0)
        return false;
    if (json_is_string(doc)) {
        add_line(hidden, json_string_value(doc), json_string_length(doc));
        return false;
    }
    add_leaves(hidden, doc, depth);
    return true;
}

/* Documents of ours are JSON, of which the leaves are enough. All else has comments, numbers in
 * other spellings, and more than one document in it. */
static void add_value(struct hidden *hidden, const char *text, size_t size)
{
    bool is_json = size && (text[0] == '{' || text[0] == '[');

    if (!is_json || !add_document(hidden, text, size, 0))
        add_text(hidden, text, size, 0);
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
            base64_decode(json_string_value(value), json_string_length(value), &bytes, &err) < 0) {
            hidden->is_incomplete = true;
            continue;
        }
        if (bytes.size)
            add_value(hidden, bytes.data, bytes.size);
        if (bytes.data)
            explicit_bzero(bytes.data, bytes.size);
    }
}

void hidden_add_state_text(struct hidden *hidden, const char *text, size_t size)
{
    bool is_incomplete = hidden->is_incomplete;

    add_value(hidden, text, size);
    if (hidden->is_incomplete && !is_incomplete) {
        hidden->is_incomplete = false;
        hidden->is_state_incomplete = true;
    }
}

void hidden_spare(struct hidden *hidden, const char *shown)
{
    size_t kept = 0;

    for (size_t i = 0; i < hidden->count; i++) {
        if (strstr(shown, hidden->items[i]))
            wipe_free(hidden->items[i]);
        else
            hidden->items[kept++] = hidden->items[i];
    }
    hidden->count = kept;
    if (hidden->items)
        hidden->items[kept] = NULL;
}

static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};

void hidden_spare_images(struct hidden *hidden, const json_t *pod)
{
    for (size_t list = 0; list < array_length(lists); list++) {
        const json_t *statuses = doc_member(doc_member(pod, "status"), lists[list]);

        for (size_t i = 0; i < json_array_size(statuses); i++)
            hidden_spare(hidden, doc_text_or(json_array_get(statuses, i), "image", ""));
    }
}

void hidden_done(struct hidden *hidden)
{
    for (size_t i = 0; i < hidden->count; i++)
        wipe_free(hidden->items[i]);
    free(hidden->items);
    *hidden = (struct hidden){0};
}

/* ---- Texts ---- */

static char *mask(const struct hidden *hidden, const char *text, bool is_mains)
{
    if (!hidden || !hidden->is_known || (is_mains && !hidden->is_state_known))
        return NULL;
    if (hidden->is_incomplete || (is_mains && hidden->is_state_incomplete))
        return xstrdup(LEFT_OUT);
    return mask_text(text, (const char *const *)hidden->items);
}

char *hidden_mask(const struct hidden *hidden, const char *text)
{
    return mask(hidden, text, true);
}

bool hidden_is_all_known(const struct hidden *hidden)
{
    return hidden->is_known && hidden->is_state_known && !hidden->is_incomplete &&
           !hidden->is_state_incomplete;
}

/* is_silent: where nobody knows what is secret, nothing is told. */
static void hide_in(json_t *state, bool is_silent, bool is_mains, const struct hidden *hidden)
{
    const char *message = json_string_value(json_object_get(state, "message"));
    cleanup_free char *masked = NULL;

    if (!message)
        return;
    masked = mask(hidden, message, is_mains);
    if (masked)
        (void)json_object_set_new(state, "message", json_string(masked));
    else if (is_silent)
        (void)json_object_del(state, "message");
}

/* A copy of a member that can be written without the original; the rest is shared. */
static json_t *own_member(json_t *object, const char *key)
{
    json_t *copy = json_copy(json_object_get(object, key));

    if (copy)
        (void)json_object_set_new(object, key, copy);
    return copy;
}

static const char *const when[] = {"state", "lastState"};

/* Init and wait are programs of ours, which say nothing secret. One that somebody injected may see
 * what main does, a proxy or a collector of logs, from main's beginning on. */
static void hide_in_container(json_t *status, bool has_main_begun, const struct hidden *hidden)
{
    const char *name = doc_text_or(status, "name", "");
    bool is_main = strcmp(name, CONTAINER_MAIN) == 0;
    bool is_program_of_ours =
        strcmp(name, CONTAINER_INIT) == 0 || strcmp(name, CONTAINER_WAIT) == 0;
    bool is_mains = is_main || (!is_program_of_ours && has_main_begun);

    for (size_t i = 0; i < array_length(when); i++) {
        json_t *state = json_object_get(status, when[i]);

        hide_in(json_object_get(state, "waiting"), is_main, false, hidden);
        hide_in(json_object_get(state, "terminated"), !is_program_of_ours, is_mains, hidden);
    }
}

json_t *hidden_from_pod(const json_t *pod, const struct hidden *hidden)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)pod);
    json_t *pod_status = own_member(copy, "status");
    bool has_main_begun = hidden_may_have_spoken(pod);

    for (size_t list = 0; list < array_length(lists); list++) {
        json_t *statuses = own_member(pod_status, lists[list]);

        for (size_t i = 0; i < json_array_size(statuses); i++) {
            json_t *status = json_deep_copy(json_array_get(statuses, i));

            (void)json_array_set_new(statuses, i, status);
            hide_in_container(status, has_main_begun, hidden);
        }
    }
    return copy;
}

bool hidden_has_words(const json_t *pod)
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

bool hidden_may_have_spoken(const json_t *pod)
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
