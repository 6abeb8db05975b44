/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/reduce.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/digest.h"
#include "common/data/doc.h"

enum { KUBECONFIG_MAX = 1 << 20 };

/* In reduced objects only. */
#define HASHES "hashes"
#define ACCESS_HASH "accessHash"

const char *const REDUCE_MEMBERS[] = {"componentDescriptor", "blueprint", "imports",
                                      "importDataMappings", NULL};

/* ---- metadata ---- */

/* Copies members of an object that exist. */
static void copy_members(json_t *to, const json_t *from, const char *const *members)
{
    for (size_t i = 0; members[i]; i++) {
        const json_t *value = doc_member(from, members[i]);

        if (value && !json_is_null(value))
            (void)json_object_set_new(to, members[i], json_deep_copy(value));
    }
}

static json_t *copy_of(const json_t *from, const char *const *members)
{
    json_t *copy = json_object();

    copy_members(copy, from, members);
    return copy;
}

static json_t *owners_of(const json_t *owners)
{
    static const char *const members[] = {"kind", "name", "uid", NULL};
    json_t *copies = json_array();

    for (size_t i = 0; i < json_array_size(owners); i++)
        (void)json_array_append_new(copies, copy_of(json_array_get(owners, i), members));
    return copies;
}

/* Annotations of ours and of Landscaper. */
static json_t *annotations_of(const json_t *annotations)
{
    json_t *copies = json_object();
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(annotations, key, value)
    {
        if (strstr(key, LANDSCAPER_GROUP))
            (void)json_object_set_new(copies, key, json_deep_copy(value));
    }
    return copies;
}

static json_t *metadata_of(const json_t *object)
{
    static const char *const members[] = {
        "name",       "uid",        "resourceVersion",   "generation",
        "finalizers", "deletionTimestamp", NULL};
    static const char *const labels[] = {LABEL_ENVIRONMENT, LABEL_REGISTRATION, NULL};
    const json_t *metadata = doc_member(object, "metadata");
    json_t *copy = copy_of(metadata, members);
    cleanup_json json_t *kept = copy_of(doc_member(metadata, "labels"), labels);

    if (json_is_object(doc_member(metadata, "annotations")))
        (void)json_object_set_new(copy, "annotations",
                                  annotations_of(doc_member(metadata, "annotations")));
    if (json_array_size(doc_member(metadata, "ownerReferences")) > 0)
        (void)json_object_set_new(copy, "ownerReferences",
                                  owners_of(doc_member(metadata, "ownerReferences")));
    if (json_object_size(kept) > 0)
        (void)json_object_set(copy, "labels", kept);
    return copy;
}

/* ---- hashes ---- */

static char *hash_of(const json_t *value)
{
    cleanup_free char *text = doc_dump_sorted(value);
    char hex[DIGEST_HEX_MAX] = {0};

    digest_sha256_hex(text, strlen(text), hex);
    return xstrdup(hex);
}

/* An absent member and an empty one mean the same, and so do absent and empty data imports. */
char *reduce_member_hash(const json_t *spec, const char *member)
{
    const json_t *hashes = doc_member(spec, HASHES);
    const json_t *value = doc_member(spec, member);
    cleanup_json json_t *copy = NULL;

    if (json_is_object(hashes))
        return xstrdup(doc_text_or(hashes, member, ""));
    if (!json_is_object(value) || json_object_size(value) == 0)
        return xstrdup("");
    if (strcmp(member, "imports") != 0 || json_array_size(doc_member(value, "data")) > 0)
        return hash_of(value);
    copy = json_deep_copy(value);
    (void)json_object_del(copy, "data");
    return hash_of(copy);
}

/* What v0.98 wrote may lack the scheme, and has explicit defaults. */
char *reduce_cluster_hash(const json_t *cluster)
{
    const char *server = doc_text_or(cluster, "server", "");
    cleanup_free char *complete =
        xasprintf("%s%s", strstr(server, "://") ? "" : "https://", server);
    cleanup_json json_t *copy = json_deep_copy(cluster);

    (void)json_object_set_new(copy, "server", doc_new_text(complete));
    if (!json_is_true(json_object_get(copy, "insecure-skip-tls-verify")))
        (void)json_object_del(copy, "insecure-skip-tls-verify");
    return hash_of(copy);
}

char *reduce_kubeconfig_hash(const char *kubeconfig)
{
    cleanup_json json_t *config = NULL;
    const json_t *cluster = NULL;
    const json_t *user = NULL;
    struct error err = {0};

    if (doc_parse_yaml(kubeconfig, strlen(kubeconfig), KUBECONFIG_MAX, &config, &err) < 0)
        return NULL;
    cluster = doc_member(json_array_get(doc_member(config, "clusters"), 0), "cluster");
    user = doc_member(json_array_get(doc_member(config, "users"), 0), "user");
    if (!json_is_object(cluster) ||
        (!*doc_text_or(user, "token", "") && !*doc_text_or(user, "tokenFile", "")))
        return NULL;
    return reduce_cluster_hash(cluster);
}

