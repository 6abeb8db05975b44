/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/config.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/kube/config_internal.h"

void kube_config_free(struct kube_config *config)
{
    if (!config || config->shares-- > 0)
        return;
    free(config->server);
    free(config->ca_pem);
    free(config->cert_pem);
    wipe_free(config->key_pem);
    wipe_free(config->token);
    free(config->token_file);
    free(config->user);
    wipe_free(config->password);
    free(config->server_name);
    free(config);
}

void kube_config_hash(const struct kube_config *config, char ret_hash[NAME_HASH_SIZE])
{
    name_hash(config->server, config->ca_pem ? config->ca_pem : "", ret_hash);
}

/* With their lengths, so that two configurations differ if any field differs. */
static void add_to_identity(struct digest *digest, const char *text)
{
    char length[32];
    int size = snprintf(length, sizeof(length), "%zd:", text ? (ssize_t)strlen(text) : -1);

    digest_update(digest, length, (size_t)size);
    if (text)
        digest_update(digest, text, strlen(text));
}

void kube_config_identity(const struct kube_config *config, bool has_credentials,
                          char ret_identity[KUBE_IDENTITY_SIZE])
{
    char hex[DIGEST_HEX_MAX] = "";
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);
    const char *const server[] = {config->server, config->ca_pem, config->server_name,
                                  config->is_insecure ? "insecure" : NULL};
    const char *const credentials[] = {config->cert_pem,   config->key_pem, config->token,
                                       config->token_file, config->user,    config->password};

    for (size_t i = 0; i < array_length(server); i++)
        add_to_identity(digest, server[i]);
    for (size_t i = 0; has_credentials && i < array_length(credentials); i++)
        add_to_identity(digest, credentials[i]);
    digest_hex(digest, hex);
    memcpy(ret_identity, hex, KUBE_IDENTITY_SIZE);
}

struct kube_server_address kube_config_address(const struct kube_config *config)
{
    return (struct kube_server_address){.url = config->server,
                                        .ca_pem = config->ca_pem,
                                        .server_name = config->server_name,
                                        .is_insecure = config->is_insecure};
}

int kube_config_token(const struct kube_config *config, char **ret_token, struct error *err)
{
    if (config->token_file)
        return kube_config_read_token(config->token_file, ret_token, err);
    *ret_token = xstrdup_or_null(config->token);
    return 0;
}

struct kube_config *kube_config_share(struct kube_config *config)
{
    config->shares++;
    return config;
}

struct kube_config *kube_config_copy(const struct kube_config *config)
{
    struct kube_config *copy = xcalloc(1, sizeof(*copy));

    *copy = (struct kube_config){
        .server = xstrdup(config->server),
        .ca_pem = xstrdup_or_null(config->ca_pem),
        .cert_pem = xstrdup_or_null(config->cert_pem),
        .key_pem = xstrdup_or_null(config->key_pem),
        .token = xstrdup_or_null(config->token),
        .token_file = xstrdup_or_null(config->token_file),
        .user = xstrdup_or_null(config->user),
        .password = xstrdup_or_null(config->password),
        .server_name = xstrdup_or_null(config->server_name),
        .is_insecure = config->is_insecure,
        .is_in_cluster = config->is_in_cluster,
    };
    return copy;
}

struct kube_config *kube_config_with_token(const struct kube_config *config, const char *token)
{
    struct kube_config *other = xcalloc(1, sizeof(*other));

    *other = (struct kube_config){
        .server = xstrdup(config->server),
        .ca_pem = xstrdup_or_null(config->ca_pem),
        .server_name = xstrdup_or_null(config->server_name),
        .is_insecure = config->is_insecure,
        .token = xstrdup(token),
    };
    return other;
}

int kube_config_check(const struct kube_config *config, struct error *err)
{
    bool has_credentials = config->token || config->token_file || config->user || config->cert_pem;
    bool is_https = strncmp(config->server, "https://", 8) == 0 && config->server[8];

    if (!is_https && (strncmp(config->server, "http://", 7) != 0 || !config->server[7]))
        return error_set(err, ERROR_INVALID, "the server is not an https:// or http:// URL");
    if (strpbrk(config->server, "?#@ \t\r\n"))
        return error_set(err, ERROR_INVALID,
                         "the server's URL may contain only host, port and path");
    if (!is_https && has_credentials)
        return error_set(err, ERROR_INVALID,
                         "server \"%s\" is not encrypted: refusing to send credentials to it; "
                         "use https://",
                         config->server);
    if (config->is_insecure && config->ca_pem)
        return error_set(err, ERROR_INVALID,
                         "certificate-authority and insecure-skip-tls-verify are mutually "
                         "exclusive (server \"%s\")",
                         config->server);
    return 0;
}

int kube_config_from_text(const char *text, struct kube_config **ret_config, struct error *err)
{
    cleanup_json json_t *doc = NULL;

    if (doc_parse_yaml(text, strlen(text), KUBE_CONFIG_MAX, &doc, err) < 0 ||
        kube_config_from_doc(doc, /* are_files_allowed= */ false, ret_config, err) < 0)
        return error_wrap(err, "kubeconfig");
    return 0;
}

static int load_file(const char *path, json_t **ret_doc, struct error *err)
{
    cleanup_buffer struct buffer data = {0};
    cleanup_json json_t *doc = NULL;
    const char *slash = strrchr(path, '/');
    cleanup_free char *directory = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");

    buffer_init(&data, KUBE_CONFIG_MAX);
    if (doc_read_file(path, KUBE_CONFIG_MAX, &data, err) < 0 ||
        doc_parse_yaml(data.data, data.size, KUBE_CONFIG_MAX, &doc, err) < 0)
        return error_wrap(err, "kubeconfig \"%s\"", path);
    kube_config_anchor_files(doc, directory);
    *ret_doc = steal(&doc);
    return 0;
}

