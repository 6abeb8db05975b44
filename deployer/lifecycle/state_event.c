/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/state_event.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/list.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/state.h"

static bool is_bad(enum module_state state)
{
    return state == MODULE_ERROR || state == MODULE_WARNING;
}

/* The operation of a Kyma does not say which module is the reason. */
static char *describe(const json_t *status, enum module_state state)
{
    const json_t *module =
        is_bad(state) ? list_find(doc_member(status, "modules"), "state", module_state_name(state))
                      : NULL;

    if (*doc_text_or(module, "message", ""))
        return xasprintf("module %s: %s", doc_text_or(module, "name", ""),
                         doc_text(module, "message"));
    return xstrdup(doc_text_or(status, "lastOperation.operation", ""));
}

json_t *state_event(const char *kind, const json_t *old_status, const json_t *new_status)
{
    enum module_state before = MODULE_PROCESSING, now = MODULE_PROCESSING;
    bool is_kyma = strcmp(kind, KIND_KYMA) == 0;
    cleanup_free char *message = NULL;

    (void)module_state_parse(doc_text(old_status, "state"), &before);
    (void)module_state_parse(doc_text(new_status, "state"), &now);
    if (now == before || !(is_bad(now) || (now == MODULE_READY && (is_kyma || is_bad(before))) ||
                           (now == MODULE_DELETING && is_kyma)))
        return NULL;
    message = describe(new_status, now);
    return json_pack("{s:s, s:s, s:s}", "type", is_bad(now) ? "Warning" : "Normal", "reason",
                     module_state_name(now), "message", message);
}

bool event_is_allowed(uint64_t *next_ms, uint64_t now_ms, uint32_t interval_ms, uint32_t burst)
{
    uint64_t next = *next_ms > now_ms ? *next_ms : now_ms;

    if (next - now_ms > (uint64_t)interval_ms * (burst - 1))
        return false;
    *next_ms = next + interval_ms;
    return true;
}
