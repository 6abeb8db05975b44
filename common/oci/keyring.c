/* SPDX-License-Identifier: Apache-2.0 */
#include "common/oci/keyring.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"

#define DOCKER_HUB "docker.io"
#define DOCKER_HUB_KEY "https://index.docker.io/v1/"

enum { AUTH_MAX_BYTES = 64 * 1024 };

/* A parsed address; port and path are "" if missing. */
struct address {
    char *host, *port, *path;
};

struct entry {
    struct address address;
    struct credential credential;
};

struct keyring {
    struct entry **entries; /* allocated one by one: borrowed credentials must stay valid */
    size_t count;
};

static void wipe_text(const char *secret)
{
    wipe_free((char *)(uintptr_t)secret);
}

static void credential_done(struct credential *credential)
{
    wipe_text(credential->username);
    wipe_text(credential->password);
    wipe_text(credential->identity_token);
    wipe_text(credential->registry_token);
    wipe_text(credential->ca_pem);
}

static void address_done(struct address *address)
{
    free(address->host);
    free(address->port);
    free(address->path);
}

static void entry_free(struct entry *entry)
{
    if (!entry)
        return;
    credential_done(&entry->credential);
    address_done(&entry->address);
    free(entry);
}
define_cleanup(struct entry *, entry_free)
#define cleanup_entry __attribute__((cleanup(entry_freep)))

struct keyring *keyring_new(void)
{
    return xcalloc(1, sizeof(struct keyring));
}

void keyring_free(struct keyring *keyring)
{
    if (!keyring)
        return;
    for (size_t i = 0; i < keyring->count; i++)
        entry_free(keyring->entries[i]);
    free(keyring->entries);
    free(keyring);
}

static bool is_docker_hub(const char *host)
{
    return strcmp(host, DOCKER_HUB) == 0 || strcmp(host, "index.docker.io") == 0 ||
           strcmp(host, "registry-1.docker.io") == 0;
}

static char *lower_case(const char *text, size_t length)
{
    char *lower = xstrndup(text, length);

    for (char *c = lower; *c; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    }
    return lower;
}

/* The position of the port in host[:port]; IPv6 addresses are in brackets. */
static const char *find_port(const char *authority, size_t length)
{
    const char *bracket = memchr(authority, ']', length);
    const char *from = bracket ? bracket : authority;

    return memchr(from, ':', length - (size_t)(from - authority));
}

/* False if the address has no host. */
static bool address_parse(const char *text, struct address *ret_address)
{
    const char *scheme = strstr(text, "://");
    const char *authority = scheme ? scheme + 3 : text;
    size_t length = strcspn(authority, "/");
    const char *port = find_port(authority, length);
    size_t host_length = port ? (size_t)(port - authority) : length;
    const char *path = authority + length;
    size_t path_length = 0;

    if (host_length == 0 || (memchr(authority, '[', length) && !memchr(authority, ']', length)))
        return false;
    path += strspn(path, "/");
    path_length = strlen(path);
    while (path_length > 0 && path[path_length - 1] == '/')
        path_length--;
    /* Docker's keys contain the version of the API, which is not part of the repository. */
    if (path_length >= 2 && (strncmp(path, "v1", 2) == 0 || strncmp(path, "v2", 2) == 0) &&
        (path[2] == '/' || path[2] == '\0')) {
        size_t version_length = path_length > 2 ? 3 : 2;

        path += version_length;
        path_length -= version_length;
    }
    ret_address->host = lower_case(authority, host_length);
    ret_address->port = port ? xstrndup(port + 1, length - host_length - 1) : xstrdup("");
    ret_address->path = xstrndup(path, path_length);
    if (is_docker_hub(ret_address->host)) {
        free(ret_address->host);
        ret_address->host = xstrdup(DOCKER_HUB);
    }
    return true;
}

static struct entry *entry_new(const char *address, struct error *err)
{
    cleanup_entry struct entry *entry = xcalloc(1, sizeof(*entry));

    if (!address_parse(address, &entry->address)) {
        (void)error_set(err, ERROR_INVALID, "\"%.200s\" contains no registry host", address);
        return NULL;
    }
    return steal(&entry);
}

