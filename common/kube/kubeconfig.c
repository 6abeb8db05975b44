/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the kubeconfig format. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/kube/config_internal.h"

static const json_t *find_named(const json_t *doc, const char *list, const char *name)
{
    const json_t *entries = doc_member(doc, list);
    const json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach(entries, i, entry)
    {
        const char *entry_name = doc_text(entry, "name");

        if (entry_name && strcmp(entry_name, name) == 0)
            return entry;
    }
    return NULL;
}

/* The part of an entry that is named after its kind: contexts[].context, users[].user. */
static int get_entry(const json_t *doc, const char *list, const char *kind, const char *name,
                     const json_t **ret_entry, struct error *err)
{
    const json_t *entry = find_named(doc, list, name);
    const json_t *inner = doc_member(entry, kind);

    if (!entry)
        return error_set(err, ERROR_INVALID, "%s \"%s\" not found", kind, name);
    if (inner && !json_is_object(inner) && !json_is_null(inner))
        return error_set(err, ERROR_INVALID, "%s \"%s\" is not an object", kind, name);
    *ret_entry = inner;
    return 0;
}

static int get_text(const json_t *entry, const char *kind, const char *name, const char *key,
                    const char **ret_text, struct error *err)
{
    const json_t *value = doc_member(entry, key);

    *ret_text = NULL;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return error_set(err, ERROR_INVALID, "%s of %s \"%s\" is not a string", key, kind, name);
    if (json_string_length(value) > 0)
        *ret_text = json_string_value(value);
    return 0;
}

static int read_file(const char *path, char **ret_text, struct error *err)
{
    cleanup_buffer struct buffer data = {0};

    buffer_init(&data, KUBE_CONFIG_MAX);
    if (doc_read_file(path, KUBE_CONFIG_MAX, &data, err) < 0)
        return -1;
    *ret_text = buffer_take(&data);
    return 0;
}

/* "certificate-authority" names a file; "certificate-authority-data" contains it and takes
 * precedence. */
static int get_pem(const json_t *entry, const char *kind, const char *name, const char *key,
                   bool are_files_allowed, char **ret_pem, struct error *err)
{
    cleanup_free char *data_key = xasprintf("%s-data", key);
    cleanup_wipe char *pem = NULL;
    const char *data = NULL;
    const char *path = NULL;

    if (get_text(entry, kind, name, data_key, &data, err) < 0 ||
        get_text(entry, kind, name, key, &path, err) < 0)
        return -1;
    if (data) {
        cleanup_buffer struct buffer decoded = {0};

        buffer_init(&decoded, KUBE_CONFIG_MAX);
        if (base64_decode(data, strlen(data), &decoded, err) < 0)
            return error_set(err, ERROR_INVALID, "%s of %s \"%s\" is not valid base64", data_key,
                             kind, name);
        pem = buffer_take(&decoded);
        pem = xreallocarray(pem, strlen(pem) + 1, 1); /* thousands of them are kept */
    } else if (path) {
        if (!are_files_allowed)
            return error_set(
                err, ERROR_INVALID,
                "%s of %s \"%s\" names a file, but only inline data (%s) is allowed here", key,
                kind, name, data_key);
        if (read_file(path, &pem, err) < 0)
            return error_wrap(err, "%s of %s \"%s\"", key, kind, name);
    } else {
        return 0;
    }
    if (!strstr(pem, "-----BEGIN "))
        return error_set(err, ERROR_INVALID, "%s of %s \"%s\" is not in PEM format", key, kind,
                         name);
    *ret_pem = steal(&pem);
    return 0;
}

static int get_bool(const json_t *entry, const char *kind, const char *name, const char *key,
                    bool *ret, struct error *err)
{
    const json_t *value = doc_member(entry, key);

    if (value && !json_is_boolean(value) && !json_is_null(value))
        return error_set(err, ERROR_INVALID, "%s of %s \"%s\" must be true or false", key, kind,
                         name);
    *ret = json_is_true(value);
    return 0;
}

