/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/item/mask.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"

#define MASK "***"

enum { SECRET_LENGTH_MIN = 6, TOKEN_LENGTH_MIN = 16 };

/* What is masked at cursor: its length in the text, 0 if nothing. *ret_keep bytes of it stay in
 * front of the mask. */
typedef size_t mask_rule_fn(const char *start, const char *cursor, size_t *ret_keep);

static bool is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '-';
}

static size_t span_token(const char *text)
{
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
}

/* -----BEGIN ... PRIVATE KEY----- to its end, or to the text's. */
static size_t rule_private_key(const char *start, const char *cursor, size_t *ret_keep)
{
    static const char begin[] = "-----BEGIN ";
    const char *kind = NULL;
    const char *line_end = NULL;
    const char *end = NULL;

    (void)start;
    if (strncmp(cursor, begin, strlen(begin)) != 0)
        return 0;
    line_end = cursor + strcspn(cursor, "\n");
    kind = strstr(cursor, "PRIVATE KEY");
    if (!kind || kind > line_end)
        return 0;
    *ret_keep = 0;
    end = strstr(kind, "-----END ");
    if (!end)
        return strlen(cursor);
    end += strcspn(end, "\n");
    return (size_t)(end - cursor);
}

/* eyJ....eyJ....signature */
static size_t rule_web_token(const char *start, const char *cursor, size_t *ret_keep)
{
    size_t header = 0;
    size_t body = 0;

    if (strncmp(cursor, "eyJ", 3) != 0 || (cursor > start && is_word(cursor[-1])))
        return 0;
    header = span_token(cursor);
    if (header < TOKEN_LENGTH_MIN || cursor[header] != '.')
        return 0;
    body = span_token(cursor + header + 1);
    if (body < TOKEN_LENGTH_MIN)
        return 0;
    *ret_keep = 0;
    header += 1 + body;
    return cursor[header] == '.' ? header + 1 + span_token(cursor + header + 1) : header;
}

/* scheme://user:password@host */
static size_t rule_url(const char *start, const char *cursor, size_t *ret_keep)
{
    size_t length = 0;

    (void)start;
    if (strncmp(cursor, "://", 3) != 0)
        return 0;
    length = strcspn(cursor + 3, "@/ \t\r\n\"'<>");
    if (cursor[3 + length] != '@' || !memchr(cursor + 3, ':', length))
        return 0;
    *ret_keep = 3;
    return 3 + length;
}

static bool is_secret_word(const char *word, size_t length)
{
    static const char *const words[] = {"password", "passwd",        "passphrase", "token",
                                        "secret",   "authorization", "apikey",     "api_key",
                                        "api-key",  "credential",    "credentials"};

    for (size_t i = 0; i < array_length(words); i++) {
        size_t size = strlen(words[i]);

        /* DB_PASSWORD, accessToken: the word may have a beginning of its own. */
        if (length >= size && strncasecmp(word + length - size, words[i], size) == 0)
            return true;
    }
    return false;
}

/* "password": "x", TOKEN=x, Authorization: Bearer x */
static size_t rule_named(const char *start, const char *cursor, size_t *ret_keep)
{
    size_t name = 0;
    size_t value = 0;
    const char *at = cursor;
    bool is_quoted = false;

    if (!is_word(*cursor) || (cursor > start && is_word(cursor[-1])))
        return 0;
    while (is_word(cursor[name]))
        name++;
    if (!is_secret_word(cursor, name))
        return 0;
    at += name;
    at += strspn(at, "\"'");
    at += strspn(at, " \t");
    if (*at != ':' && *at != '=')
        return 0;
    at++;
    at += strspn(at, " \t");
    if (*at == '"' || *at == '\'')
        is_quoted = *at++ != '\0';
    if (!is_quoted && (strncasecmp(at, "bearer ", 7) == 0 || strncasecmp(at, "basic ", 6) == 0))
        at += strcspn(at, " ") + 1;
    value = strcspn(at, is_quoted ? "\"'\r\n" : " \t\r\n,;\"'");
    *ret_keep = (size_t)(at - cursor);
    return value > 0 ? *ret_keep + value : 0;
}

/* Wherever they stand, also inside of what a rule keeps, and where one is the start of another. */
static void mark_secrets(const char *text, const char *const *secrets, bool *is_hidden)
{
    for (size_t i = 0; secrets && secrets[i]; i++) {
        size_t length = strlen(secrets[i]);

        if (length < SECRET_LENGTH_MIN)
            continue;
        for (const char *found = text; (found = strstr(found, secrets[i])); found++)
            memset(is_hidden + (found - text), true, length);
    }
}

static void mark_by_rules(const char *text, bool *is_hidden)
{
    static mask_rule_fn *const rules[] = {rule_private_key, rule_web_token, rule_url, rule_named};
    const char *cursor = text;

    while (*cursor) {
        size_t keep = 0;
        size_t length = 0;

        for (size_t i = 0; length == 0 && i < array_length(rules); i++)
            length = rules[i](text, cursor, &keep);
        if (length > 0)
            memset(is_hidden + (cursor - text) + keep, true, length - keep);
        cursor += length > 0 ? length : 1;
    }
}

char *mask_text(const char *text, const char *const *secrets)
{
    size_t size = strlen(text);
    cleanup_free bool *is_hidden = xcalloc(size + 1, sizeof(*is_hidden));
    /* A mask may be longer than what it hides, by two at most. */
    char *masked = xcalloc(size + 1, strlen(MASK));
    size_t used = 0;

    mark_secrets(text, secrets, is_hidden);
    mark_by_rules(text, is_hidden);
    for (size_t i = 0; i < size; i++) {
        if (!is_hidden[i]) {
            masked[used++] = text[i];
        } else if (!is_hidden[i + 1]) { /* the last of its run */
            memcpy(masked + used, MASK, strlen(MASK));
            used += strlen(MASK);
        }
    }
    masked[used] = '\0';
    return masked;
}
