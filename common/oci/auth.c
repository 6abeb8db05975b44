/* SPDX-License-Identifier: Apache-2.0 */
#include "common/oci/auth.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/net/http.h"

enum { LIFE_DEFAULT_S = 60, LIFE_MAX_S = 24 * 3600 };

/* ---- WWW-Authenticate: scheme name=value, name="value", ..., scheme ... (RFC 9110, 11.6.1) ----
 */

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* Reads a token, a quoted string or the empty string; *at moves past it. */
static char *read_value(const char **at)
{
    const char *c = *at;
    char *value = xmalloc(strlen(c) + 1);
    size_t used = 0;

    if (*c == '"') {
        for (c++; *c && *c != '"'; c++) {
            if (*c == '\\' && c[1])
                c++;
            value[used++] = *c;
        }
        if (*c == '"')
            c++;
    } else {
        while (*c && *c != ',' && *c != ' ' && *c != '\t')
            value[used++] = *c++;
    }
    value[used] = '\0';
    *at = c;
    return value;
}

static void set_once(char **place, char *value)
{
    if (*place)
        free(value);
    else
        *place = value;
}

static void add_parameter(struct challenge *found, const char *name, size_t length, char *value)
{
    if (length == 5 && strncasecmp(name, "realm", length) == 0)
        set_once(&found->realm, value);
    else if (length == 7 && strncasecmp(name, "service", length) == 0)
        set_once(&found->service, value);
    else if (length == 5 && strncasecmp(name, "scope", length) == 0)
        set_once(&found->scope, value);
    else {
        if (length == 5 && strncasecmp(name, "error", length) == 0)
            found->is_insufficient_scope = strcmp(value, "insufficient_scope") == 0;
        free(value);
    }
}

/* Parameters of one challenge, until the next scheme or the end. */
static const char *read_parameters(const char *at, struct challenge *found)
{
    for (;;) {
        const char *name = NULL;
        size_t length = 0;
        const char *after = NULL;

        at += strspn(at, " \t,");
        name = at;
        while (is_token_char(name[length]))
            length++;
        after = skip_blanks(name + length);
        if (length == 0 || *after != '=')
            return at;
        at = skip_blanks(after + 1);
        add_parameter(found, name, length, read_value(&at));
    }
}

static void take_bearer(struct challenge *challenge, struct challenge *found)
{
    if (challenge->realm || !found->realm)
        return;
    challenge->realm = steal(&found->realm);
    challenge->service = steal(&found->service);
    challenge->scope = steal(&found->scope);
    challenge->is_insufficient_scope = found->is_insufficient_scope;
}

void challenge_add(struct challenge *challenge, const char *header)
{
    const char *at = header;

    if (strlen(header) > CHALLENGE_MAX_BYTES)
        return;
    while (*(at += strspn(at, " \t,"))) {
        cleanup_challenge struct challenge found = {0};
        const char *scheme = at;
        size_t length = 0;

        while (is_token_char(scheme[length]))
            length++;
        /* Skip what is neither a scheme nor a parameter (token68, stray characters). */
        if (length == 0) {
            at++;
            continue;
        }
        at = read_parameters(skip_blanks(scheme + length), &found);
        if (length == 5 && strncasecmp(scheme, "basic", length) == 0)
            challenge->is_basic = true;
        else if (length == 6 && strncasecmp(scheme, "bearer", length) == 0)
            take_bearer(challenge, &found);
    }
}

void challenge_done(struct challenge *challenge)
{
    free(challenge->realm);
    free(challenge->service);
    free(challenge->scope);
    *challenge = (struct challenge){0};
}

/* ---- realms ---- */

static size_t host_length(const char *host)
{
    const char *bracket = strchr(host, ']');

    return bracket ? (size_t)(bracket - host) + 1 : strcspn(host, ":/?");
}

static bool is_address(const char *host, size_t length)
{
    cleanup_free char *text = xstrndup(host, length);
    struct in_addr address;

    return *host == '[' || inet_pton(AF_INET, text, &address) == 1;
}

/* "b.c" is a parent domain of "a.b.c"; a single label never is one. */
static bool is_parent(const char *parent, size_t parent_length, const char *child,
                      size_t child_length)
{
    return child_length > parent_length && child[child_length - parent_length - 1] == '.' &&
           strncasecmp(child + child_length - parent_length, parent, parent_length) == 0 &&
           memchr(parent, '.', parent_length) != NULL;
}

