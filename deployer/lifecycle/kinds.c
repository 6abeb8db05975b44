/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/kinds.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/jsonpath/jsonpath.h"

/* Elements of a list that the API server keeps as a map: their keys are unique. */
static void check_unique(const json_t *object, const char *path, const char *key,
                         struct mistakes *mistakes)
{
    cleanup_json json_t *known = json_object();
    const json_t *list = doc_get(object, path);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *value = doc_text(json_array_get(list, i), key);
        cleanup_free char *element = path_index(path, i);
        cleanup_free char *where = path_member(element, key);

        if (value && json_object_get(known, value))
            mistakes_add(mistakes, MISTAKE_DUPLICATE, where, "\"%.100s\"", value);
        if (value)
            (void)json_object_set_new(known, value, json_true());
    }
}

/* The CRD accepts it as any other word. */
static void check_channel(const json_t *object, const char *path, struct mistakes *mistakes)
{
    if (strcmp(doc_text_or(object, "channel", ""), "none") == 0)
        mistakes_add(mistakes, MISTAKE_INVALID, path,
                     "\"none\": is not a channel; name one that the ModuleReleaseMeta lists");
}

void kyma_check(const json_t *kyma, struct mistakes *mistakes)
{
    const json_t *modules = doc_get(kyma, "spec.modules");

    rules_check(kyma, KYMA_FIELDS, "", mistakes);
    check_unique(kyma, "spec.modules", "name", mistakes);
    check_channel(doc_get(kyma, "spec"), "spec.channel", mistakes);
    for (size_t i = 0; i < json_array_size(modules); i++) {
        cleanup_free char *element = path_index("spec.modules", i);
        cleanup_free char *where = path_member(element, "channel");

        check_channel(json_array_get(modules, i), where, mistakes);
    }
}

/* The CRD accepts any text. */
static void check_paths(const json_t *template, struct mistakes *mistakes)
{
    const json_t *checks = doc_get(template, "spec.customStateCheck");

    for (size_t i = 0; i < json_array_size(checks); i++) {
        const char *text = doc_text_or(json_array_get(checks, i), "jsonPath", "");
        cleanup_free char *element = path_index("spec.customStateCheck", i);
        cleanup_free char *where = path_member(element, "jsonPath");
        cleanup_jsonpath struct jsonpath *path = NULL;
        struct error err = {0};

        if (*text && jsonpath_parse(text, &path, &err) < 0)
            mistakes_add(mistakes, MISTAKE_INVALID, where, "\"%.300s\": %s", text, err.text);
    }
}

void module_template_check(const json_t *template, struct mistakes *mistakes)
{
    const char *name = doc_text_or(template, "metadata.name", "");
    const char *module = doc_text_or(template, "spec.moduleName", "");
    const char *version = doc_text_or(template, "spec.version", "");
    cleanup_free char *expected = xasprintf("%s-%s", module, version);

    rules_check(template, MODULE_TEMPLATE_FIELDS, "", mistakes);
    check_unique(template, "spec.resources", "name", mistakes);
    check_unique(template, "spec.info.icons", "name", mistakes);
    check_paths(template, mistakes);
    if (*name && *module && *version && strcmp(name, expected) != 0)
        mistakes_add(
            mistakes, MISTAKE_UNKNOWN, "metadata.name",
            "\"%.300s\": a ModuleReleaseMeta finds version %.100s of module %.100s only by "
            "the name \"%.300s\"",
            name, version, module, expected);
}

void module_release_meta_check(const json_t *release, struct mistakes *mistakes)
{
    const json_t *spec = doc_get(release, "spec");
    const json_t *channels = doc_get(release, "spec.channels");
    const json_t *mandatory = doc_get(release, "spec.mandatory");
    const json_t *component = doc_get(release, "spec.ocmComponentName");
    const char *name = doc_text_or(release, "metadata.name", "");
    const char *module = doc_text_or(release, "spec.moduleName", "");
    bool has_channels = channels && !json_is_null(channels);

    rules_check(release, MODULE_RELEASE_META_FIELDS, "", mistakes);
    check_unique(release, "spec.channels", "channel", mistakes);
    if (!json_is_object(spec))
        return; /* reported */
    if (has_channels == (mandatory && !json_is_null(mandatory)))
        mistakes_add(mistakes, MISTAKE_REQUIRED, "spec",
                     "exactly one of channels and mandatory must be set");
    if (!component || json_is_null(component))
        mistakes_add(mistakes, MISTAKE_UNKNOWN, "spec.ocmComponentName",
                     "not set: the component cannot be found in the registry");
    if (*name && *module && strcmp(name, module) != 0)
        mistakes_add(mistakes, MISTAKE_UNKNOWN, "metadata.name",
                     "\"%.300s\": Kymas find the module by this name, not by spec.moduleName "
                     "\"%.100s\"; use the same name",
                     name, module);
}

void manifest_check(const json_t *manifest, struct mistakes *mistakes)
{
    rules_check(manifest, MANIFEST_KIND_FIELDS, "", mistakes);
}
