/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/objects/target_access.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/item/target.h"

void target_access_done(struct target_access *access)
{
    wipe_free(access->kubeconfig);
    free(access->server);
    free(access->ca_data);
    free(access->account);
    free(access->account_namespace);
    json_decref(access->audiences);
    *access = (struct target_access){0};
}

/* ---- Parsing ---- */

/* text or object: the kubeconfig itself. */
static int read_kubeconfig(const json_t *value, struct target_access *access, struct error *err)
{
    access->kind = ACCESS_KUBECONFIG;
    if (json_is_string(value))
        access->kubeconfig = xstrdup(json_string_value(value));
    else
        access->kubeconfig = doc_dump(value);
    if (!*access->kubeconfig)
        return error_set(err, ERROR_INVALID, "the target's kubeconfig is empty");
    return 0;
}

static int read_account(const json_t *config, const char *member, struct target_access *access,
                        struct error *err)
{
    const char *account = NULL;
    int64_t seconds = ACCESS_TOKEN_SECONDS;

    if (!json_is_object(config))
        return error_set(err, ERROR_INVALID, "the target's %s must be an object", member);
    if (doc_want_text_required(config, "serviceAccount.name", &account, err) < 0 ||
        doc_want_integer(config, "expirationSeconds", &seconds, err) < 0)
        return error_wrap(err, "the target's %s", member);
    if (!name_is_dns_subdomain(account))
        return error_set(err, ERROR_INVALID,
                         "the target's %s: serviceAccount.name must be the name of a "
                         "ServiceAccount",
                         member);
    if (seconds < ACCESS_TOKEN_SECONDS_MIN)
        return error_set(err, ERROR_INVALID,
                         "the target's %s: expirationSeconds must be at least %d", member,
                         ACCESS_TOKEN_SECONDS_MIN);
    access->account = xstrdup(account);
    access->seconds = seconds;
    return 0;
}

static int read_audiences(const json_t *config, struct target_access *access, struct error *err)
{
    const json_t *list = NULL;

    if (doc_want_array(config, "audience", &list, err) < 0)
        return error_wrap(err, "the target's oidcConfig");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!json_is_string(json_array_get(list, i)))
            return error_set(err, ERROR_INVALID,
                             "the target's oidcConfig: audience must be a list of strings");
    }
    access->audiences = list ? json_deep_copy(list) : NULL;
    return 0;
}

static int read_oidc(const json_t *config, struct target_access *access, struct error *err)
{
    const char *server = NULL;
    const char *ca_data = NULL;

    access->kind = ACCESS_OIDC;
    if (read_account(config, "oidcConfig", access, err) < 0 ||
        read_audiences(config, access, err) < 0)
        return -1;
    if (doc_want_text_required(config, "server", &server, err) < 0 ||
        doc_want_text(config, "caData", &ca_data, err) < 0)
        return error_wrap(err, "the target's oidcConfig");
    access->server = xstrdup(server);
    access->ca_data = ca_data && *ca_data ? xstrdup(ca_data) : NULL;
    return 0;
}

static int read_host(const json_t *config, struct target_access *access, struct error *err)
{
    const char *namespace_name = NULL;

    access->kind = ACCESS_HOST;
    if (read_account(config, TARGET_HOST_CONFIG, access, err) < 0)
        return -1;
    if (doc_want_text_required(config, "serviceAccount.namespace", &namespace_name, err) < 0)
        return error_wrap(err, "the target's " TARGET_HOST_CONFIG);
    access->account_namespace = xstrdup(namespace_name);
    return 0;
}

static bool is_given(const json_t *document, const char *key)
{
    const json_t *value = doc_member(document, key);

    return value && !json_is_null(value);
}

/* The first member that is there counts, as with Go. */
static int read_content(const json_t *document, const char *content, size_t size,
                        struct target_access *access, struct error *err)
{
    if (is_given(document, "kubeconfig"))
        return read_kubeconfig(doc_member(document, "kubeconfig"), access, err);
    if (is_given(document, "oidcConfig"))
        return read_oidc(doc_member(document, "oidcConfig"), access, err);
    if (is_given(document, "selfConfig")) {
        access->kind = ACCESS_SELF;
        return read_account(doc_member(document, "selfConfig"), "selfConfig", access, err);
    }
    if (is_given(document, TARGET_HOST_CONFIG))
        return read_host(doc_member(document, TARGET_HOST_CONFIG), access, err);
    access->kind = ACCESS_KUBECONFIG;
    access->kubeconfig = xstrndup(content, size);
    return 0;
}

int target_access_parse(const char *content, size_t size, struct target_access *ret_access,
                        struct error *err)
{
    cleanup_target_access struct target_access access = {0};
    cleanup_json json_t *document = NULL;

    if (size == 0)
        return error_set(err, ERROR_INVALID,
                         "the target has no content: it needs kubeconfig, oidcConfig or "
                         "selfConfig");
    if (target_validate(content, size, err) < 0)
        return -1;
    if (doc_parse_yaml(content, size, SECRET_MAX_BYTES, &document, err) < 0)
        return error_set(err, ERROR_INVALID, "the target's content is not a YAML document");
    if (read_content(document, content, size, &access, err) < 0)
        return -1;
    *ret_access = access;
    access = (struct target_access){0};
    return 0;
}