int kube_config_from_file(const char *path, struct kube_config **ret_config, struct error *err)
{
    cleanup_json json_t *doc = NULL;

    if (load_file(path, &doc, err) < 0)
        return -1;
    if (kube_config_from_doc(doc, /* are_files_allowed= */ true, ret_config, err) < 0)
        return error_wrap(err, "kubeconfig \"%s\"", path);
    return 0;
}

int kube_config_read_token(const char *path, char **ret_token, struct error *err)
{
    cleanup_buffer struct buffer data = {0};
    const char *start = NULL;
    size_t length = 0;

    buffer_init(&data, KUBE_TOKEN_MAX);
    if (doc_read_file(path, KUBE_TOKEN_MAX, &data, err) < 0)
        return error_wrap(err, "token");
    start = data.data ? data.data : "";
    start += strspn(start, " \t\r\n");
    for (length = strlen(start); length > 0 && strchr(" \t\r\n", start[length - 1]);)
        length--;
    if (length > 0)
        *ret_token = xstrndup(start, length);
    if (data.data)
        explicit_bzero(data.data, data.size);
    if (length == 0)
        return error_set(err, ERROR_INVALID, "token file \"%s\" is empty", path);
    return 0;
}

static char *service_url(const char *host, const char *port)
{
    struct in6_addr ignored = {0};
    bool is_ipv6 = inet_pton(AF_INET6, host, &ignored) == 1;

    return xasprintf(is_ipv6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
}

int kube_config_in_cluster(const char *directory, struct kube_config **ret_config,
                           struct error *err)
{
    cleanup_kube_config struct kube_config *config = xcalloc(1, sizeof(*config));
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    const char *folder = directory ? directory : PATH_SERVICE_ACCOUNT;
    cleanup_free char *ca_path = xasprintf("%s/ca.crt", folder);
    cleanup_buffer struct buffer ca = {0};

    if (!host || !host[0] || !port || !port[0])
        return error_set(
            err, ERROR_NOT_FOUND,
            "not running in a pod: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set");
    config->is_in_cluster = true;
    config->server = service_url(host, port);
    config->token_file = xasprintf("%s/token", folder);
    buffer_init(&ca, KUBE_CONFIG_MAX);
    if (kube_config_read_token(config->token_file, &config->token, err) < 0 ||
        doc_read_file(ca_path, KUBE_CONFIG_MAX, &ca, err) < 0)
        return error_wrap(err, "service account of the pod");
    config->ca_pem = buffer_take(&ca);
    if (kube_config_check(config, err) < 0)
        return error_wrap(err, "service account of the pod");
    *ret_config = steal(&config);
    return 0;
}

/* As kubectl merges several files: the first value wins. */
static void merge_doc(json_t *whole, const json_t *doc)
{
    static const char *const lists[] = {"clusters", "contexts", "users"};
    const char *current = doc_text_or(doc, "current-context", "");

    for (size_t i = 0; i < array_length(lists); i++) {
        const json_t *more = doc_member(doc, lists[i]);

        if (!json_object_get(whole, lists[i]))
            (void)json_object_set_new(whole, lists[i], json_array());
        if (json_is_array(more))
            (void)json_array_extend(json_object_get(whole, lists[i]),
                                    json_object_get(doc, lists[i]));
    }
    if (current[0] && !doc_text(whole, "current-context"))
        doc_set_text(whole, "current-context", current);
}

static int from_file_list(const char *list, struct kube_config **ret_config, struct error *err)
{
    cleanup_json json_t *whole = json_object();
    bool has_file = false;

    for (const char *rest = list; *rest;) {
        size_t length = strcspn(rest, ":");
        cleanup_free char *path = xstrndup(rest, length);
        cleanup_json json_t *doc = NULL;

        rest += length;
        rest += *rest == ':';
        if (!path[0] || (access(path, F_OK) != 0 && *rest))
            continue;
        if (load_file(path, &doc, err) < 0) {
            if (err->kind == ERROR_NOT_FOUND && has_file)
                continue;
            return -1;
        }
        has_file = true;
        merge_doc(whole, doc);
    }
    if (kube_config_from_doc(whole, /* are_files_allowed= */ true, ret_config, err) < 0)
        return error_wrap(err, "kubeconfig \"%s\"", list);
    return 0;
}

int kube_config_default(const char *path, struct kube_config **ret_config, struct error *err)
{
    const char *list = getenv("KUBECONFIG");
    const char *home = getenv("HOME");
    struct error home_err = {0};
    cleanup_free char *home_path = NULL;

    if (path && path[0])
        return kube_config_from_file(path, ret_config, err);
    if (list && list[0])
        return from_file_list(list, ret_config, err);
    if (kube_config_in_cluster(NULL, ret_config, err) == 0)
        return 0;
    if (err->kind != ERROR_NOT_FOUND || !home || !home[0])
        return -1;
    home_path = xasprintf("%s/.kube/config", home);
    if (kube_config_from_file(home_path, ret_config, &home_err) == 0)
        return 0;
    if (home_err.kind == ERROR_NOT_FOUND)
        return error_set(
            err, ERROR_NOT_FOUND,
            "no cluster configured: no kubeconfig given, KUBECONFIG not set, not running in a pod "
            "with a service account, and \"%s\" does not exist",
            home_path);
    *err = home_err;
    return -1;
}
