/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/commands/validate_modules.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/suggest.h"
#include "common/data/doc.h"
#include "deployer/commands/validate_object.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/resolve.h"

/* A Kyma or ModuleReleaseMeta with the catalog of its namespace. */
struct place_in_catalog {
    const json_t *object;
    struct origin origin;
    json_t *releases, *templates; /* by name */
    struct findings *findings;
};

static bool is_kind(const json_t *object, const char *kind)
{
    return strcmp(doc_text_or(object, "kind", ""), kind) == 0 &&
           strcmp(doc_text_or(object, "apiVersion", ""), KYMA_API_VERSION) == 0;
}

static bool is_together(const json_t *one, const json_t *other)
{
    const char *first = doc_text_or(one, "metadata.namespace", "");
    const char *second = doc_text_or(other, "metadata.namespace", "");

    return !*first || !*second || strcmp(first, second) == 0;
}

/* The objects of a kind that belong to object, by name. New reference. */
static json_t *collect(const struct bundle *bundle, const char *kind, const json_t *object)
{
    json_t *found = json_object();

    for (size_t i = 0; i < json_array_size(bundle->objects); i++) {
        json_t *other = json_array_get(bundle->objects, i);
        const char *name = doc_text_or(other, "metadata.name", "");

        if (*name && is_kind(other, kind) && is_together(object, other))
            (void)json_object_set(found, name, other);
    }
    return found;
}

static void add(const struct place_in_catalog *place, const char *path, const char *text,
                const char *meant, bool is_warning)
{
    cleanup_free char *title = object_title(place->object);
    cleanup_free char *complete =
        xasprintf("in these files, %s%s%s%s", text, meant ? "; did you mean \"" : "",
                  meant ? meant : "", meant ? "\"?" : "");

    findings_add(place->findings, place->origin, title, path, complete, is_warning);
}

/* The most similar key, or NULL. */
static const char *similar_name(const json_t *objects, const char *given)
{
    struct suggestion suggestion = {.given = given};
    const char *name = NULL;
    json_t *object = NULL;

    doc_foreach(objects, name, object)
    {
        suggestion_offer(&suggestion, name);
    }
    return suggestion.best;
}

static const char *similar_channel(const json_t *release, const char *given)
{
    const json_t *channels = doc_get(release, "spec.channels");
    struct suggestion suggestion = {.given = given};

    for (size_t i = 0; i < json_array_size(channels); i++)
        suggestion_offer(&suggestion, doc_text_or(json_array_get(channels, i), "channel", ""));
    return suggestion.best;
}

/* ---- Kyma ---- */

/* Where the Kyma lists the module. Belongs to the caller. */
static char *module_path(const json_t *kyma, const char *name)
{
    const json_t *modules = doc_get(kyma, "spec.modules");
    size_t i = 0;

    while (i < json_array_size(modules) &&
           strcmp(doc_text_or(json_array_get(modules, i), "name", ""), name) != 0)
        i++;
    return path_index("spec.modules", i);
}

static void check_choice(const struct place_in_catalog *place, const struct module_choice *choice)
{
    const json_t *release = doc_member(place->releases, choice->name);
    cleanup_free char *path = module_path(place->object, choice->name);
    cleanup_free char *revoked = NULL;

    if (choice->kind == CHOICE_INSTALL || choice->kind == CHOICE_RELEASE)
        return;
    if (choice->kind == CHOICE_REVOKE) {
        revoked = xasprintf("%s; only Kymas with the label of the ModuleTemplate get it",
                            choice->message);
        add(place, path, revoked, NULL, false);
    } else if (choice->state == MODULE_ERROR)
        add(place, path, choice->message, NULL, false);
    else if (!release)
        add(place, path, choice->message, similar_name(place->releases, choice->name), true);
    else if (!*choice->version) /* otherwise check_release() reports the template */
        add(place, path, choice->message, similar_channel(release, choice->channel), false);
}

/* Decides as the lifecycle manager does in a cluster that has no module yet. */
static void check_kyma(const struct place_in_catalog *place)
{
    cleanup_json json_t *kyma = json_deep_copy(place->object);
    struct resolve_input input = {
        .kyma = kyma,
        .spec = doc_get(kyma, "spec"),
        .catalog = {place->releases, place->templates,
                    doc_text_or(place->object, "metadata.namespace", KYMA_CONTROL_PLANE_NAMESPACE)},
    };
    cleanup_choices struct choices choices = {0};

    if (json_object_size(place->releases) + json_object_size(place->templates) == 0)
        return;
    (void)json_object_del(kyma, "status");
    choices = resolve_modules(&input);
    for (size_t i = 0; i < choices.count; i++) {
        /* kyma_check() reports it. */
        if (strcmp(choices.choices[i].channel, "none") != 0)
            check_choice(place, &choices.choices[i]);
    }
}

/* ---- ModuleReleaseMeta ---- */

static void check_version(const struct place_in_catalog *place, const json_t *assigned,
                          const char *path)
{
    const char *version = doc_text_or(assigned, "version", "");
    cleanup_free char *name =
        xasprintf("%s-%s", doc_text_or(place->object, "metadata.name", ""), version);
    cleanup_free char *where = path_member(path, "version");
    cleanup_free char *text = NULL;

    if (!*version || doc_member(place->templates, name))
        return;
    text = xasprintf("there is no ModuleTemplate \"%s\"; add it, or change the version", name);
    add(place, where, text, similar_name(place->templates, name), true);
}

static void check_release(const struct place_in_catalog *place)
{
    const json_t *channels = doc_get(place->object, "spec.channels");

    if (json_object_size(place->templates) == 0)
        return;
    check_version(place, doc_get(place->object, "spec.mandatory"), "spec.mandatory");
    for (size_t i = 0; i < json_array_size(channels); i++) {
        cleanup_free char *path = path_index("spec.channels", i);

        check_version(place, json_array_get(channels, i), path);
    }
}

void modules_check(const struct bundle *bundle, const struct origin *origins,
                   struct findings *findings)
{
    for (size_t i = 0; i < json_array_size(bundle->objects); i++) {
        const json_t *object = json_array_get(bundle->objects, i);
        bool is_kyma = is_kind(object, KIND_KYMA);
        struct place_in_catalog place = {
            .object = object, .origin = origins[i], .findings = findings};

        if (!is_kyma && !is_kind(object, KIND_MODULE_RELEASE_META))
            continue;
        place.releases = collect(bundle, KIND_MODULE_RELEASE_META, object);
        place.templates = collect(bundle, KIND_MODULE_TEMPLATE, object);
        if (is_kyma)
            check_kyma(&place);
        else
            check_release(&place);
        json_decref(place.releases);
        json_decref(place.templates);
    }
}
