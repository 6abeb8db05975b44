/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/checks_flux.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

#define KUSTOMIZATION_GROUP "kustomize.toolkit.fluxcd.io/"
#define SOURCE_API_VERSION "source.toolkit.fluxcd.io/v1"

bool check_flux_find_source(const json_t *object, struct object_ref *ret_ref)
{
    const json_t *source = doc_get(object, "spec.sourceRef");
    const char *namespace_name = doc_text(object, "metadata.namespace");

    if (strncmp(doc_text_or(object, "apiVersion", ""), KUSTOMIZATION_GROUP,
                strlen(KUSTOMIZATION_GROUP)) != 0 ||
        strcmp(doc_text_or(object, "kind", ""), "Kustomization") != 0 ||
        !doc_text(source, "kind") || !doc_text(source, "name"))
        return false;
    if (ret_ref)
        *ret_ref = (struct object_ref){
            .api_version = xstrdup(doc_text_or(source, "apiVersion", SOURCE_API_VERSION)),
            .kind = xstrdup(doc_text(source, "kind")),
            .namespace_name = xstrdup_or_null(doc_text_or(source, "namespace", namespace_name)),
            .name = xstrdup(doc_text(source, "name")),
        };
    return true;
}

static void forget_source(struct check_flux *flux)
{
    follow_stop(flux->follow);
    flux->follow = NULL;
    object_ref_done(&flux->source);
    free(flux->available);
    flux->available = NULL;
    free(flux->problem);
    flux->problem = NULL;
    flux->is_unknown_kind = false;
}

static void on_source(void *data, const json_t *object, const struct error *err)
{
    struct check_flux *flux = data;

    free(flux->problem);
    flux->problem = err ? xstrdup(err->text) : NULL;
    flux->is_unknown_kind = err && err->kind == ERROR_NOT_FOUND;
    /* An interruption of the watch does not change what is known of the source. */
    if (!err || err->kind == ERROR_NOT_FOUND) {
        free(flux->available);
        flux->available = xstrdup_or_null(doc_text(object, "status.artifact.revision"));
    }
    flux->on_change(flux->data);
}

void check_flux_set_object(struct check_flux *flux, struct cluster *cluster, const json_t *object)
{
    struct object_ref source = {0};

    free(flux->applied);
    flux->applied = xstrdup_or_null(doc_text(object, "status.lastAppliedRevision"));
    if (!check_flux_find_source(object, &source)) {
        forget_source(flux);
        return;
    }
    if (flux->source.name && object_ref_is_same_name(&flux->source, &source)) {
        object_ref_done(&source);
        return;
    }
    forget_source(flux);
    flux->source = source;
    flux->follow = follow_start(&(struct follow_options){
        .cluster = cluster,
        .api_version = flux->source.api_version,
        .kind_name = flux->source.kind,
        .namespace_name = flux->source.namespace_name,
        .name = flux->source.name,
        .on_object = on_source,
        .data = flux,
    });
}

bool check_flux_holds(const struct check_flux *flux, struct error *err)
{
    cleanup_free char *source = NULL;

    if (!flux->source.name || flux->is_unknown_kind)
        return true;
    if (flux->available && flux->applied && strcmp(flux->available, flux->applied) == 0)
        return true;
    source = object_ref_text(&flux->source);
    if (flux->available)
        (void)error_set(err, ERROR_NOT_FOUND, "has not applied the last revision of %s", source);
    else
        (void)error_set(err, ERROR_NOT_FOUND, "its source %s has no artifact yet%s%s", source,
                        flux->problem ? ": " : "", flux->problem ? flux->problem : "");
    return false;
}

void check_flux_done(struct check_flux *flux)
{
    forget_source(flux);
    free(flux->applied);
    flux->applied = NULL;
}
