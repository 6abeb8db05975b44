/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/ocmconfig.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/component/typed.h"
#include "common/data/base64.h"
#include "common/data/doc.h"

enum { PRIORITY_DEFAULT = 10, NESTING_MAX = 8, CA_MAX_BYTES = 1024 * 1024 };

struct reading {
    struct ocmconfig *config;
    struct keyring *keyring;
};

static const char *const type_generic[] = {"generic.config.ocm.software", NULL};
static const char *const type_ocm[] = {"ocm.config.ocm.software", NULL};
static const char *const type_credentials[] = {"credentials.config.ocm.software", NULL};
static const char *const type_roots[] = {"rootcerts.config.ocm.software",
                                         "rootcerts.config.ocm.software/v1alpha1", NULL};
static const char *const type_registry_identity[] = {"OCIRegistry", "ociRegistry", "oci", "OCI",
                                                     NULL};
static const char *const type_docker_config[] = {"DockerConfig", NULL};

/* ---- resolvers ---- */

static size_t segments(const char *prefix)
{
    size_t count = *prefix ? 1 : 0;

    for (; *prefix; prefix++)
        count += *prefix == '/' ? 1 : 0;
    return count;
}

/* By priority, then number of path segments, then prefix, all descending; then by place. */
static int compare_resolvers(const void *a, const void *b)
{
    const struct ocm_resolver *left = a;
    const struct ocm_resolver *right = b;
    size_t left_segments = segments(left->prefix);
    size_t right_segments = segments(right->prefix);
    int by_name = strcmp(right->prefix, left->prefix);

    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    if (left_segments != right_segments)
        return left_segments > right_segments ? -1 : 1;
    if (by_name != 0)
        return by_name;
    return left->place < right->place ? -1 : 1;
}

bool ocm_resolver_matches(const struct ocm_resolver *resolver, const char *component_name)
{
    size_t length = strlen(resolver->prefix);

    return length == 0 || (strncmp(component_name, resolver->prefix, length) == 0 &&
                           (component_name[length] == '\0' || component_name[length] == '/'));
}

static int read_resolver(struct reading *reading, const json_t *entry, struct error *err)
{
    struct ocmconfig *config = reading->config;
    const json_t *repository = doc_member(entry, "repository");
    const char *prefix = "";
    int64_t priority = PRIORITY_DEFAULT;
    size_t length = 0;

    if (!typed_text(repository, "type"))
        return error_set(err, ERROR_INVALID, "repository: expected an object with a type");
    if (doc_want_text(entry, "prefix", &prefix, err) < 0 ||
        doc_want_integer(entry, "priority", &priority, err) < 0)
        return -1;
    if (config->resolver_count >= OCMCONFIG_RESOLVERS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "more than %d resolvers", OCMCONFIG_RESOLVERS_MAX);
    length = strlen(prefix);
    while (length > 0 && prefix[length - 1] == '/')
        length--;
    config->resolvers =
        xreallocarray(config->resolvers, config->resolver_count + 1, sizeof(*config->resolvers));
    config->resolvers[config->resolver_count] = (struct ocm_resolver){
        .repository = json_incref(doc_writable(repository)),
        .prefix = xstrndup(prefix, length),
        .priority = priority,
        .place = config->resolver_count,
    };
    config->resolver_count++;
    return 0;
}

/* ---- credentials ---- */

static int read_consumer(struct reading *reading, const json_t *entry, struct error *err)
{
    const json_t *identity = doc_member(entry, "identity");
    const json_t *credentials = doc_member(entry, "credentials");
    const char *host = typed_text(identity, "hostname");
    const char *port = typed_text(identity, "port");
    const char *path = typed_text(identity, "pathprefix");
    cleanup_free char *address = NULL;

    if (!typed_is(identity, type_registry_identity) || !host)
        return 0;
    address = xasprintf("%s%s%s%s%s", host, port ? ":" : "", port ? port : "", path ? "/" : "",
                        path ? path : "");
    for (size_t i = 0; i < json_array_size(credentials); i++) {
        const json_t *properties = doc_member(json_array_get(credentials, i), "properties");
        struct credential credential = {
            .username = typed_text(properties, "username"),
            .password = typed_text(properties, "password"),
            .identity_token = typed_text(properties, "identityToken"),
            .ca_pem = typed_text(properties, "certificateAuthority"),
        };

        if ((credential.username || credential.identity_token || credential.ca_pem) &&
            keyring_add(reading->keyring, address, &credential, err) < 0)
            return -1;
    }
    return 0;
}

static int read_inline_docker_config(struct reading *reading, const json_t *value,
                                     struct error *err)
{
    cleanup_json json_t *config = NULL;
    size_t helpers = 0;