static void keyring_take(struct keyring *keyring, struct entry *entry)
{
    keyring->entries = xreallocarray(keyring->entries, keyring->count + 1, sizeof(struct entry *));
    keyring->entries[keyring->count++] = entry;
}

int keyring_add(struct keyring *keyring, const char *address, const struct credential *credential,
                struct error *err)
{
    struct entry *entry = entry_new(address, err);

    if (!entry)
        return -1;
    entry->credential = (struct credential){
        .username = xstrdup_or_null(credential->username),
        .password = xstrdup_or_null(credential->password),
        .identity_token = xstrdup_or_null(credential->identity_token),
        .registry_token = xstrdup_or_null(credential->registry_token),
        .ca_pem = xstrdup_or_null(credential->ca_pem),
    };
    keyring_take(keyring, entry);
    return 0;
}

/* Go matches keys case-insensitively, and both spellings exist. */
static const char *text_any_case(const json_t *object, const char *key)
{
    const char *name = NULL;
    json_t *value = NULL;

    doc_foreach(object, name, value)
    {
        if (strcasecmp(name, key) == 0 && json_is_string(value) && json_string_length(value) > 0)
            return json_string_value(value);
    }
    return NULL;
}

/* Files written with "echo" end with a newline; docker pads with NULs. */
static char *trimmed(const char *text, size_t size)
{
    while (size > 0 && *text == '\0') {
        text++;
        size--;
    }
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r' || text[size - 1] == '\0'))
        size--;
    return xstrndup(text, size);
}

static int split_auth(const char *auth, struct credential *credential, struct error *err)
{
    struct buffer plain = {0};
    const char *colon = NULL;
    int result = -1;

    buffer_init(&plain, AUTH_MAX_BYTES);
    if (base64_decode(auth, strlen(auth), &plain, err) < 0) {
        (void)error_set(err, ERROR_INVALID, "'auth' is not valid base64");
        goto out;
    }
    colon = plain.data ? memchr(plain.data, ':', plain.size) : NULL;
    if (!colon || colon == plain.data) {
        (void)error_set(err, ERROR_INVALID, "'auth' is not the base64 encoding of user:password");
        goto out;
    }
    credential->username = trimmed(plain.data, (size_t)(colon - plain.data));
    credential->password = trimmed(colon + 1, plain.size - (size_t)(colon - plain.data) - 1);
    result = 0;
out:
    if (plain.data)
        explicit_bzero(plain.data, plain.capacity);
    buffer_done(&plain);
    return result;
}

/* Returns 1 if it was added, 0 if it has no credentials. */
static int add_docker_entry(struct keyring *keyring, const char *address, const json_t *config,
                            struct error *err)
{
    cleanup_entry struct entry *entry = NULL;
    const char *auth = NULL;
    const char *username = NULL;
    const char *password = NULL;

    if (!json_is_object(config))
        return error_set(err, ERROR_INVALID, "expected an object");
    entry = entry_new(address, err);
    if (!entry)
        return -1;
    auth = text_any_case(config, "auth");
    username = text_any_case(config, "username");
    password = text_any_case(config, "password");
    entry->credential.identity_token = xstrdup_or_null(text_any_case(config, "identitytoken"));
    entry->credential.registry_token = xstrdup_or_null(text_any_case(config, "registrytoken"));
    if (auth) {
        if (split_auth(auth, &entry->credential, err) < 0)
            return -1;
    } else if (username) {
        entry->credential.username = trimmed(username, strlen(username));
        entry->credential.password = password ? trimmed(password, strlen(password)) : xstrdup("");
    } else if (!entry->credential.identity_token && !entry->credential.registry_token) {
        return 0;
    }
    keyring_take(keyring, steal(&entry));
    return 1;
}

int keyring_add_docker_config(struct keyring *keyring, const char *origin, const json_t *config,
                              size_t *ret_helpers, struct error *err)
{
    const json_t *auths = doc_member(config, "auths");
    const char *address = NULL;
    json_t *value = NULL;
    int added = 0;

    *ret_helpers = json_object_size(doc_member(config, "credHelpers")) +
                   (json_is_string(doc_member(config, "credsStore")) ? 1 : 0);
    if (!json_is_object(config))
        return error_set(err, ERROR_INVALID, "docker config \"%s\": expected an object", origin);
    if (auths && !json_is_object(auths) && !json_is_null(auths))
        return error_set(err, ERROR_INVALID, "docker config \"%s\": auths: expected an object",
                         origin);
    /* In .dockercfg the document itself is the map of entries. */
    if (!auths && *ret_helpers == 0)
        auths = config;
    doc_foreach(auths, address, value)
    {
        int count = add_docker_entry(keyring, address, value, err);

        if (count < 0)
            return error_wrap(err, "docker config \"%s\": entry \"%.200s\"", origin, address);
        added += count;
    }
    return added;
}