static int read_cluster(const json_t *cluster, const char *name, bool are_files_allowed,
                        struct kube_config *config, struct error *err)
{
    const char *server = NULL;
    const char *server_name = NULL;
    const char *proxy = NULL;
    size_t length = 0;

    if (get_text(cluster, "cluster", name, "server", &server, err) < 0 ||
        get_text(cluster, "cluster", name, "tls-server-name", &server_name, err) < 0 ||
        get_text(cluster, "cluster", name, "proxy-url", &proxy, err) < 0 ||
        get_bool(cluster, "cluster", name, "insecure-skip-tls-verify", &config->is_insecure, err) <
            0 ||
        get_pem(cluster, "cluster", name, "certificate-authority", are_files_allowed,
                &config->ca_pem, err) < 0)
        return -1;
    if (!server)
        return error_set(err, ERROR_INVALID, "cluster \"%s\" has no server", name);
    if (proxy)
        return error_set(err, ERROR_INVALID,
                         "proxy-url of cluster \"%s\" is not supported; set HTTPS_PROXY instead",
                         name);
    for (length = strlen(server); length > 0 && server[length - 1] == '/';)
        length--;
    config->server = xstrndup(server, length);
    config->server_name = xstrdup_or_null(server_name);
    return 0;
}

/* Authentication that needs another program or a library of a cloud provider. */
static int refuse_plugins(const json_t *user, const char *name, struct error *err)
{
    const json_t *exec = doc_member(user, "exec");
    const json_t *provider = doc_member(user, "auth-provider");
    static const char hint[] =
        "give the user a token, a tokenFile or a client certificate instead, for example the token "
        "of a ServiceAccount (kubectl create token)";

    if (exec && !json_is_null(exec))
        return error_set(err, ERROR_INVALID,
                         "user \"%s\" uses the exec plugin \"%s\", which is not supported; %s",
                         name, doc_text_or(exec, "command", ""), hint);
    if (provider && !json_is_null(provider))
        return error_set(err, ERROR_INVALID,
                         "user \"%s\" uses the auth-provider \"%s\", which is not supported; %s",
                         name, doc_text_or(provider, "name", ""), hint);
    return 0;
}

static int read_user(const json_t *user, const char *name, bool are_files_allowed,
                     struct kube_config *config, struct error *err)
{
    const char *token = NULL;
    const char *token_file = NULL;
    const char *login = NULL;
    const char *password = NULL;

    if (refuse_plugins(user, name, err) < 0 ||
        get_text(user, "user", name, "token", &token, err) < 0 ||
        get_text(user, "user", name, "tokenFile", &token_file, err) < 0 ||
        get_text(user, "user", name, "username", &login, err) < 0 ||
        get_text(user, "user", name, "password", &password, err) < 0 ||
        get_pem(user, "user", name, "client-certificate", are_files_allowed, &config->cert_pem,
                err) < 0 ||
        get_pem(user, "user", name, "client-key", are_files_allowed, &config->key_pem, err) < 0)
        return -1;
    if (token_file && !are_files_allowed)
        return error_set(
            err, ERROR_INVALID,
            "tokenFile of user \"%s\" names a file, but only inline data (token) is allowed here",
            name);
    if (!config->cert_pem != !config->key_pem)
        return error_set(err, ERROR_INVALID, "user \"%s\" has a client %s but no client %s", name,
                         config->cert_pem ? "certificate" : "key",
                         config->cert_pem ? "key" : "certificate");
    config->token = xstrdup_or_null(token);
    config->token_file = xstrdup_or_null(token_file);
    config->user = xstrdup_or_null(login);
    config->password = xstrdup_or_null(password);
    return 0;
}

int kube_config_from_doc(const json_t *doc, bool are_files_allowed, struct kube_config **ret_config,
                         struct error *err)
{
    cleanup_kube_config struct kube_config *config = xcalloc(1, sizeof(*config));
    const json_t *entry = NULL;
    const json_t *cluster = NULL;
    const json_t *user = NULL;
    const char *cluster_name = NULL;
    const char *user_name = NULL;
    const char *context = doc_text_or(doc, "current-context", "");

