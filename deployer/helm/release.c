/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/helm/release.h"

#include <string.h>

#include "common/archive/gzip.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/helm/values.h"

static const unsigned char gzip_magic[] = {0x1f, 0x8b};

/* ---- Secrets ---- */

char *helm_release_selector(const char *name, bool is_deployed_only)
{
    return xasprintf("owner=helm,name=%s%s", name, is_deployed_only ? ",status=deployed" : "");
}

static uint64_t revision_of(const json_t *secret)
{
    uint64_t revision = 0;

    (void)!number_parse(doc_text_or(secret, "metadata.labels.version", ""), INT64_MAX, &revision);
    return revision;
}

const json_t *helm_release_newest(const json_t *secrets)
{
    const json_t *newest = NULL;

    for (size_t i = 0; i < json_array_size(secrets); i++) {
        const json_t *secret = json_array_get(secrets, i);

        if (!newest || revision_of(secret) > revision_of(newest))
            newest = secret;
    }
    return newest;
}

bool helm_release_is_pending(const json_t *secret)
{
    return strncmp(doc_text_or(secret, "metadata.labels.status", ""), "pending-", 8) == 0;
}

/* The data of a Secret is base64 of what helm stores, which is base64 again. */
static int decode_twice(const json_t *text, struct buffer *ret_bytes, struct error *err)
{
    cleanup_buffer struct buffer once = {0};

    buffer_init(&once, HELM_RELEASE_BYTES_MAX);
    if (!json_is_string(text) ||
        base64_decode(json_string_value(text), json_string_length(text), &once, err) < 0)
        return -1;
    return base64_decode(once.data ? once.data : "", once.size, ret_bytes, err);
}

int helm_release_parse(const json_t *secret, json_t **ret_release, struct error *err)
{
    static const char *const skipped[] = {"chart.templates", "chart.files", "chart.schema", "hooks",
                                          NULL};
    cleanup_buffer struct buffer packed = {0};
    cleanup_buffer struct buffer plain = {0};
    const struct buffer *text = &packed;

    buffer_init(&packed, HELM_RELEASE_BYTES_MAX);
    buffer_init(&plain, HELM_RELEASE_BYTES_MAX);
    if (decode_twice(doc_member(doc_member(secret, "data"), "release"), &packed, err) < 0)
        return error_set(err, ERROR_INVALID, "release Secret \"%s\": not base64",
                         doc_text_or(secret, "metadata.name", ""));
    if (packed.size > sizeof(gzip_magic) &&
        memcmp(packed.data, gzip_magic, sizeof(gzip_magic)) == 0) {
        if (gzip_unpack(packed.data, packed.size, &plain, err) < 0)
            return error_wrap(err, "release Secret \"%s\"",
                              doc_text_or(secret, "metadata.name", ""));
        text = &plain;
    }
    if (doc_parse_json_without(text->data ? text->data : "", text->size, HELM_RELEASE_BYTES_MAX,
                               skipped, ret_release, err) < 0)
        return error_wrap(err, "release Secret \"%s\"", doc_text_or(secret, "metadata.name", ""));
    return 0;
}

/* ---- Objects ---- */

static bool is_workload(const char *api_version, const char *kind)
{
    static const struct {
        const char *api_version, *kind;
    } workloads[] = {
        {"v1", "Pod"},
        {"v1", "ReplicationController"},
        {"apps/v1", "Deployment"},
        {"apps/v1", "ReplicaSet"},
        {"apps/v1", "StatefulSet"},
        {"apps/v1", "DaemonSet"},
    };

    for (size_t i = 0; i < array_length(workloads); i++) {
        if (strcmp(workloads[i].api_version, api_version) == 0 &&
            strcmp(workloads[i].kind, kind) == 0)
            return true;
    }
    return false;
}

static void add_object(const json_t *object, const char *namespace_name,
                       struct inventory *inventory)
{
    struct inventory_entry entry = {.policy = POLICY_MANAGE, .is_namespaced = true};

    if (!is_workload(doc_text_or(object, "apiVersion", ""), doc_text_or(object, "kind", "")))
        return;
    entry.ref = object_ref_of(object);
    if (!entry.ref.namespace_name)
        entry.ref.namespace_name = xstrdup(namespace_name);
    (void)inventory_add(inventory, entry);
}

int helm_release_objects(const json_t *release, struct inventory *ret_objects, struct error *err)
{
    const char *manifest = doc_text_or(release, "manifest", "");
    const char *namespace_name = doc_text_or(release, "namespace", "");
    cleanup_json json_t *documents = NULL;

    /* helm accepts duplicate keys and has already applied the manifest. */
    if (doc_parse_yaml_stream_repeated(manifest, strlen(manifest), HELM_RELEASE_BYTES_MAX,
                                       &documents, err) < 0)
        return error_wrap(err, "manifest of the release");
    for (size_t i = 0; i < json_array_size(documents); i++) {
        const json_t *document = json_array_get(documents, i);
        const json_t *items = doc_member(document, "items");

        for (size_t j = 0; j < json_array_size(items); j++)
            add_object(json_array_get(items, j), namespace_name, ret_objects);
        add_object(document, namespace_name, ret_objects);
    }
    inventory_sort(ret_objects);
    return 0;
}

/* ---- Values ---- */

json_t *helm_release_values(const json_t *release)
{
    const json_t *chart = doc_member(release, "chart");

    return json_pack("{s:o,s:o,s:{s:s,s:s,s:s,s:I}}", "Values",
                     helm_merge_values(doc_member(chart, "values"), doc_member(release, "config"),
                                       doc_get(chart, "metadata.dependencies")),
                     "Chart", helm_chart_fields(doc_member(chart, "metadata")), "Release", "Name",
                     doc_text_or(release, "name", ""), "Namespace",
                     doc_text_or(release, "namespace", ""), "Service", "Helm", "Revision",
                     (json_int_t)doc_integer_or(release, "version", 0));
}