bool auth_is_realm_of(const char *registry_host, const char *realm_host)
{
    size_t registry_length = host_length(registry_host);
    size_t realm_length = host_length(realm_host);

    if (registry_length == 0 || realm_length == 0)
        return false;
    if (registry_length == realm_length &&
        strncasecmp(registry_host, realm_host, realm_length) == 0)
        return true;
    if (is_address(registry_host, registry_length) || is_address(realm_host, realm_length))
        return false;
    return is_parent(registry_host, registry_length, realm_host, realm_length) ||
           is_parent(realm_host, realm_length, registry_host, registry_length);
}

int auth_parse_realm(const char *url, struct realm *ret_realm, struct error *err)
{
    bool is_https = strncasecmp(url, "https://", 8) == 0;
    const char *authority = url + (is_https ? 8 : 7);
    size_t length = 0;

    if (!is_https && strncasecmp(url, "http://", 7) != 0)
        return error_set(err, ERROR_INVALID, "the registry's token server (realm) is not a URL");
    for (const char *c = url; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == '#' || *c == '\\')
            return error_set(err, ERROR_INVALID,
                             "the URL of the registry's token server (realm) is malformed");
    }
    length = strcspn(authority, "/?");
    if (memchr(authority, '@', length) || host_length(authority) == 0 ||
        host_length(authority) > length)
        return error_set(err, ERROR_INVALID,
                         "the URL of the registry's token server (realm) is malformed");
    length = host_length(authority);
    ret_realm->host = xstrndup(authority, length);
    for (char *c = ret_realm->host; *c; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    }
    ret_realm->is_https = is_https;
    return 0;
}

int auth_check_realm(const char *url, const char *registry_host, bool is_registry_plain,
                     struct realm *ret_realm, struct error *err)
{
    if (auth_parse_realm(url, ret_realm, err) < 0)
        return -1;
    if (!ret_realm->is_https && !is_registry_plain)
        return error_set(err, ERROR_DENIED, "registry \"%s\" refers to a token server without TLS",
                         registry_host);
    return 0;
}

void realm_done(struct realm *realm)
{
    free(realm->host);
    *realm = (struct realm){0};
}

/* ---- tokens ---- */

static void append_parameter(char **text, char separator, const char *name, const char *value)
{
    cleanup_free char *escaped = http_url_escape(value);
    char *longer = xasprintf("%s%c%s=%s", *text, separator, name, escaped);

    wipe_free(*text);
    *text = longer;
}

char *auth_token_url(const char *realm, const char *service, const char *scope)
{
    char *url = xstrdup(realm);
    char separator = strchr(realm, '?') ? '&' : '?';
    const char *at = scope;

    if (service && *service) {
        append_parameter(&url, separator, "service", service);
        separator = '&';
    }
    while (*(at += strspn(at, " "))) {
        cleanup_free char *word = xstrndup(at, strcspn(at, " "));

        append_parameter(&url, separator, "scope", word);
        separator = '&';
        at += strlen(word);
    }
    return url;
}

char *auth_refresh_form(const char *service, const char *scope, const char *refresh_token)
{
    char *form = xstrdup("grant_type=refresh_token");

    append_parameter(&form, '&', "service", service ? service : "");
    append_parameter(&form, '&', "client_id", "longshore");
    append_parameter(&form, '&', "scope", scope);
    append_parameter(&form, '&', "refresh_token", refresh_token);
    return form;
}

static bool is_header_safe(const char *token)
{
    for (const char *c = token; *c; c++) {
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
            return false;
    }
    return *token != '\0';
}

int auth_parse_token(const char *bytes, size_t size, char **ret_token, uint64_t *ret_life_ms,
                     struct error *err)
{
    cleanup_json json_t *answer = NULL;
    const char *token = NULL;
    int64_t life_s = 0;

    if (doc_parse_json(bytes, size, TOKEN_ANSWER_MAX_BYTES, &answer, err) < 0)
        return error_wrap(err, "response of the token server");
    token = doc_text(answer, "access_token");
    if (!token || !*token)
        token = doc_text(answer, "token");
    if (!token || !is_header_safe(token))
        return error_set(err, ERROR_INVALID, "response of the token server contains no token");
    life_s = doc_integer_or(answer, "expires_in", LIFE_DEFAULT_S);
    if (life_s < LIFE_DEFAULT_S)
        life_s = LIFE_DEFAULT_S;
    if (life_s > LIFE_MAX_S)
        life_s = LIFE_MAX_S;
    *ret_token = xstrdup(token);
    *ret_life_ms = (uint64_t)life_s * 1000;
    return 0;
}
