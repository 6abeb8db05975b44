/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the objects of a pair with those that exist. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/registrations/kinds.h"
#include "deployer/registrations/pair.h"
#include "deployer/registrations/reduce.h"

enum { CLOCK_TOLERANCE_MS = 5 * 60 * 1000 }; /* by which a clock may be corrected */

/* ---- ownership ---- */

static bool is_owned_by(const json_t *object, const char *kind, const char *uid)
{
    const json_t *owners = doc_get(object, "metadata.ownerReferences");

    for (size_t i = 0; uid && i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);

        if (strcmp(doc_text_or(owner, "kind", ""), kind) == 0 &&
            strcmp(doc_text_or(owner, "uid", ""), uid) == 0)
            return true;
    }
    return false;
}

static bool has_labels(const struct pair *pair, const json_t *object)
{
    const char *registration = NULL;
    const char *environment = NULL;

    return json_object_get(doc_get(object, "metadata.annotations"), ANNOTATION_PAIR_REGISTRATION) &&
           pair_of_object(object, &registration, &environment) &&
           strcmp(registration, doc_text_or(pair->registration, "metadata.name", "")) == 0 &&
           strcmp(environment, doc_text_or(pair->environment, "metadata.name", "")) == 0;
}

bool pair_owns(const struct pair *pair, const json_t *object, const char *installation_uid)
{
    if (has_labels(pair, object) || is_owned_by(object, KIND_INSTALLATION, installation_uid))
        return true;
    /* Objects of a list have no kind. */
    return json_is_object(doc_member(object, "roleRef")) && pair_binding_is_current(pair, object);
}

bool pair_owns_host_target(const json_t *environment, const json_t *target)
{
    return is_owned_by(target, KIND_ENVIRONMENT, doc_text(environment, "metadata.uid"));
}

/* ---- what has to be written ---- */

/* The API server adds apiGroup "" to subjects. */
static bool is_subject(const json_t *subjects, const struct pair *pair)
{
    const json_t *subject = json_array_get(subjects, 0);

    return json_array_size(subjects) == 1 &&
           strcmp(doc_text_or(subject, "kind", ""), "ServiceAccount") == 0 &&
           strcmp(doc_text_or(subject, "name", ""), pair->name) == 0 &&
           strcmp(doc_text_or(subject, "namespace", ""), pair->namespace_name) == 0;
}

bool pair_binding_is_current(const struct pair *pair, const json_t *binding)
{
    cleanup_json json_t *wanted = pair_binding(pair);

    return json_equal(doc_member(binding, "roleRef"), doc_member(wanted, "roleRef")) &&
           is_subject(doc_member(binding, "subjects"), pair);
}

static bool is_subset(const json_t *part, const json_t *whole)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(part))
        return true;
    doc_foreach(part, key, value)
    {
        if (!json_equal(value, doc_member(whole, key)))
            return false;
    }
    return true;
}

bool pair_host_target_is_current(const json_t *environment, const json_t *target)
{
    cleanup_json json_t *wanted = environment_host_target(environment, "");

    return pair_owns_host_target(environment, target) &&
           json_equal(doc_member(wanted, "spec"), doc_member(target, "spec")) &&
           is_subset(doc_get(wanted, "metadata.labels"), doc_get(target, "metadata.labels")) &&
           is_subset(doc_get(wanted, "metadata.annotations"),
                     doc_get(target, "metadata.annotations"));
}

static void add_step(json_t *patch, const char *operation, const char *path, json_t *value)
{
    json_t *step = json_pack("{s:s,s:s}", "op", operation, "path", path);

    if (value)
        (void)json_object_set_new(step, "value", value);
    (void)json_array_append_new(patch, step);
}

/* "/" in a key is written as "~1" in a JSON pointer. Our annotations contain no "~". */
static void add_annotation(json_t *patch, const char *key, const char *value)
{
    const char *slash = strchr(key, '/');
    cleanup_free char *path =
        xasprintf("/metadata/annotations/%.*s~1%s", (int)(slash - key), key, slash + 1);

    add_step(patch, "add", path, json_string(value));
}

/* The first steps of every patch: it is still the same object, and it has annotations. */
static json_t *start_patch(const json_t *installation)
{
    json_t *patch = json_array();

    add_step(patch, "test", "/metadata/uid",
             doc_new_text(doc_text_or(installation, "metadata.uid", "")));
    if (!json_is_object(doc_get(installation, "metadata.annotations")))
        add_step(patch, "add", "/metadata/annotations", json_object());
    return patch;
}

