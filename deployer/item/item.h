/* SPDX-License-Identifier: Apache-2.0 */
/* A DeployItem as the deployer sees it. Parsing never fails for what a user can write: a malformed
 * field becomes a mistake with its path, so that the item can be failed alone and visibly. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "deployer/item/mistakes.h"

enum { ITEM_TIMEOUT_DEFAULT_MS = 10 * 60 * 1000, ITEM_TIMEOUT_NONE = -1 };

struct item {
    /* metadata */
    char *name, *namespace_name, *uid, *resource_version;
    int64_t generation;
    bool is_deleting, has_finalizer;
    char *operation;        /* annotation landscaper.gardener.cloud/operation, or NULL */
    char *annotated_type;   /* annotation deployer-type, or NULL */
    char *annotated_target; /* annotation deployer-target-name as it is, or NULL */
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
    /* The whole, never NULL: what the next status is made from. Shared with the object that was
     * parsed, so it is not to be written. */
    json_t *status;

    struct mistakes mistakes; /* of metadata and spec, the provider configuration aside */
};

/* Fails (ERROR_INVALID) only for what no API server sends: no object, no name, no namespace. */
int item_parse(const json_t *object, struct item **ret_item, struct error *err) must_check;
void item_free(struct item *item);
define_cleanup(struct item *, item_free)
#define cleanup_item __attribute__((cleanup(item_freep)))

/* jobID == jobIDFinished (both empty counts) and no test-reconcile. */
bool item_is_finished(const struct item *item);
bool item_is_test_reconcile(const struct item *item);
/* Type and target as the responsibility rule sees them: annotations win over spec. target: NULL for
 * none. Borrowed. */
const char *item_effective_type(const struct item *item);
const char *item_effective_target(const struct item *item);
/* When the job's time is over: initTime + timeout; -1 for none or not started. */
int64_t item_deadline_unix_ms(const struct item *item);
