/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/catalog_object.h"

#include "common/apply/merge.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/resolve.h"

static void add(json_t *objects, const char *plural, const char *kind, const json_t *source,
                json_t *spec)
{
    const char *name = doc_text_or(source, "metadata.name", "");
    const json_t *annotations = doc_get(source, "metadata.annotations");
    json_t *labels = json_deep_copy(doc_get(source, "metadata.labels"));
    json_t *object = NULL;
    cleanup_free char *hash = NULL, *key = xasprintf("%s/%s", plural, name);

    if (!labels)
        labels = json_object();
    json_object_set_new(labels, KYMA_LABEL_MANAGED_BY, json_string(KYMA_MANAGED_BY_CLUSTER));
    object = json_pack("{s:s, s:s, s:{s:s, s:s, s:o}, s:o}", "apiVersion", KYMA_API_VERSION, "kind",
                       kind, "metadata", "name", name, "namespace", KYMA_NAMESPACE, "labels",
                       labels, "spec", spec);
    if (json_object_size(annotations) > 0) {
        json_t *copy = json_deep_copy(annotations);

        (void)json_object_del(copy, "kubectl.kubernetes.io/last-applied-configuration");
        doc_set_new(object, "metadata.annotations", copy);
    }
    hash = merge_hash(object);
    json_object_set_new(objects, key, json_pack("{s:o, s:s}", "object", object, "hash", hash));
}

static void add_release(json_t *objects, const json_t *release, const json_t *templates,
                        const json_t *kyma)
{
    json_t *channels = json_array();
    json_t *spec = NULL;
    size_t i;
    json_t *channel;

    json_array_foreach(doc_writable(doc_get(release, "spec.channels")), i, channel)
    {
        cleanup_free char *name = xasprintf("%s-%s", doc_text_or(release, "metadata.name", ""),
                                            doc_text_or(channel, "version", ""));
        const json_t *template = doc_member(templates, name);
        const char *reason = NULL;

        if (!template || !template_is_visible(template, kyma, &reason))
            continue;
        json_array_append(channels, channel);
        add(objects, "moduletemplates", KIND_MODULE_TEMPLATE, template,
            json_deep_copy(doc_get(template, "spec")));
    }
    if (json_array_size(channels) > 0) {
        spec = json_copy(doc_writable(doc_get(release, "spec")));
        json_object_set(spec, "channels", channels);
        add(objects, "modulereleasemetas", KIND_MODULE_RELEASE_META, release, spec);
    }
    json_decref(channels);
}

json_t *catalog_objects(const json_t *releases, const json_t *templates, const json_t *kyma)
{
    json_t *objects = json_object();
    const char *name;
    json_t *release;

    doc_foreach(releases, name, release)
    {
        if (!doc_get(release, "spec.mandatory") && !doc_text(release, "metadata.deletionTimestamp"))
            add_release(objects, release, templates, kyma);
    }
    return objects;
}