static bool add_spec_changes(json_t *patch, const json_t *wanted, const json_t *found)
{
    bool is_changed = false;

    for (size_t i = 0; REDUCE_MEMBERS[i]; i++) {
        const char *member = REDUCE_MEMBERS[i];
        json_t *value = doc_writable(doc_member(wanted, member));
        cleanup_free char *wanted_hash = reduce_member_hash(wanted, member);
        cleanup_free char *found_hash = reduce_member_hash(found, member);
        cleanup_free char *path = xasprintf("/spec/%s", member);

        if (strcmp(wanted_hash, found_hash) == 0)
            continue;
        is_changed = true;
        if (value)
            add_step(patch, "add", path, json_incref(value));
        else
            add_step(patch, "remove", path, NULL);
    }
    return is_changed;
}

bool pair_has_finalizer(const json_t *object)
{
    const json_t *finalizers = doc_get(object, "metadata.finalizers");

    for (size_t i = 0; i < json_array_size(finalizers); i++) {
        if (strcmp(json_string_value(json_array_get(finalizers, i)), FINALIZER_MANAGEMENT) == 0)
            return true;
    }
    return false;
}

json_t *pair_installation_patch(const struct pair *pair, const json_t *installation)
{
    const json_t *annotations = doc_get(installation, "metadata.annotations");
    const char *renewals = json_string_value(doc_member(annotations, ANNOTATION_TOKEN_RENEWALS));
    cleanup_free char *number = xasprintf("%lld", (long long)pair->renewals);
    cleanup_json json_t *spec = pair_installation_spec(pair);
    cleanup_json json_t *patch = start_patch(installation);
    bool is_changed = add_spec_changes(patch, spec, doc_member(installation, "spec"));
    bool has_new_token = strcmp(renewals ? renewals : "0", number) != 0;

    if (has_new_token)
        add_annotation(patch, ANNOTATION_TOKEN_RENEWALS, number);
    if (is_changed || has_new_token)
        add_annotation(patch, ANNOTATION_OPERATION, OPERATION_ANNOTATION_RECONCILE);
    if ((is_changed || has_new_token) && pair->providers)
        add_annotation(patch, ANNOTATION_PROVIDERS, pair->providers);
    if (!pair_has_finalizer(installation)) {
        if (!json_is_array(doc_get(installation, "metadata.finalizers")))
            add_step(patch, "add", "/metadata/finalizers", json_array());
        add_step(patch, "add", "/metadata/finalizers/-", json_string(FINALIZER_MANAGEMENT));
        is_changed = true;
    }
    return is_changed || has_new_token ? steal(&patch) : NULL;
}

json_t *pair_operation_patch(const json_t *installation, const char *operation,
                             const char *annotation, const char *value)
{
    json_t *patch = start_patch(installation);

    add_annotation(patch, annotation, value);
    if (operation)
        add_annotation(patch, ANNOTATION_OPERATION, operation);
    return patch;
}

/* ---- tokens ---- */

int64_t pair_renewal_unix_ms(const json_t *target, int64_t now_unix_ms)
{
    const json_t *annotations = doc_get(target, "metadata.annotations");
    const char *requested = json_string_value(doc_member(annotations, ANNOTATION_TOKEN_REQUESTED));
    const char *expires = json_string_value(doc_member(annotations, ANNOTATION_TOKEN_EXPIRES));
    int64_t start = 0;
    int64_t end = 0;
    struct error err = {0};

    if (!requested || !expires)
        return 0;
    /* Unreadable times: renew now, which replaces them. */
    if (timestamp_parse(requested, &start, &err) < 0 || timestamp_parse(expires, &end, &err) < 0 ||
        end <= start || start > now_unix_ms + CLOCK_TOLERANCE_MS)
        return 1;
    return start + (end - start) / 2;
}

/* ---- phases ---- */

bool installation_is_finished(const json_t *installation)
{
    const json_t *status = doc_member(installation, "status");
    const char *job = doc_text_or(status, "jobID", "");

    return *job && strcmp(job, doc_text_or(status, "jobIDFinished", "")) == 0 &&
           doc_integer_or(status, "observedGeneration", -1) ==
               doc_integer_or(installation, "metadata.generation", 0) &&
           !json_object_get(doc_get(installation, "metadata.annotations"), ANNOTATION_OPERATION);
}

bool installation_is_ready(const json_t *installation)
{
    return installation_is_finished(installation) &&
           strcmp(doc_text_or(installation, "status.phase", ""), PHASE_SUCCEEDED) == 0;
}

bool installation_is_uninstalled(const json_t *installation)
{
    const json_t *finalizers = doc_get(installation, "metadata.finalizers");

    return doc_text(installation, "metadata.deletionTimestamp") &&
           json_array_size(finalizers) == 1 && pair_has_finalizer(installation);
}
