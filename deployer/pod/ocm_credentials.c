/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/ocm_credentials.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

enum { NESTING_MAX = 8 };

/* Whether the document has this type, with or without a version ("a.b/v1"). */
static bool is_type(const json_t *object, const char *type)
{
    const char *have = doc_text_or(object, "type", "");
    size_t length = strlen(type);

    return strncasecmp(have, type, length) == 0 && (have[length] == '\0' || have[length] == '/');
}

static bool is_registry(const json_t *identity)
{
    return is_type(identity, "OCIRegistry") || is_type(identity, "oci");
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(doc_member(object, key));

    return text && *text ? text : NULL;
}

/* host[:port][/path] */
static char *address_of(const json_t *identity)
{
    const char *host = text_of(identity, "hostname");
    const char *port = text_of(identity, "port");
    const char *path = text_of(identity, "pathprefix");

    return host ? xasprintf("%s%s%s%s%s", host, port ? ":" : "", port ? port : "", path ? "/" : "",
                            path ? path + strspn(path, "/") : "")
                : NULL;
}

static void add_consumer(json_t *auths, const json_t *consumer)
{
    static const struct {
        const char *from, *to;
    } names[] = {
        {"username", "username"}, {"password", "password"}, {"identityToken", "identitytoken"}};
    const json_t *identity = doc_member(consumer, "identity");
    const json_t *list = doc_member(consumer, "credentials");
    cleanup_free char *address = address_of(identity);

    if (!is_registry(identity) || !address || json_object_get(auths, address))
        return;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *properties = doc_member(json_array_get(list, i), "properties");
        cleanup_json json_t *entry = json_object();

        for (size_t j = 0; j < array_length(names); j++) {
            const char *text = text_of(properties, names[j].from);

            if (text)
                (void)json_object_set_new(entry, names[j].to, json_string(text));
        }
        if (json_object_size(entry) > 0) {
            (void)json_object_set(auths, address, entry);
            return;
        }
    }
}

/* A Docker config in the document itself, as an object or as JSON text. */
static int add_repository(json_t *auths, const json_t *repository, struct error *err)
{
    const json_t *inlined = doc_member(repository, "dockerConfig");
    cleanup_json json_t *parsed = NULL;
    json_t *found = NULL;

    if (!is_type(repository, "DockerConfig") || !inlined)
        return 0;
    if (json_is_string(inlined)) {
        if (doc_parse_json(json_string_value(inlined), json_string_length(inlined),
                           SECRET_MAX_BYTES, &parsed, err) < 0)
            return error_set(err, ERROR_INVALID, "dockerConfig is not valid JSON");
        inlined = parsed;
    }
    found = json_object_get(inlined, "auths");
    if (found && !json_is_object(found))
        return error_set(err, ERROR_INVALID, "dockerConfig.auths: expected an object");
    return found ? json_object_update_missing(auths, found) : 0;
}

static int add_document(json_t *auths, const json_t *doc, unsigned depth, struct error *err)
{
    const json_t *consumers = doc_member(doc, "consumers");
    const json_t *repositories = doc_member(doc, "repositories");
    const json_t *configurations = doc_member(doc, "configurations");

    if (depth > NESTING_MAX)
        return error_set(err, ERROR_INVALID, "configurations are nested too deeply");
    if (is_type(doc, "generic.config.ocm.software")) {
        for (size_t i = 0; i < json_array_size(configurations); i++) {
            if (add_document(auths, json_array_get(configurations, i), depth + 1, err) < 0)
                return -1;
        }
        return 0;
    }
    if (!is_type(doc, "credentials.config.ocm.software"))
        return 0;
    for (size_t i = 0; i < json_array_size(consumers); i++)
        add_consumer(auths, json_array_get(consumers, i));
    for (size_t i = 0; i < json_array_size(repositories); i++) {
        if (add_repository(auths, doc_member(json_array_get(repositories, i), "repository"), err) <
            0)
            return -1;
    }
    return 0;
}

int ocm_credentials_docker_config(const char *text, size_t size, json_t **ret_config,
                                  struct error *err)
{
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *auths = json_object();

    if (doc_parse_yaml(text, size, SECRET_MAX_BYTES, &doc, err) < 0 || !json_is_object(doc))
        return error_set(err, ERROR_INVALID, "not a YAML object");
    if (add_document(auths, doc, 0, err) < 0)
        return -1;
    *ret_config = json_pack("{s:O}", "auths", auths);
    return 0;
}