    if (json_is_string(value)) {
        if (doc_parse_json(json_string_value(value), json_string_length(value), OCMCONFIG_MAX_BYTES,
                           &config, err) < 0)
            return -1;
    } else {
        config = json_incref(doc_writable(value));
    }
    return keyring_add_docker_config(reading->keyring, "dockerConfig", config, &helpers, err) < 0
               ? -1
               : 0;
}

static int read_credential_repository(struct reading *reading, const json_t *entry,
                                      struct error *err)
{
    struct ocmconfig *config = reading->config;
    const json_t *repository = doc_member(entry, "repository");
    const char *file = typed_text(repository, "dockerConfigFile");
    const json_t *inlined = typed_member(repository, "dockerConfig");

    if (!typed_is(repository, type_docker_config))
        return 0;
    if (file) {
        config->docker_config_files = xreallocarray(
            config->docker_config_files, config->docker_config_file_count + 1, sizeof(char *));
        config->docker_config_files[config->docker_config_file_count++] = xstrdup(file);
    }
    if (inlined && !json_is_null(inlined))
        return read_inline_docker_config(reading, inlined, err);
    return 0;
}

/* ---- root certificates ---- */

static int read_root(struct reading *reading, const json_t *entry, struct error *err)
{
    struct buffer *pem = &reading->config->ca_pem;
    const char *text = typed_text(entry, "stringdata");
    const char *encoded = typed_text(entry, "data");
    const char *path = typed_text(entry, "path");
    cleanup_buffer struct buffer file = {0};

    if (text)
        return buffer_append_text(pem, err, "%s\n", text);
    if (encoded) {
        if (base64_decode(encoded, strlen(encoded), pem, err) < 0)
            return -1;
        return buffer_append_text(pem, err, "\n");
    }
    if (!path)
        return error_set(err, ERROR_INVALID, "expected data, stringdata or path");
    buffer_init(&file, CA_MAX_BYTES);
    if (doc_read_file(path, CA_MAX_BYTES, &file, err) < 0)
        return -1;
    return buffer_append_text(pem, err, "%s\n", file.data ? file.data : "");
}

/* ---- the document ---- */

typedef int entry_fn(struct reading *reading, const json_t *entry, struct error *err);

static int read_list(struct reading *reading, const json_t *config, const char *key,
                     entry_fn *read_entry, struct error *err)
{
    const json_t *list = NULL;

    if (doc_want_array(config, key, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (read_entry(reading, json_array_get(list, i), err) < 0)
            return error_wrap(err, "%s[%zu]", key, i);
    }
    return 0;
}

static int read_config(struct reading *reading, const json_t *config, unsigned depth,
                       struct error *err)
{
    const json_t *list = NULL;

    if (!typed_text(config, "type"))
        return error_set(err, ERROR_INVALID, "expected an object with a type");
    if (typed_is(config, type_ocm))
        return read_list(reading, config, "resolvers", read_resolver, err);
    if (typed_is(config, type_roots))
        return read_list(reading, config, "rootCertificates", read_root, err);
    if (typed_is(config, type_credentials)) {
        if (read_list(reading, config, "consumers", read_consumer, err) < 0)
            return -1;
        return read_list(reading, config, "repositories", read_credential_repository, err);
    }
    if (!typed_is(config, type_generic))
        return 0;
    if (depth >= NESTING_MAX)
        return error_set(err, ERROR_TOO_LARGE, "nested more than %d levels deep", NESTING_MAX);
    if (doc_want_array(config, "configurations", &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (read_config(reading, json_array_get(list, i), depth + 1, err) < 0)
            return error_wrap(err, "configurations[%zu]", i);
    }
    return 0;
}

int ocmconfig_parse(const char *text, size_t size, struct keyring *keyring,
                    struct ocmconfig *ret_config, struct error *err)
{
    cleanup_json json_t *doc = NULL;
    cleanup_ocmconfig struct ocmconfig config = {0};
    struct reading reading = {.config = &config, .keyring = keyring};

    buffer_init(&config.ca_pem, CA_MAX_BYTES);
    if (doc_parse_yaml(text, size, OCMCONFIG_MAX_BYTES, &doc, err) < 0)
        return -1;
    if (!json_is_null(doc) && read_config(&reading, doc, 0, err) < 0)
        return -1;
    if (config.resolver_count > 0)
        qsort(config.resolvers, config.resolver_count, sizeof(*config.resolvers),
              compare_resolvers);
    *ret_config = config;
    config = (struct ocmconfig){0};
    return 0;
}

void ocmconfig_done(struct ocmconfig *config)
{
    for (size_t i = 0; i < config->resolver_count; i++) {
        json_decref(config->resolvers[i].repository);
        free(config->resolvers[i].prefix);
    }
    for (size_t i = 0; i < config->docker_config_file_count; i++)
        free(config->docker_config_files[i]);
    free(config->resolvers);
    free(config->docker_config_files);
    buffer_done(&config->ca_pem);
    *config = (struct ocmconfig){0};
}
