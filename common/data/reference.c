/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/reference.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/digest.h"

enum { REPOSITORY_MAX = 255, HOST_MAX = 255 + 6, TAG_MAX = 128, HEX_IDENTIFIER = 64 };

static const char docker_host[] = "docker.io";

struct reference {
    char *host;
    char *repository;
    char *tag;
    char *digest;
};

void reference_free(struct reference *reference)
{
    if (!reference)
        return;
    free(reference->host);
    free(reference->repository);
    free(reference->tag);
    free(reference->digest);
    free(reference);
}

static bool is_lower_or_digit(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
}

static bool is_upper(char letter)
{
    return letter >= 'A' && letter <= 'Z';
}

static bool is_alphanumeric(char letter)
{
    return is_lower_or_digit(letter) || is_upper(letter);
}

static bool is_port(const char *text, size_t length)
{
    return length > 0 && length <= 5 && strspn(text, "0123456789") >= length;
}

/* [2001:db8::1]; zones are not allowed in references. */
static size_t ipv6_length(const char *host)
{
    size_t inner = host[0] == '[' ? strspn(host + 1, "0123456789abcdefABCDEF:") : 0;

    return inner > 0 && host[1 + inner] == ']' ? inner + 2 : 0;
}

/* Letters, digits and inner hyphens, joined by dots. */
static size_t domain_length(const char *host)
{
    const char *at = host;

    for (;;) {
        const char *start = at;

        while (is_alphanumeric(*at) || *at == '-')
            at++;
        if (at == start || *start == '-' || at[-1] == '-')
            return 0;
        if (*at != '.')
            return (size_t)(at - host);
        at++;
    }
}

static bool is_host(const char *host)
{
    size_t length = host[0] == '[' ? ipv6_length(host) : domain_length(host);

    if (length == 0 || strlen(host) > HOST_MAX)
        return false;
    return !host[length] ||
           (host[length] == ':' && is_port(host + length + 1, strlen(host + length + 1)));
}

/* Between letters: '.', '_', "__" or any number of '-'. */
static size_t separator_length(const char *text)
{
    if (text[0] == '-')
        return strspn(text, "-");
    if (text[0] == '_' && text[1] == '_')
        return 2;
    return text[0] == '.' || text[0] == '_' ? 1 : 0;
}

/* alphanumerics [separator alphanumerics]* joined by '/'. */
bool reference_is_repository(const char *text)
{
    if (strlen(text) > REPOSITORY_MAX)
        return false;
    for (;;) {
        if (!is_lower_or_digit(*text))
            return false;
        while (is_lower_or_digit(*text))
            text++;
        if (!*text)
            return true;
        if (*text == '/') {
            text++;
        } else {
            size_t separator = separator_length(text);

            if (separator == 0)
                return false;
            text += separator;
        }
    }
}

bool reference_is_tag(const char *text)
{
    size_t length = strlen(text);

    if (length == 0 || length > TAG_MAX || !(is_alphanumeric(text[0]) || text[0] == '_'))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_alphanumeric(text[i]) && !strchr("_.-", text[i]))
            return false;
    }
    return true;
}

static bool has_upper(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (is_upper(text[i]))
            return true;
    }
    return false;
}

/* Docker's rule: the first component is a host if it has a dot, a port or capitals, or is
 * "localhost". */
static bool is_host_component(const char *text, size_t length)
{
    return memchr(text, '.', length) || memchr(text, ':', length) || has_upper(text, length) ||
           (length == strlen("localhost") && strncmp(text, "localhost", length) == 0);
}

static void split_host(struct reference *reference, const char *name)
{
    const char *slash = strchr(name, '/');
    const char *path = name;

    if (slash && is_host_component(name, (size_t)(slash - name))) {
        reference->host = xstrndup(name, (size_t)(slash - name));
        path = slash + 1;
    } else {
        reference->host = xstrdup(docker_host);
    }
    if (strcmp(reference->host, "index.docker.io") == 0) {
        free(reference->host);
        reference->host = xstrdup(docker_host);
    }
    if (strcmp(reference->host, docker_host) == 0 && !strchr(path, '/'))
        reference->repository = xasprintf("library/%s", path);
    else
        reference->repository = xstrdup(path);
}

