/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/item/item.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/data/timestamp.h"
#include "common/kube/object.h"
#include "deployer/item/kinds.h"
#include "deployer/validation/fields.h"

void item_free(struct item *item)
{
    if (!item)
        return;
    free(item->name);
    free(item->namespace_name);
    free(item->uid);
    free(item->resource_version);
    json_decref(item->other_finalizers);
    free(item->operation);
    free(item->annotated_type);
    free(item->annotated_target);
    free(item->type);
    free(item->target);
    free(item->context);
    json_decref(item->config);
    free(item->phase);
    free(item->job);
    free(item->job_finished);
    free(item->last_operation);
    free(item->last_successful_job);
    free(item->last_pod);
    json_decref(item->status);
    mistakes_done(&item->mistakes);
    free(item);
}

static void read_finalizers(struct item *item, const json_t *metadata)
{
    const json_t *finalizers = doc_member(metadata, "finalizers");

    item->other_finalizers = json_array();
    for (size_t i = 0; i < json_array_size(finalizers); i++) {
        json_t *name = json_array_get(finalizers, i);

        if (json_is_string(name) && strcmp(json_string_value(name), FINALIZER_DEPLOY_ITEM) == 0)
            item->has_finalizer = true;
        else
            (void)json_array_append(item->other_finalizers, name);
    }
}

static const char *annotation(const json_t *metadata, const char *key)
{
    return json_string_value(doc_member(doc_member(metadata, "annotations"), key));
}

static void read_metadata(struct item *item, const json_t *metadata)
{
    const char *without_uninstall = annotation(metadata, ANNOTATION_DELETE_WITHOUT_UNINSTALL);
    const json_t *deletion = doc_member(metadata, "deletionTimestamp");

    item->uid = xstrdup(doc_text_or(metadata, "uid", ""));
    item->resource_version = xstrdup(doc_text_or(metadata, "resourceVersion", ""));
    item->generation = doc_integer_or(metadata, "generation", 0);
    item->is_deleting = deletion && !json_is_null(deletion);
    read_finalizers(item, metadata);
    item->operation = xstrdup_or_null(annotation(metadata, ANNOTATION_OPERATION));
    item->annotated_type = xstrdup_or_null(annotation(metadata, ANNOTATION_DEPLOYER_TYPE));
    item->annotated_target = xstrdup_or_null(annotation(metadata, ANNOTATION_DEPLOYER_TARGET));
    /* As in the Go deployer, the presence of the key counts, not its value. */
    item->is_force_cleanup =
        doc_member(doc_member(metadata, "annotations"), ANNOTATION_FORCE_CLEANUP) != NULL;
    item->is_delete_without_uninstall = without_uninstall && strcmp(without_uninstall, "true") == 0;
}

static int64_t timeout_of(const struct fields *spec)
{
    const char *text = field_text(spec, "timeout");
    int64_t timeout_ms = field_duration_ms(spec, "timeout", ITEM_TIMEOUT_DEFAULT_MS);

    if (text && strcmp(text, "none") == 0)
        return ITEM_TIMEOUT_NONE;
    return timeout_ms < 0 ? ITEM_TIMEOUT_DEFAULT_MS : timeout_ms;
}

static void read_spec(struct item *item, const json_t *object)
{
    const struct fields root = {object, "", &item->mistakes};
    const struct fields spec = {field_object(&root, "spec"), "spec", &item->mistakes};
    const struct fields target = {field_object(&spec, "target"), "spec.target", &item->mistakes};
    const json_t *config = field_object(&spec, "config");
    const char *unreadable = doc_text(object, KUBE_UNREADABLE);

    rule_check(field_any(&root, "spec"), rules_find(ITEM_FIELDS, "spec"), "spec", &item->mistakes);
    item->type = field_text_copy(&spec, "type", "");
    item->target = field_text_copy(&target, "name", NULL);
    item->context = field_text_copy(&spec, "context", CONTEXT_DEFAULT);
    if (json_object_size(config) > 0)
        item->config = json_incref((json_t *)(uintptr_t)config);
    /* Without a readable spec assume that there is a configuration: an item without one is cleaned
     * up without a DELETE run. */
    if (unreadable && !item->config)
        item->config = json_object();
    if (unreadable)
        mistakes_add(&item->mistakes, MISTAKE_INVALID, "spec", "can't be read: %s", unreadable);
    item->is_update_on_change_only = field_bool(&spec, "updateOnChangeOnly", false);
    item->timeout_ms = timeout_of(&spec);
}

