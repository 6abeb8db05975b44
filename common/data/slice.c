/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/slice.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/word.h"

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* Strings are short: a call of memchr() would cost more than what it finds. */
static const char *find_quote(const char *at, const char *end)
{
    for (; (size_t)(end - at) >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t found = word_equal(word_read(at), '"');

        if (found)
            return at + word_first(found);
    }
    while (at < end && *at != '"')
        at++;
    return at < end ? at : NULL;
}

/* Past the string that begins at `at`, or NULL if it does not end. */
static const char *skip_string(const char *at, const char *end)
{
    const char *quote = at;

    while ((quote = find_quote(quote + 1, end))) {
        const char *escape = quote;

        while (escape[-1] == '\\')
            escape--;
        if ((quote - escape) % 2 == 0)
            return quote + 1;
    }
    return NULL;
}

/* What is inside of brackets is only counted. */
const char *slice_skip_value(const char *at, const char *end)
{
    size_t depth = 0;

    if (at < end && *at == '"')
        return skip_string(at, end);
    if (at < end && *at != '{' && *at != '[') {
        while (at < end && !strchr(",]} \t\r\n", *at))
            at++;
        return at;
    }
    while (at && at < end) {
        switch (*at) {
        case '"':
            at = skip_string(at, end);
            continue;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (--depth == 0)
                return at + 1;
            break;
        default:
            break;
        }
        at++;
    }
    return NULL;
}

struct member {
    struct slice key; /* without its quotes */
    struct slice value;
};

/* The member that begins at `at`, a quote; returns what follows it, or NULL. */
static const char *read_member(const char *at, const char *end, struct member *ret_member)
{
    const char *after = skip_string(at, end);
    const char *value = NULL;

    if (!after)
        return NULL;
    ret_member->key = (struct slice){at + 1, (size_t)(after - at) - 2};
    after = skip_space(after, end);
    if (after == end || *after != ':')
        return NULL;
    value = skip_space(after + 1, end);
    after = slice_skip_value(value, end);
    if (after)
        ret_member->value = (struct slice){value, (size_t)(after - value)};
    return after;
}

/* The first member of the object in text, or its end; NULL if it is no object. */
static const char *enter(struct slice object)
{
    const char *end = object.text + object.size;
    const char *at = skip_space(object.text, end);

    return at < end && *at == '{' ? skip_space(at + 1, end) : NULL;
}

static bool is_key(struct slice key, const char *text, size_t size)
{
    return key.size == size && memcmp(key.text, text, size) == 0;
}

bool slice_member(struct slice object, const char *key, struct slice *ret_value)
{
    const char *end = object.text + object.size;
    const char *at = enter(object);

    while (at && at < end && *at == '"') {
        struct member member = {0};

        at = read_member(at, end, &member);
        if (!at)
            return false;
        if (is_key(member.key, key, strlen(key))) {
            *ret_value = member.value;
            return true;
        }
        at = skip_space(at, end);
        if (at == end || *at != ',')
            return false;
        at = skip_space(at + 1, end);
    }
    return false;
}

struct copy {
    const char *const *left_out;
    char *text;
    size_t size;
};

static void put(struct copy *copy, const char *text, size_t size)
{
    memcpy(copy->text + copy->size, text, size);
    copy->size += size;
}

enum slice_fate slice_fate(const char *const *left_out, struct slice parent, struct slice key)
{
    enum slice_fate fate = SLICE_KEPT;

    for (const char *const *path = left_out; *path; path++) {
        size_t length = strcspn(*path, ".");
        const char *rest = (*path)[length] ? *path + length + 1 : NULL;

        if (parent.size) {
            if (rest && is_key(parent, *path, length) && is_key(key, rest, strlen(rest)))
                return SLICE_LEFT_OUT;
        } else if (is_key(key, *path, length)) {
            if (!rest)
                return SLICE_LEFT_OUT;
            fate = SLICE_LOOKED_INTO;
        }
    }
    return fate;
}

static bool copy_object(struct copy *copy, struct slice parent, struct slice object);

static void copy_value(struct copy *copy, enum slice_fate fate, const struct member *member)
{
    size_t before = copy->size;

    if (fate == SLICE_LOOKED_INTO && copy_object(copy, member->key, member->value))
        return;
    copy->size = before;
    put(copy, member->value.text, member->value.size);
}

static bool copy_object(struct copy *copy, struct slice parent, struct slice object)
{
    const char *end = object.text + object.size;
    const char *at = enter(object);
    bool has_member = false;

    if (!at)
        return false;
    put(copy, "{", 1);
    while (at < end && *at == '"') {
        struct member member = {0};
        enum slice_fate fate = SLICE_KEPT;

        at = read_member(at, end, &member);
        if (!at)
            return false;
        fate = slice_fate(copy->left_out, parent, member.key);
        if (fate != SLICE_LEFT_OUT) {
            if (has_member)
                put(copy, ",", 1);
            has_member = true;
            put(copy, "\"", 1);
            put(copy, member.key.text, member.key.size);
            put(copy, "\":", 2);
            copy_value(copy, fate, &member);
        }
        at = skip_space(at, end);
        if (at == end || *at != ',')
            break;
        at = skip_space(at + 1, end);
        if (at == end || *at != '"')
            return false;
    }
    if (at == end || *at != '}')
        return false;
    /* Also what follows the object, which is for the parser to refuse. */
    put(copy, at, (size_t)(end - at));
    return true;
}

char *slice_without(struct slice object, const char *const *left_out, size_t *ret_size)
{
    /* Never longer than what is copied: every byte that is put stands in the text. */
    struct copy copy = {.left_out = left_out, .text = xmalloc(object.size + 1)};

    if (!copy_object(&copy, (struct slice){0}, object)) {
        free(copy.text);
        return NULL;
    }
    copy.text[copy.size] = '\0';
    *ret_size = copy.size;
    return copy.text;
}