static int check(const struct reference *reference, const char *name, const char *text,
                 struct error *err)
{
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;

    if (strlen(name) == HEX_IDENTIFIER && strspn(name, "0123456789abcdef") == HEX_IDENTIFIER)
        return error_set(
            err, ERROR_INVALID,
            "image reference \"%.300s\" is an image id; use a name with a tag or digest", text);
    if (reference->digest && digest_parse(reference->digest, &algorithm, &hex, err) < 0)
        return error_wrap(err, "image reference \"%.300s\"", text);
    if (!is_host(reference->host))
        return error_set(err, ERROR_INVALID, "image reference \"%.300s\": invalid host \"%.100s\"",
                         text, reference->host);
    if (has_upper(reference->repository, strlen(reference->repository)))
        return error_set(err, ERROR_INVALID,
                         "image reference \"%.300s\": repository must be lower case", text);
    if (strlen(reference->repository) > REPOSITORY_MAX)
        return error_set(err, ERROR_INVALID,
                         "image reference \"%.300s\": repository is longer than %d characters",
                         text, REPOSITORY_MAX);
    if (!reference_is_repository(reference->repository))
        return error_set(err, ERROR_INVALID,
                         "image reference \"%.300s\": invalid repository \"%.100s\"", text,
                         reference->repository);
    if (reference->tag && !reference_is_tag(reference->tag))
        return error_set(err, ERROR_INVALID, "image reference \"%.300s\": invalid tag \"%.140s\"",
                         text, reference->tag);
    return 0;
}

/* The text for error messages: users do write "user:password@host/image". */
static char *without_credentials(const char *text)
{
    const char *hidden = NULL;

    for (const char *at = strchr(text, '@'); at; at = strchr(at + 1, '@')) {
        if (strncmp(at, "@sha256:", 8) != 0 && strncmp(at, "@sha512:", 8) != 0)
            hidden = at;
    }
    return hidden ? xasprintf("***%s", hidden) : xstrdup(text);
}

int reference_parse(const char *text, struct reference **ret_reference, struct error *err)
{
    cleanup_reference struct reference *reference = xcalloc(1, sizeof(*reference));
    cleanup_free char *shown = without_credentials(text);
    cleanup_free char *name = NULL;
    const char *at_sign = strchr(text, '@');
    const char *slash = NULL;
    char *colon = NULL;

    if (!*text)
        return error_set(err, ERROR_INVALID, "image reference is empty");
    if (strstr(text, "://"))
        return error_set(err, ERROR_INVALID,
                         "image reference \"%.300s\" must not begin with a scheme", shown);
    if (at_sign && strchr(at_sign + 1, '@'))
        return error_set(
            err, ERROR_INVALID,
            "image reference \"%.300s\" has more than one '@'; it must not contain credentials",
            shown);
    name = xstrndup(text, at_sign ? (size_t)(at_sign - text) : strlen(text));
    if (at_sign)
        reference->digest = xstrdup(at_sign + 1);
    /* A colon before the last slash is a port. */
    slash = strrchr(name, '/');
    colon = strrchr(name, ':');
    if (colon && (!slash || colon > slash)) {
        reference->tag = xstrdup(colon + 1);
        *colon = '\0';
    }
    split_host(reference, name);
    if (check(reference, name, shown, err) < 0)
        return -1;
    if (reference->digest)
        free(steal(&reference->tag));
    else if (!reference->tag)
        reference->tag = xstrdup("latest");
    *ret_reference = steal(&reference);
    return 0;
}

const char *reference_host(const struct reference *reference)
{
    return reference->host;
}

const char *reference_repository(const struct reference *reference)
{
    return reference->repository;
}

const char *reference_tag(const struct reference *reference)
{
    return reference->tag;
}

const char *reference_object(const struct reference *reference)
{
    return reference->digest ? reference->digest : reference->tag;
}