/* ---- Using ---- */

int64_t target_access_seconds_for(const struct target_access *access, int64_t left_ms)
{
    int64_t left_seconds = left_ms / 1000 + (left_ms % 1000 > 0);
    int64_t seconds = 0;

    /* Compared before the margin is added: the time that is left may be any number. */
    if (left_ms < 0 || left_seconds >= access->seconds)
        return access->seconds;
    seconds = left_seconds + ACCESS_TOKEN_MARGIN_SECONDS;
    if (seconds < ACCESS_TOKEN_SECONDS_MIN)
        seconds = ACCESS_TOKEN_SECONDS_MIN;
    return seconds < access->seconds ? seconds : access->seconds;
}

json_t *target_access_token_request(const struct target_access *access, int64_t seconds)
{
    json_t *request =
        json_pack("{s:s,s:s,s:{s:I}}", "apiVersion", "authentication.k8s.io/v1", "kind",
                  "TokenRequest", "spec", "expirationSeconds", (json_int_t)seconds);

    if (json_array_size(access->audiences) > 0)
        doc_set_new(request, "spec.audiences", json_deep_copy(access->audiences));
    return request;
}

static int oidc_config(const struct target_access *access, const char *token,
                       struct kube_config **ret_config, struct error *err)
{
    cleanup_json json_t *document = json_pack(
        "{s:s,s:s,s:s,s:[{s:s,s:{s:s}}],s:[{s:s,s:{s:s,s:s}}],s:[{s:s,s:{s:s}}]}", "apiVersion",
        "v1", "kind", "Config", "current-context", "target", "clusters", "name", "target",
        "cluster", "server", access->server, "contexts", "name", "target", "context", "cluster",
        "target", "user", "target", "users", "name", "target", "user", "token", token);
    json_t *cluster =
        json_object_get(json_array_get(json_object_get(document, "clusters"), 0), "cluster");
    cleanup_wipe char *text = NULL;

    if (access->ca_data)
        (void)json_object_set_new(cluster, "certificate-authority-data",
                                  json_string(access->ca_data));
    text = doc_dump(document);
    return kube_config_from_text(text, ret_config, err);
}

int target_access_config(const struct target_access *access, const char *token,
                         const struct kube *landscaper, const struct kube *host,
                         struct kube_config **ret_config, struct error *err)
{
    int result = 0;

    switch (access->kind) {
    case ACCESS_KUBECONFIG:
        result = kube_config_from_text(access->kubeconfig, ret_config, err);
        break;
    case ACCESS_OIDC:
        result = oidc_config(access, token, ret_config, err);
        break;
    case ACCESS_SELF:
        *ret_config = kube_config_with_token(kube_get_config(landscaper), token);
        break;
    case ACCESS_HOST:
        *ret_config = kube_config_with_token(kube_get_config(host), token);
        break;
    }
    return result < 0 ? error_wrap(err, "the target") : 0;
}

/* ---- Tokens ---- */

struct token_entry {
    char *key, *token;
    uint64_t until_ms;
};

struct token_cache {
    struct token_entry entries[TOKENS_MAX];
    size_t count;
};

struct token_cache *token_cache_new(void)
{
    return xcalloc(1, sizeof(struct token_cache));
}

static void remove_entry(struct token_cache *cache, size_t index)
{
    struct token_entry *entry = &cache->entries[index];

    free(entry->key);
    wipe_free(entry->token);
    *entry = cache->entries[--cache->count];
}

void token_cache_clear(struct token_cache *cache)
{
    while (cache->count > 0)
        remove_entry(cache, cache->count - 1);
}

void token_cache_free(struct token_cache *cache)
{
    if (!cache)
        return;
    token_cache_clear(cache);
    free(cache);
}

char *token_cache_key(const struct target_access *access, const char *namespace_name)
{
    cleanup_free char *audiences = access->audiences ? doc_dump(access->audiences) : xstrdup("");

    /* An account of the host cluster is another one than that of the same name. */
    if (access->kind == ACCESS_HOST)
        return xasprintf("host %s/%s %lld", access->account_namespace, access->account,
                         (long long)access->seconds);
    return xasprintf("%s/%s %lld %s", namespace_name, access->account, (long long)access->seconds,
                     audiences);
}

const char *token_cache_find(struct token_cache *cache, const char *key, uint64_t now_ms)
{
    for (size_t i = cache->count; i > 0; i--) {
        if (cache->entries[i - 1].until_ms <= now_ms)
            remove_entry(cache, i - 1);
    }
    for (size_t i = 0; i < cache->count; i++) {
        if (strcmp(cache->entries[i].key, key) == 0)
            return cache->entries[i].token;
    }
    return NULL;
}

void token_cache_add(struct token_cache *cache, const char *key, const char *token,
                     uint64_t lifetime_ms, uint64_t now_ms)
{
    size_t place = 0;

    while (place < cache->count && strcmp(cache->entries[place].key, key) != 0)
        place++;
    if (place < cache->count)
        remove_entry(cache, place);
    if (cache->count == TOKENS_MAX)
        remove_entry(cache, 0);
    cache->entries[cache->count++] = (struct token_entry){
        .key = xstrdup(key), .token = xstrdup(token), .until_ms = now_ms + lifetime_ms / 2};
}
