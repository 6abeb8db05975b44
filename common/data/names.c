/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/names.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/digest.h"

static bool is_lower_or_digit(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
}

static bool is_alphanumeric(char letter)
{
    return is_lower_or_digit(letter) || (letter >= 'A' && letter <= 'Z');
}

static bool is_label(const char *text, size_t length)
{
    if (length == 0 || !is_lower_or_digit(text[0]) || !is_lower_or_digit(text[length - 1]))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_lower_or_digit(text[i]) && text[i] != '-')
            return false;
    }
    return true;
}

/* Kubernetes limits the length of the subdomain, not that of its labels. */
static bool is_subdomain(const char *text, size_t length)
{
    const char *end = text + length;

    if (length > NAME_MAX_SUBDOMAIN)
        return false;
    for (;;) {
        const char *dot = memchr(text, '.', (size_t)(end - text));

        if (!is_label(text, (size_t)((dot ? dot : end) - text)))
            return false;
        if (!dot)
            return true;
        text = dot + 1;
    }
}

bool name_is_dns_subdomain(const char *text)
{
    return is_subdomain(text, strlen(text));
}

static bool is_value_letter(char letter)
{
    return is_alphanumeric(letter) || letter == '-' || letter == '_' || letter == '.';
}

bool name_is_label_value(const char *text)
{
    size_t length = strlen(text);

    if (length == 0)
        return true;
    if (length > NAME_MAX_LABEL || !is_alphanumeric(text[0]) || !is_alphanumeric(text[length - 1]))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_value_letter(text[i]))
            return false;
    }
    return true;
}

bool name_is_label_key(const char *text)
{
    const char *slash = strchr(text, '/');
    const char *name = slash ? slash + 1 : text;

    if (slash && !is_subdomain(text, (size_t)(slash - text)))
        return false;
    return *name && name_is_label_value(name);
}

static void hash_three(const char *first, const char *second, const char *third,
                       char ret_hash[NAME_HASH_SIZE])
{
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);
    char hex[DIGEST_HEX_MAX] = {0};

    digest_update(digest, first, strlen(first));
    digest_update(digest, second, strlen(second));
    digest_update(digest, third, strlen(third));
    digest_hex(digest, hex);
    memcpy(ret_hash, hex, NAME_HASH_SIZE - 1);
    ret_hash[NAME_HASH_SIZE - 1] = '\0';
}

void name_hash(const char *namespace_name, const char *name, char ret_hash[NAME_HASH_SIZE])
{
    hash_three(namespace_name ? namespace_name : "", "/", name, ret_hash);
}

static char to_label_letter(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return (char)(letter - 'A' + 'a');
    return is_lower_or_digit(letter) ? letter : '-';
}

static char to_value_letter(char letter)
{
    return is_value_letter(letter) ? letter : '-';
}

/* At most max letters of text, each converted, that begin and end with an alphanumeric character;
 * may be "". */
static char *make_readable(const char *text, size_t max, char (*convert)(char))
{
    char *readable = xcalloc(max + 1, 1);
    size_t used = 0;

    for (; *text && used < max; text++) {
        char letter = convert(*text);

        if (used > 0 || is_alphanumeric(letter))
            readable[used++] = letter;
    }
    while (used > 0 && !is_alphanumeric(readable[used - 1]))
        readable[--used] = '\0';
    return readable;
}

char *name_make(const char *namespace_name, const char *name, const char *suffix, size_t max)
{
    cleanup_free char *readable = NULL;
    cleanup_free char *ending = NULL;
    char hash[NAME_HASH_SIZE] = {0};
    size_t limit = max == 0 || max > NAME_MAX_LABEL ? NAME_MAX_LABEL : max;
    size_t fixed = 0;

    ending = xstrdup(suffix ? suffix : "");
    for (char *at = ending; *at; at++)
        *at = to_label_letter(*at);
    for (size_t length = strlen(ending); length > 0 && ending[length - 1] == '-'; length--)
        ending[length - 1] = '\0';
    name_hash(namespace_name, name, hash);
    fixed = strlen(hash) + strlen(ending);
    /* No room for the suffix: it becomes part of the hash, so that the names still differ. */
    if (fixed > limit) {
        cleanup_free char *both = xasprintf("%s/%s", name, suffix);

        name_hash(namespace_name, both, hash);
        hash[limit < sizeof(hash) ? limit : sizeof(hash) - 1] = '\0';
        return xstrdup(hash);
    }
    if (limit > fixed + 1)
        readable = make_readable(name, limit - fixed - 1, to_label_letter);
    if (!readable || !*readable)
        return xasprintf("%s%s", hash, ending);
    return xasprintf("%s-%s%s", readable, hash, ending);
}

char *name_label_value(const char *text)
{
    cleanup_free char *readable = NULL;
    char hash[NAME_HASH_SIZE] = {0};

    if (name_is_label_value(text))
        return xstrdup(text);
    hash_three(text, "", "", hash);
    readable = make_readable(text, NAME_MAX_LABEL - NAME_HASH_SIZE, to_value_letter);
    /* Names of objects have no "_", so this cannot collide with the name of another object. */
    return xasprintf("%s_%s", *readable ? readable : "0", hash);
}
