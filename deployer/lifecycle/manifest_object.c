/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/manifest_object.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manifest_name.h"
#include "deployer/lifecycle/names.h"

static void set(json_t *map, const char *key, const char *value)
{
    json_object_set_new(map, key, doc_new_text(value));
}

static json_t *labels(const json_t *kyma, const struct module_choice *choice, bool is_mandatory)
{
    const json_t *template_labels = doc_get(choice->template, "metadata.labels");
    const json_t *controller = doc_member(template_labels, KYMA_LABEL_CONTROLLER_NAME);
    json_t *labels = json_object();

    set(labels, KYMA_LABEL_KYMA_NAME, doc_text_or(kyma, "metadata.name", ""));
    set(labels, KYMA_LABEL_MODULE_NAME, choice->name);
    set(labels, KYMA_LABEL_MANAGED_BY, KYMA_MANAGED_BY_CONTROL_PLANE);
    if (is_mandatory)
        set(labels, KYMA_LABEL_MANDATORY, "true");
    else
        set(labels, KYMA_LABEL_CHANNEL, choice->channel);
    if (json_object_size(template_labels) > 0)
        set(labels, KYMA_LABEL_CONTROLLER_NAME,
            json_is_string(controller) ? json_string_value(controller) : "");
    return labels;
}

static json_t *owners(const json_t *kyma)
{
    return json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", KYMA_API_VERSION, "kind",
                     KIND_KYMA, "name", doc_text_or(kyma, "metadata.name", ""), "uid",
                     doc_text_or(kyma, "metadata.uid", ""), "controller", 1, "blockOwnerDeletion",
                     1);
}

/* The default resource of the module, with the name and namespace that it gets in the cluster. It
 * is there also if it is not to be created: a module is not removed while resources of its kind
 * exist. */
static json_t *default_resource(const struct module_choice *choice, const char *name)
{
    const json_t *data = doc_get(choice->template, "spec.data");
    const char *is_cluster_scoped = json_string_value(doc_member(
        doc_get(choice->template, "metadata.annotations"), KYMA_ANNOTATION_CLUSTER_SCOPED));
    json_t *resource;

    if (!json_is_object(data))
        return NULL;
    resource = json_deep_copy(data);
    if (!*doc_text_or(resource, "metadata.name", ""))
        doc_set_text(resource, "metadata.name", name);
    if (is_cluster_scoped && strcmp(is_cluster_scoped, "true") == 0)
        (void)json_object_del(json_object_get(resource, "metadata"), "namespace");
    else if (!*doc_text_or(resource, "metadata.namespace", ""))
        doc_set_text(resource, "metadata.namespace", KYMA_NAMESPACE);
    return resource;
}

static json_t *spec(const struct module_choice *choice, const char *name, const char *repository,
                    const struct module_source *source)
{
    json_t *spec = json_pack("{s:{s:s, s:{s:s, s:s, s:s, s:s}}, s:s, s:s, s:b}", "install", "name",
                             "raw-manifest", "source", "repo", repository, "name",
                             choice->component, "ref", source->digest, "type",
                             source->is_archive ? "oci-dir" : "oci-ref", "customResourcePolicy",
                             choice->is_resource_ignored ? "Ignore" : "CreateAndDelete", "version",
                             choice->version, "remote", 0);
    json_t *resource = default_resource(choice, name);
    const json_t *manager = doc_get(choice->template, "spec.manager");

    if (resource)
        json_object_set_new(spec, "resource", resource);
    if (json_is_object(manager))
        json_object_set_new(spec, "manager", json_deep_copy(manager));
    if (json_array_size(source->images) > 0)
        json_object_set_new(spec, "localizedImages", json_deep_copy(source->images));
    return spec;
}

json_t *manifest_object(const json_t *kyma, const struct module_choice *choice, bool is_mandatory,
                        const char *repository, const struct module_source *source)
{
    cleanup_free char *name =
        manifest_name(doc_text_or(kyma, "metadata.name", ""), choice->component, choice->name);

    return json_pack("{s:s, s:s, s:{s:s, s:s, s:o, s:{s:s, s:s}, s:o}, s:o}", "apiVersion",
                     KYMA_API_VERSION, "kind", KIND_MANIFEST, "metadata", "name", name, "namespace",
                     doc_text_or(kyma, "metadata.namespace", ""), "labels",
                     labels(kyma, choice, is_mandatory), "annotations", KYMA_ANNOTATION_FQDN,
                     choice->component, KYMA_ANNOTATION_COMPONENT, choice->component,
                     "ownerReferences", owners(kyma), "spec",
                     spec(choice, name, repository, source));
}

static bool is_same_text(const json_t *one, const json_t *other, const char *path)
{
    return strcmp(doc_text_or(one, path, ""), doc_text_or(other, path, "")) == 0;
}

static bool is_same_label(const json_t *one, const json_t *other, const char *key)
{
    const json_t *first = doc_member(doc_get(one, "metadata.labels"), key);
    const json_t *second = doc_member(doc_get(other, "metadata.labels"), key);

    return first == second || json_equal(first, second);
}

static bool is_unmanaged(const json_t *manifest)
{
    const char *value = json_string_value(
        doc_member(doc_get(manifest, "metadata.annotations"), KYMA_ANNOTATION_UNMANAGED));

    return value && strcmp(value, "true") == 0;
}

const char *manifest_difference(const json_t *existing, const json_t *wanted,
                                const struct module_choice *choice, int64_t written_generation)
{
    int64_t generation = doc_integer_or(choice->template, "metadata.generation", 0);

    if (!existing)
        return "it does not exist";
    if (is_unmanaged(existing))
        return NULL; /* its objects are handed over; it goes away by itself */
    if (!is_same_text(existing, wanted, "spec.version"))
        return "its version differs";
    if (!is_same_label(existing, wanted, KYMA_LABEL_CHANNEL))
        return "its channel differs";
    if (!is_same_text(existing, wanted, "spec.install.source.ref"))
        return "its content differs";
    /* The original overlooks a policy that is changed alone. */
    if (!is_same_text(existing, wanted, "spec.customResourcePolicy"))
        return "its customResourcePolicy differs";
    if (choice->entry && written_generation != generation &&
        doc_integer_or(choice->entry, "template.metadata.generation", 0) != generation &&
        is_same_label(existing, wanted, KYMA_LABEL_MANDATORY) &&
        !doc_member(doc_get(wanted, "metadata.labels"), KYMA_LABEL_MANDATORY))
        return "its template has changed";
    return NULL;
}
