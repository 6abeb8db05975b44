/* SPDX-License-Identifier: Apache-2.0 */
/* A DeployItem. Parsing does not fail for anything that a user can write: a malformed field becomes
 * a mistake with its path, which the item's status then shows. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "deployer/validation/mistakes.h"

enum { ITEM_TIMEOUT_DEFAULT_MS = 10 * 60 * 1000, ITEM_TIMEOUT_NONE = -1 };

struct item {
    /* metadata */
    char *name, *namespace_name, *uid, *resource_version;
    int64_t generation;
    bool is_deleting, has_finalizer;
    json_t *other_finalizers; /* array: all but ours */
    char *operation;          /* annotation landscaper.gardener.cloud/operation, or NULL */
    char *annotated_type;     /* annotation deployer-type, or NULL */
    char *annotated_target;   /* annotation deployer-target-name, or NULL */
    bool is_force_cleanup, is_delete_without_uninstall;

    /* spec */
    char *type;         /* spec.type, or "" */
    char *target;       /* name of the Target, or NULL */
    char *context;      /* "default" if not given */
    json_t *config;     /* provider configuration; NULL if missing or empty */
    int64_t timeout_ms; /* ITEM_TIMEOUT_NONE for `none` */
    bool is_update_on_change_only;

    /* status; absent or unreadable: NULL, "" or 0 */
    char *phase, *job, *job_finished; /* never NULL */
    int64_t observed_generation;
    int64_t job_generated_unix_ms, init_unix_ms, last_reconcile_unix_ms;
    char *last_operation;      /* providerStatus.lastOperation */
    char *last_successful_job; /* providerStatus.podStatus.lastSuccessfulJobID */
    char *last_pod;            /* providerStatus.podStatus.podName */
    bool has_export;
    /* The whole status, never NULL, from which the next one is made. Shared with the parsed object:
     * read-only. */
    json_t *status;

    struct mistakes mistakes; /* in metadata and spec, but not in the provider configuration */
};

/* Fails with ERROR_INVALID only for what no API server sends: not an object, no name, no namespace.
 */
int item_parse(const json_t *object, struct item **ret_item, struct error *err) must_check;
void item_free(struct item *item);
define_cleanup(struct item *, item_free)
#define cleanup_item __attribute__((cleanup(item_freep)))

/* Whether jobID equals jobIDFinished (or both are empty) and there is no test-reconcile. */
bool item_is_finished(const struct item *item);
bool item_is_test_reconcile(const struct item *item);
/* Type and target that decide which deployer is responsible: annotations take precedence over spec.
 * The target is NULL if there is none. Borrowed. */
const char *item_effective_type(const struct item *item);
const char *item_effective_target(const struct item *item);
/* The deadline of the job: initTime + timeout; -1 if there is no timeout or it has not started. */
int64_t item_deadline_unix_ms(const struct item *item);
/* The name of the Secret with an item's exports in the item's namespace: "NAME-export" as the Go
 * deployer calls it, shortened where that would be too long. Belongs to the caller. */
char *item_export_name(const char *namespace_name, const char *name);