static int64_t time_or_zero(const json_t *doc, const char *path)
{
    const char *text = doc_text(doc, path);
    struct error err = {0};
    int64_t unix_ms = 0;

    if (!text || timestamp_parse(text, &unix_ms, &err) < 0 || unix_ms < 0)
        return 0;
    return unix_ms;
}

static void read_status(struct item *item, const json_t *status)
{
    item->status =
        json_is_object(status) ? json_incref((json_t *)(uintptr_t)status) : json_object();
    status = item->status;
    item->phase = xstrdup(doc_text_or(status, "phase", ""));
    item->job = xstrdup(doc_text_or(status, "jobID", ""));
    item->job_finished = xstrdup(doc_text_or(status, "jobIDFinished", ""));
    item->observed_generation = doc_integer_or(status, "observedGeneration", 0);
    item->job_generated_unix_ms = time_or_zero(status, "jobIDGenerationTime");
    item->init_unix_ms = time_or_zero(status, "transitionTimes.initTime");
    item->last_reconcile_unix_ms = time_or_zero(status, "lastReconcileTime");
    item->last_operation = xstrdup_or_null(doc_text(status, "providerStatus.lastOperation"));
    item->last_successful_job =
        xstrdup_or_null(doc_text(status, "providerStatus.podStatus.lastSuccessfulJobID"));
    item->last_pod = xstrdup_or_null(doc_text(status, "providerStatus.podStatus.podName"));
    item->has_export = doc_text(status, "exportRef.name") != NULL;
}

int item_parse(const json_t *object, struct item **ret_item, struct error *err)
{
    cleanup_item struct item *item = NULL;
    const json_t *metadata = doc_member(object, "metadata");
    const char *name = doc_text_or(metadata, "name", "");
    const char *namespace_name = doc_text_or(metadata, "namespace", "");

    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "deploy item: expected an object");
    if (!*name)
        return error_set(err, ERROR_INVALID, "deploy item: metadata.name is missing");
    if (!*namespace_name)
        return error_set(err, ERROR_INVALID, "deploy item \"%s\": metadata.namespace is missing",
                         name);
    item = xcalloc(1, sizeof(*item));
    item->name = xstrdup(name);
    item->namespace_name = xstrdup(namespace_name);
    read_metadata(item, metadata);
    read_spec(item, object);
    read_status(item, doc_member(object, "status"));
    *ret_item = steal(&item);
    return 0;
}

bool item_is_test_reconcile(const struct item *item)
{
    return item->operation && strcmp(item->operation, OPERATION_TEST_RECONCILE) == 0;
}

bool item_is_finished(const struct item *item)
{
    return strcmp(item->job, item->job_finished) == 0 && !item_is_test_reconcile(item);
}

const char *item_effective_type(const struct item *item)
{
    return item->annotated_type ? item->annotated_type : item->type;
}

const char *item_effective_target(const struct item *item)
{
    if (!item->annotated_target || !item->annotated_type)
        return item->target;
    return strcmp(item->annotated_target, DEPLOYER_TARGET_NONE) == 0 ? NULL
                                                                     : item->annotated_target;
}

int64_t item_deadline_unix_ms(const struct item *item)
{
    if (item->timeout_ms == ITEM_TIMEOUT_NONE || item->init_unix_ms == 0)
        return -1;
    if (item->timeout_ms > INT64_MAX - item->init_unix_ms)
        return -1;
    return item->init_unix_ms + item->timeout_ms;
}

char *item_export_name(const char *namespace_name, const char *name)
{
    cleanup_free char *go_name = xasprintf("%s" SUFFIX_EXPORT, name);

    return strlen(go_name) <= NAME_MAX_SUBDOMAIN
               ? steal(&go_name)
               : name_make(namespace_name, name, SUFFIX_EXPORT, NAME_MAX_LABEL);
}
