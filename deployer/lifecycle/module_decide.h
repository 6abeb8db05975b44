/* SPDX-License-Identifier: Apache-2.0 */
/* The next action for a Manifest: the first rule that applies. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum module_action {
    MODULE_NOTHING, /* wait for an event */
    MODULE_ADD_FINALIZERS,
    MODULE_APPLY,       /* all objects; they are recorded before, and others are removed after */
    MODULE_APPLY_DIRTY, /* those that were changed or deleted by others */
    MODULE_MARK,        /* note that the content is applied completely */
    MODULE_CREATE_RESOURCE,
    MODULE_REPORT, /* its state */
    MODULE_FAIL,   /* its content cannot be read */
    MODULE_HAND_OVER,
    MODULE_DELETE_MANIFEST,
    MODULE_WATCH_RESOURCES,
    MODULE_DELETE_RESOURCE,
    MODULE_DROP_RESOURCE_FINALIZER,
    MODULE_REMOVE_OBJECTS,
    MODULE_DROP_FINALIZERS,
    MODULE_DESCRIBE, /* report what the deletion waits for */
    MODULE_ACTION_COUNT,
};

struct module_view {
    bool is_deleting, is_unmanaged, is_skipped;
    bool has_access;  /* the cluster is connected */
    bool is_forsaken; /* its Kyma goes, and nothing leads to the cluster any more */
    bool has_finalizers, has_label_finalizer, has_resource_finalizer;
    bool wants_resource;      /* a default resource is to be created */
    bool has_resource_kind;   /* there is a kind whose resources hold up the deletion */
    bool is_resource_created; /* according to the condition */
    bool is_content_known, is_content_failed;
    bool is_applied, is_recorded, has_dirty, is_marked;
    bool has_objects; /* recorded */
    /* Of a deletion. */
    bool are_resources_known, has_other_resources, has_default_resource, is_default_terminating;
    bool is_resource_ignored;
};

/* What the Manifest itself says. */
struct module_view module_view_of(const json_t *manifest);

/* The name of the rule is for logs. */
enum module_action module_decide(const struct module_view *view, const char **ret_rule);