    if (!json_is_object(doc))
        return error_set(err, ERROR_INVALID, "not an object");
    if (!context[0])
        return error_set(err, ERROR_INVALID, "current-context is not set");
    if (get_entry(doc, "contexts", "context", context, &entry, err) < 0 ||
        get_text(entry, "context", context, "cluster", &cluster_name, err) < 0 ||
        get_text(entry, "context", context, "user", &user_name, err) < 0)
        return -1;
    if (!cluster_name)
        return error_set(err, ERROR_INVALID, "context \"%s\" has no cluster", context);
    if (get_entry(doc, "clusters", "cluster", cluster_name, &cluster, err) < 0 ||
        read_cluster(cluster, cluster_name, are_files_allowed, config, err) < 0)
        return -1;
    if (user_name && (get_entry(doc, "users", "user", user_name, &user, err) < 0 ||
                      read_user(user, user_name, are_files_allowed, config, err) < 0))
        return -1;
    if (kube_config_check(config, err) < 0)
        return -1;
    *ret_config = steal(&config);
    return 0;
}

static void anchor_entries(json_t *doc, const char *list, const char *kind, const char *key,
                           const char *directory)
{
    json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach(json_object_get(doc, list), i, entry)
    {
        json_t *inner = json_object_get(entry, kind);
        const char *path = json_string_value(json_object_get(inner, key));
        cleanup_free char *absolute = NULL;

        if (!path || !path[0] || path[0] == '/')
            continue;
        absolute = xasprintf("%s/%s", directory, path);
        (void)json_object_set_new(inner, key, json_string(absolute));
    }
}

void kube_config_anchor_files(json_t *doc, const char *directory)
{
    anchor_entries(doc, "clusters", "cluster", "certificate-authority", directory);
    anchor_entries(doc, "users", "user", "client-certificate", directory);
    anchor_entries(doc, "users", "user", "client-key", directory);
    anchor_entries(doc, "users", "user", "tokenFile", directory);
}

/* ---- Writing ---- */

static void set_encoded(json_t *object, const char *key, const char *pem)
{
    cleanup_wipe char *encoded = pem ? base64_encode(pem, strlen(pem)) : NULL;

    if (encoded)
        (void)json_object_set_new(object, key, json_string(encoded));
}

static void set_given(json_t *object, const char *key, const char *value)
{
    if (value)
        (void)json_object_set_new(object, key, json_string(value));
}

int kube_config_text(const struct kube_config *config, char **ret_text, struct error *err)
{
    cleanup_json json_t *document = NULL;
    cleanup_wipe char *token = config->token ? xstrdup(config->token) : NULL;
    json_t *cluster = NULL;
    json_t *user = NULL;

    if (config->token_file) {
        wipe_free(token);
        token = NULL;
        if (kube_config_read_token(config->token_file, &token, err) < 0)
            return -1;
    }
    cluster = json_pack("{s:s}", "server", config->server);
    user = json_object();
    set_encoded(cluster, "certificate-authority-data", config->ca_pem);
    set_given(cluster, "tls-server-name", config->server_name);
    if (config->is_insecure)
        (void)json_object_set_new(cluster, "insecure-skip-tls-verify", json_true());
    set_encoded(user, "client-certificate-data", config->cert_pem);
    set_encoded(user, "client-key-data", config->key_pem);
    set_given(user, "token", token);
    set_given(user, "username", config->user);
    set_given(user, "password", config->password);
    /* Its values are redacted in what programs print, so none may be a part of common words: no
     * kind, because "Config" is one of "ConfigMap", and a short name. */
    document =
        json_pack("{s:s,s:[{s:s,s:o}],s:[{s:s,s:{s:s,s:s}}],s:[{s:s,s:o}]}", "current-context",
                  "it", "clusters", "name", "it", "cluster", cluster, "contexts", "name", "it",
                  "context", "cluster", "it", "user", "it", "users", "name", "it", "user", user);
    *ret_text = doc_dump(document);
    return 0;
}
