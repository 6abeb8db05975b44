/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/rules.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "e2e/fleet/reply.h"
#include "e2e/fleet/schema.h"

bool rules_is(const struct resource *resource, const char *qualified)
{
    return strcmp(resource->qualified, qualified) == 0;
}

static void set_default(json_t *object, const char *path, json_t *value)
{
    if (doc_get(object, path))
        json_decref(value);
    else
        doc_set_new(object, path, value);
}

static void complete_secret(json_t *secret)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_t *data = json_object_get(secret, "data");

    set_default(secret, "type", json_string("Opaque"));
    if (!json_object_get(secret, "stringData"))
        return;
    if (!data) {
        data = json_object();
        (void)json_object_set_new(secret, "data", data);
    }
    doc_foreach(json_object_get(secret, "stringData"), key, value)
    {
        cleanup_free char *text =
            base64_encode(json_string_value(value), json_string_length(value));

        (void)json_object_set_new(data, key, json_string(text));
    }
    (void)json_object_del(secret, "stringData");
}

static void complete_namespace(json_t *object, bool is_new)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    json_t *metadata = json_object_get(object, "metadata");
    json_t *labels = json_object_get(metadata, "labels");

    if (!labels) {
        labels = json_object();
        (void)json_object_set_new(metadata, "labels", labels);
    }
    (void)json_object_set_new(labels, "kubernetes.io/metadata.name", json_string(name));
    if (!is_new)
        return;
    set_default(object, "spec.finalizers", json_pack("[s]", "kubernetes"));
    set_default(object, "status.phase", json_string("Active"));
}

static json_t *stored_versions(const json_t *definition)
{
    const json_t *versions = doc_get(definition, "spec.versions");
    json_t *names = json_array();

    for (size_t i = 0; i < json_array_size(versions); i++) {
        const json_t *version = json_array_get(versions, i);

        if (doc_bool_or(version, "storage", false))
            (void)json_array_append_new(names, json_string(doc_text_or(version, "name", "")));
    }
    return names;
}

static void complete_definition(json_t *object, bool is_new)
{
    const char *kind = doc_text_or(object, "spec.names.kind", "");
    cleanup_free char *list_kind = xasprintf("%sList", kind);
    cleanup_free char *singular = xstrdup(kind);

    for (char *letter = singular; *letter; letter++)
        *letter = *letter >= 'A' && *letter <= 'Z' ? (char)(*letter + 'a' - 'A') : *letter;
    set_default(object, "spec.names.listKind", json_string(list_kind));
    set_default(object, "spec.names.singular", json_string(singular));
    set_default(object, "spec.conversion", json_pack("{s:s}", "strategy", "None"));
    if (is_new)
        set_default(object, "status",
                    json_pack("{s:n, s:{s:s, s:s}, s:o}", "conditions", "acceptedNames", "plural",
                              "", "kind", "", "storedVersions", stored_versions(object)));
}

void rules_complete(const struct resource *resource, const struct resource_version *version,
                    json_t *object, bool is_new)
{
    if (resource->is_custom) {
        schema_prune(version->schema, object);
        schema_default(version->schema, object);
    } else if (rules_is(resource, "secrets")) {
        complete_secret(object);
    } else if (rules_is(resource, "namespaces")) {
        complete_namespace(object, is_new);
    } else if (rules_is(resource, "customresourcedefinitions.apiextensions.k8s.io")) {
        complete_definition(object, is_new);
    } else if (rules_is(resource, "deployments.apps") || rules_is(resource, "statefulsets.apps")) {
        set_default(object, "spec.replicas", json_integer(1));
    }
}

static void check_labels(const json_t *labels, json_t *causes)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(labels, key, value)
    {
        if (!name_is_label_key(key) || !name_is_label_value(json_string_value(value)))
            reply_add_cause(causes, "FieldValueInvalid", "metadata.labels",
                            "Invalid value: \"%s\": not a valid label", key);
    }
}

static void check_definition(const json_t *object, json_t *causes)
{
    cleanup_free char *name = xasprintf("%s.%s", doc_text_or(object, "spec.names.plural", ""),
                                        doc_text_or(object, "spec.group", ""));

    if (strcmp(name, doc_text_or(object, "metadata.name", "")) != 0)
        reply_add_cause(causes, "FieldValueInvalid", "metadata.name",
                        "Invalid value: \"%s\": must be spec.names.plural+\".\"+spec.group",
                        doc_text_or(object, "metadata.name", ""));
}

/* RBAC names may contain upper-case letters, colons and more. */
static bool has_free_name(const struct resource *resource)
{
    return strcmp(resource->group, "rbac.authorization.k8s.io") == 0;
}

json_t *rules_check(const struct resource *resource, const struct resource_version *version,
                    const json_t *object)
{
    json_t *causes = resource->is_custom ? schema_check(version->schema, object) : json_array();
    const char *name = doc_text_or(object, "metadata.name", "");

    if (!has_free_name(resource) && !name_is_dns_subdomain(name))
        reply_add_cause(
            causes, "FieldValueInvalid", "metadata.name",
            "Invalid value: \"%s\": a lowercase RFC 1123 subdomain must consist of lower "
            "case alphanumeric characters, '-' or '.', and must start and end with an "
            "alphanumeric character",
            name);
    check_labels(doc_get(object, "metadata.labels"), causes);
    if (rules_is(resource, "customresourcedefinitions.apiextensions.k8s.io"))
        check_definition(object, causes);
    return causes;
}

static bool member_differs(const json_t *a, const json_t *b)
{
    return a != b && (!a || !b || !json_equal(doc_writable(a), doc_writable(b)));
}

static bool is_ignored(const struct resource *resource, const char *key)
{
    return strcmp(key, "metadata") == 0 || (resource->has_status && strcmp(key, "status") == 0);
}

bool rules_spec_differs(const struct resource *resource, const json_t *before, const json_t *after)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(before, key, value)
    {
        if (!is_ignored(resource, key) && member_differs(value, doc_member(after, key)))
            return true;
    }
    doc_foreach(after, key, value)
    {
        if (!is_ignored(resource, key) && !doc_member(before, key))
            return true;
    }
    return false;
}