char *reduce_target_hash(const json_t *target)
{
    const char *known = doc_text(target, ACCESS_HASH);
    const char *kubeconfig = doc_text(target, "spec.config.kubeconfig");

    if (known || !kubeconfig)
        return xstrdup_or_null(known);
    return reduce_kubeconfig_hash(kubeconfig);
}

/* ---- objects ---- */

static json_t *status_of(const json_t *status)
{
    static const char *const members[] = {"phase", "jobID", "jobIDFinished", "observedGeneration",
                                          NULL};
    json_t *copy = copy_of(status, members);
    const char *message = doc_text(status, "lastError.message");

    if (message)
        (void)json_object_set_new(copy, "lastError",
                                  json_pack("{s:o}", "message", doc_new_text(message)));
    return copy;
}

json_t *reduce_installation(const json_t *installation)
{
    const json_t *spec = doc_member(installation, "spec");
    const char *release = doc_text(spec, "importDataMappings." IMPORT_RELEASE_NAME);
    json_t *hashes = json_object();
    json_t *kept = json_pack("{s:o}", HASHES, hashes);

    for (size_t i = 0; REDUCE_MEMBERS[i]; i++) {
        cleanup_free char *hash = reduce_member_hash(spec, REDUCE_MEMBERS[i]);

        (void)json_object_set_new(hashes, REDUCE_MEMBERS[i], json_string(hash));
    }
    if (release)
        (void)json_object_set_new(
            kept, "importDataMappings",
            json_pack("{s:o}", IMPORT_RELEASE_NAME, doc_new_text(release)));
    return json_pack("{s:o,s:o,s:o}", "metadata", metadata_of(installation), "spec", kept, "status",
                     status_of(doc_member(installation, "status")));
}

static bool has_owner(const json_t *object, const char *kind)
{
    const json_t *owners = doc_get(object, "metadata.ownerReferences");

    for (size_t i = 0; i < json_array_size(owners); i++) {
        if (strcmp(doc_text_or(json_array_get(owners, i), "kind", ""), kind) == 0)
            return true;
    }
    return false;
}

json_t *reduce_target(const json_t *target)
{
    json_t *reduced = json_pack("{s:o}", "metadata", metadata_of(target));
    cleanup_free char *hash = NULL;

    if (has_owner(target, KIND_ENVIRONMENT)) {
        static const char *const members[] = {"labels", "annotations", NULL};

        copy_members(json_object_get(reduced, "metadata"), doc_member(target, "metadata"), members);
        (void)json_object_set_new(reduced, "spec", json_deep_copy(doc_member(target, "spec")));
        return reduced;
    }
    hash = reduce_target_hash(target);
    if (hash)
        (void)json_object_set_new(reduced, ACCESS_HASH, json_string(hash));
    return reduced;
}

json_t *reduce_account(const json_t *account)
{
    return json_pack("{s:o}", "metadata", metadata_of(account));
}

json_t *reduce_binding(const json_t *binding)
{
    static const char *const members[] = {"roleRef", "subjects", NULL};
    json_t *reduced = json_pack("{s:o}", "metadata", metadata_of(binding));

    copy_members(reduced, binding, members);
    return reduced;
}

json_t *reduce_item(const json_t *item)
{
    static const char *const labels[] = {LABEL_EXECUTION, NULL};

    return json_pack("{s:{s:s,s:s,s:o},s:{s:s,s:{s:s}},s:{s:{s:s}}}", "metadata", "name",
                     doc_text_or(item, "metadata.name", ""), "namespace",
                     doc_text_or(item, "metadata.namespace", ""), "labels",
                     copy_of(doc_get(item, "metadata.labels"), labels), "spec", "type",
                     doc_text_or(item, "spec.type", ""), "target", "name",
                     doc_text_or(item, "spec.target.name", ""), "status", "deployer", "identity",
                     doc_text_or(item, "status.deployer.identity", ""));
}

json_t *reduce_lease(const json_t *lease)
{
    static const char *const members[] = {"holderIdentity", "renewTime", "leaseDurationSeconds",
                                          NULL};

    return json_pack("{s:{s:s,s:s,s:s},s:o}", "metadata", "name",
                     doc_text_or(lease, "metadata.name", ""), "uid",
                     doc_text_or(lease, "metadata.uid", ""), "resourceVersion",
                     doc_text_or(lease, "metadata.resourceVersion", ""), "spec",
                     copy_of(doc_member(lease, "spec"), members));
}