/* The number of segments of the repository that path covers, or -1 if it is not a prefix. */
static int matched_segments(const char *path, const char *repository)
{
    size_t length = strlen(path);
    int segments = 1;

    if (length == 0)
        return 0;
    if (strncmp(path, repository, length) != 0 ||
        (repository[length] != '\0' && repository[length] != '/'))
        return -1;
    for (const char *c = path; *c; c++)
        segments += *c == '/' ? 1 : 0;
    return segments;
}

/* Label by label, so that '*' does not match a dot: *.example.com is not a.b.example.com. */
static bool is_matched_by(const char *pattern, const char *host)
{
    for (;;) {
        size_t pattern_length = strcspn(pattern, ".");
        size_t host_length = strcspn(host, ".");
        cleanup_free char *pattern_label = xstrndup(pattern, pattern_length);
        cleanup_free char *label = xstrndup(host, host_length);

        if (fnmatch(pattern_label, label, 0) != 0 || pattern[pattern_length] != host[host_length])
            return false;
        if (!pattern[pattern_length])
            return true;
        pattern += pattern_length + 1;
        host += host_length + 1;
    }
}

/* How well an entry matches, or -1: by path, then literal host over pattern, then exact port. */
static int rank_of(const struct address *address, const struct address *wanted,
                   const char *repository, bool has_patterns)
{
    bool is_own = strcmp(address->host, wanted->host) == 0;
    bool has_port = *address->port;
    int segments = -1;

    if (has_port && strcmp(address->port, *wanted->port ? wanted->port : "443") != 0)
        return -1;
    if (!is_own && (!has_patterns || !strpbrk(address->host, "*?[") ||
                    !is_matched_by(address->host, wanted->host)))
        return -1;
    segments = matched_segments(address->path, repository);
    return segments < 0 ? -1 : segments * 4 + (is_own ? 2 : 0) + (has_port ? 1 : 0);
}

static const struct credential *find(const struct keyring *keyring, const char *host,
                                     const char *repository, bool has_patterns)
{
    struct address wanted = {0};
    const struct entry *best = NULL;
    int best_rank = -1;

    if (!address_parse(host, &wanted))
        return NULL;
    for (size_t i = 0; i < keyring->count; i++) {
        const struct entry *entry = keyring->entries[i];
        int rank = rank_of(&entry->address, &wanted, repository, has_patterns);

        if (rank > best_rank) {
            best = entry;
            best_rank = rank;
        }
    }
    address_done(&wanted);
    return best ? &best->credential : NULL;
}

const struct credential *keyring_find(const struct keyring *keyring, const char *host,
                                      const char *repository)
{
    return find(keyring, host, repository, true);
}

const struct credential *keyring_find_host(const struct keyring *keyring, const char *host)
{
    return find(keyring, host, "", false);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text && *text)
        (void)json_object_set_new(object, key, json_string(text));
}

json_t *keyring_docker_config(const char *host, const struct credential *credential)
{
    json_t *entry = json_object();
    json_t *auths = json_object();
    json_t *config = json_object();

    set_text(entry, "username", credential->username);
    set_text(entry, "password", credential->password);
    set_text(entry, "identitytoken", credential->identity_token);
    set_text(entry, "registrytoken", credential->registry_token);
    if (credential->username && *credential->username) {
        cleanup_wipe char *pair = xasprintf("%s:%s", credential->username,
                                            credential->password ? credential->password : "");
        cleanup_wipe char *auth = base64_encode(pair, strlen(pair));

        set_text(entry, "auth", auth);
    }
    (void)json_object_set_new(auths, is_docker_hub(host) ? DOCKER_HUB_KEY : host, entry);
    (void)json_object_set_new(config, "auths", auths);
    return config;
}
