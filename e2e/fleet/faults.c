/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/faults.h"

#include <string.h>

#include "common/base/memory.h"

static const char *const types[] = {
    [FAULT_STATUS] = "status", [FAULT_HANG] = "hang", [FAULT_SLOW] = "slow",
    [FAULT_RESET] = "reset",   [FAULT_DOWN] = "down", [FAULT_SILENT] = "silent",
};

static void free_fault(struct fault *fault)
{
    free(fault->resource);
    free(fault);
}

void faults_done(struct faults *faults)
{
    while (faults->first) {
        struct fault *fault = faults->first;

        faults->first = fault->next;
        free_fault(fault);
    }
}

static int parse_type(const char *text, enum fault_type *ret_type, struct error *err)
{
    for (size_t i = 0; i < array_length(types); i++) {
        if (strcmp(types[i], text) == 0) {
            *ret_type = (enum fault_type)i;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "unknown fault type \"%s\"", text);
}

static int parse_verb(const char *text, int *ret_verb, struct error *err)
{
    *ret_verb = -1;
    if (!text)
        return 0;
    for (int verb = VERB_GET; verb <= VERB_OTHER; verb++) {
        if (strcmp(verb_name((enum verb)verb), text) == 0) {
            *ret_verb = verb;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "unknown verb \"%s\"", text);
}

int faults_add(struct faults *faults, const struct query *query, struct error *err)
{
    struct fault fault = {0};
    const char *type = query_get(query, "type");
    uint64_t code = 500, retry_after_s = 0, delay_ms = 1000;

    if (parse_type(type ? type : "status", &fault.type, err) < 0 ||
        parse_verb(query_get(query, "verb"), &fault.verb, err) < 0 ||
        query_number(query, "code", 599, &code, err) < 0 ||
        query_number(query, "retryAfter", 3600, &retry_after_s, err) < 0 ||
        query_number(query, "delay", 3600000, &delay_ms, err) < 0 ||
        query_number(query, "count", UINT32_MAX, &fault.left, err) < 0)
        return -1;
    fault.code = (int)code;
    fault.retry_after_s = (uint32_t)retry_after_s;
    fault.delay_ms = (uint32_t)delay_ms;
    fault.resource = xstrdup_or_null(query_get(query, "resource"));
    fault.next = faults->first;
    faults->first = xmemdup(&fault, sizeof(fault));
    return 0;
}

static bool is_for_request(const struct fault *fault, enum verb verb, const char *resource)
{
    return fault->type != FAULT_DOWN && fault->type != FAULT_SILENT &&
           (fault->verb < 0 || fault->verb == (int)verb) &&
           (!fault->resource || strcmp(fault->resource, resource) == 0);
}

bool faults_take(struct faults *faults, enum verb verb, const char *resource,
                 struct fault *ret_fault)
{
    for (struct fault **place = &faults->first; *place; place = &(*place)->next) {
        struct fault *fault = *place;

        if (!is_for_request(fault, verb, resource))
            continue;
        *ret_fault = *fault;
        ret_fault->resource = NULL;
        ret_fault->next = NULL;
        if (fault->left > 0 && --fault->left == 0) {
            *place = fault->next;
            free_fault(fault);
        }
        return true;
    }
    return false;
}

bool faults_has(const struct faults *faults, enum fault_type type)
{
    for (const struct fault *fault = faults->first; fault; fault = fault->next) {
        if (fault->type == type)
            return true;
    }
    return false;
}
