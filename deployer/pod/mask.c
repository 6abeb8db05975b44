/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/mask.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"

#define MASK "***"

enum {
    SECRET_LENGTH_MIN = 6,
    TOKEN_LENGTH_MIN = 16,
    /* Minimum length of a partial secret at the start or end of the text. The kubelet truncates
     * messages at 2048 or 4096 bytes (less with many containers), so a short text is complete, and
     * a match of few characters at its edge is a coincidence. */
    CUT_LENGTH_MIN = 4,
    CUT_LENGTH_MIN_SHORT = 8,
    SHORT_TEXT_MAX = 1023,
    PIECE_BUCKETS = 1 << 16,
};

/* A rule returns the length of the text at cursor that it replaces; 0: it does not match. The first
 * *ret_keep bytes of it are kept in front of the mask. */
typedef size_t mask_rule_fn(const char *start, const char *cursor, size_t *ret_keep);

static bool is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '-';
}

static size_t span_token(const char *text)
{
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
}

/* -----BEGIN ... PRIVATE KEY----- to its end line, or to the end of the text. */
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

/* The rest of a truncated key at the start of the text. */
static size_t rule_private_key_end(const char *start, const char *cursor, size_t *ret_keep)
{
    static const char begin[] = "-----BEGIN ";
    const char *end = NULL;
    const char *line_end = NULL;
    const char *kind = NULL;

    if (cursor != start)
        return 0;
    end = strstr(cursor, "-----END ");
    if (!end || (strstr(cursor, begin) && strstr(cursor, begin) < end))
        return 0;
    line_end = end + strcspn(end, "\n");
    kind = strstr(end, "PRIVATE KEY");
    *ret_keep = 0;
    return kind && kind < line_end ? (size_t)(line_end - cursor) : 0;
}

/* ...eyJ....signature: a token without its first characters. */
static size_t rule_web_token_end(const char *start, const char *cursor, size_t *ret_keep)
{
    size_t length = 0;

    if (cursor != start)
        return 0;
    length = span_token(cursor);
    if (cursor[length] != '.')
        return 0;
    for (size_t part = 0; part < 2 && cursor[length] == '.'; part++) {
        size_t next = span_token(cursor + length + 1);

        if (next < TOKEN_LENGTH_MIN)
            return 0;
        length += 1 + next;
    }
    *ret_keep = 0;
    return length;
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
    static const char *const keywords[] = {"password", "passwd",        "passphrase", "token",
                                           "secret",   "authorization", "apikey",     "api_key",
                                           "api-key",  "credential",    "credentials"};

    for (size_t i = 0; i < array_length(keywords); i++) {
        size_t size = strlen(keywords[i]);

        /* DB_PASSWORD, accessToken: the keyword can have a prefix. */
        if (length >= size && strncasecmp(word + length - size, keywords[i], size) == 0)
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

/* ---- Known secrets ---- */

/* The text, which of its bytes are masked, a filter of its substrings of SECRET_LENGTH_MIN bytes,
 * and the borders of its start. There can be 100,000 secrets, so most of them must be rejected by
 * the filter without searching the text. */
struct search {
    const char *text;
    size_t size;
    size_t front, back; /* without U+FFFD at both ends, which stands for a split character */
    size_t cut_min;
    bool *is_masked;
    bool *has_piece;
    uint32_t *border;        /* of the start of the text */
    uint32_t *secret_border; /* of the current secret */
    size_t secret_capacity;
};

static size_t piece_bucket(const char *piece)
{
    uint32_t hash = 2166136261U;

    for (size_t i = 0; i < SECRET_LENGTH_MIN; i++)
        hash = (hash ^ (unsigned char)piece[i]) * 16777619U;
    return (hash ^ hash >> 16) % PIECE_BUCKETS;
}

/* border[i]: the length of the longest proper prefix of pattern[0..i] that is also its suffix
 * (Knuth, Morris, Pratt), which makes a search linear for any text. */
static void make_border(const char *pattern, size_t size, uint32_t *border)
{
    uint32_t length = 0;

    for (size_t i = 1; i < size; i++) {
        while (length && pattern[i] != pattern[length])
            length = border[length - 1];
        length += pattern[i] == pattern[length];
        border[i] = length;
    }
}

/* The length of the matching prefix of the pattern after one more byte. */
static uint32_t advance(const char *pattern, size_t size, const uint32_t *border, uint32_t length,
                        char byte)
{
    if (length == size)
        length = border[length - 1];
    while (length && byte != pattern[length])
        length = border[length - 1];
    return length + (byte == pattern[length]);
}

/* The text may start in the middle of a secret: the kubelet keeps the last bytes of a log. */
static void mark_cut_front(struct search *search, const char *secret, size_t length)
{
    const char *text = search->text + search->front;
    size_t size = search->back - search->front;
    uint32_t found = 0;

    for (size_t i = 1; i < length && size; i++)
        found = advance(text, size, search->border, found, secret[i]);
    if (found >= search->cut_min)
        memset(search->is_masked + search->front, true, found);
}

/* It may also end in one, unless it ends with a newline. */
static void mark_cut_back(struct search *search, const char *secret, size_t length)
{
    size_t size = search->back - search->front;
    size_t looked_at = size < length - 1 ? size : length - 1;
    uint32_t found = 0;

    if (size == 0 || search->text[search->back - 1] == '\n')
        return;
    for (size_t i = search->back - looked_at; i < search->back; i++)
        found = advance(secret, length, search->secret_border, found, search->text[i]);
    if (found >= search->cut_min)
        memset(search->is_masked + search->back - found, true, found);
}

static bool may_stand_in(const struct search *search, const char *secret, size_t length)
{
    return length <= search->size && search->has_piece[piece_bucket(secret)] &&
           search->has_piece[piece_bucket(secret + length - SECRET_LENGTH_MIN)];
}

/* All occurrences, including overlapping ones and those that a rule would keep. */
static void mark_whole(struct search *search, const char *secret, size_t length)
{
    size_t masked_to = 0;
    uint32_t found = 0;

    for (size_t i = 0; i < search->size; i++) {
        size_t from = 0;

        found = advance(secret, length, search->secret_border, found, search->text[i]);
        if (found < length)
            continue;
        from = i + 1 - length;
        from = from > masked_to ? from : masked_to;
        masked_to = i + 1;
        memset(search->is_masked + from, true, masked_to - from);
    }
}

static void mark_secret(struct search *search, const char *secret)
{
    size_t length = strlen(secret);
    const char *last = search->text + search->back;
    bool may_be_cut = false;

    if (length < SECRET_LENGTH_MIN)
        return;
    mark_cut_front(search, secret, length);
    may_be_cut = search->back > search->front && strchr(secret, last[-1]);
    if (!may_be_cut && !may_stand_in(search, secret, length))
        return;
    if (length > search->secret_capacity) {
        search->secret_capacity = 2 * length;
        free(search->secret_border);
        search->secret_border = xcalloc(search->secret_capacity, sizeof(uint32_t));
    }
    make_border(secret, length, search->secret_border);
    mark_cut_back(search, secret, length);
    if (may_stand_in(search, secret, length))
        mark_whole(search, secret, length);
}

static void mark_secrets(const char *text, const char *const *secrets, bool *is_masked)
{
    static const char broken[] = "\xef\xbf\xbd"; /* U+FFFD replaces a split character */
    struct search search = {
        .text = text, .size = strlen(text), .back = strlen(text), .is_masked = is_masked};
    cleanup_free bool *has_piece = NULL;
    cleanup_free uint32_t *border = NULL;

    if (!secrets || !secrets[0] || search.size == 0)
        return;
    while (strncmp(text + search.front, broken, strlen(broken)) == 0)
        search.front += strlen(broken);
    while (search.back >= search.front + strlen(broken) &&
           strncmp(text + search.back - strlen(broken), broken, strlen(broken)) == 0)
        search.back -= strlen(broken);
    search.cut_min = search.size > SHORT_TEXT_MAX ? CUT_LENGTH_MIN : CUT_LENGTH_MIN_SHORT;
    search.has_piece = has_piece = xcalloc(PIECE_BUCKETS, sizeof(*has_piece));
    search.border = border = xcalloc(search.size, sizeof(*border));
    for (size_t i = 0; i + SECRET_LENGTH_MIN <= search.size; i++)
        has_piece[piece_bucket(text + i)] = true;
    make_border(text + search.front, search.back - search.front, border);
    for (size_t i = 0; secrets[i]; i++)
        mark_secret(&search, secrets[i]);
    free(search.secret_border);
}

static void mark_by_rules(const char *text, bool *is_masked)
{
    static mask_rule_fn *const rules[] = {
        rule_private_key_end, rule_web_token_end, rule_private_key,
        rule_web_token,       rule_url,           rule_named};
    const char *cursor = text;

    while (*cursor) {
        size_t keep = 0;
        size_t length = 0;

        for (size_t i = 0; length == 0 && i < array_length(rules); i++)
            length = rules[i](text, cursor, &keep);
        if (length > 0)
            memset(is_masked + (cursor - text) + keep, true, length - keep);
        cursor += length > 0 ? length : 1;
    }
}

char *mask_text(const char *text, const char *const *secrets)
{
    size_t size = strlen(text);
    cleanup_free bool *is_masked = xcalloc(size + 1, sizeof(*is_masked));
    /* A mask can be up to two bytes longer than the text that it replaces. */
    char *masked = xcalloc(size + 1, strlen(MASK));
    size_t used = 0;

    mark_secrets(text, secrets, is_masked);
    mark_by_rules(text, is_masked);
    for (size_t i = 0; i < size; i++) {
        if (!is_masked[i]) {
            masked[used++] = text[i];
        } else if (!is_masked[i + 1]) { /* the end of a masked range */
            memcpy(masked + used, MASK, strlen(MASK));
            used += strlen(MASK);
        }
    }
    masked[used] = '\0';
    return masked;
}
