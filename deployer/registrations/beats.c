/* SPDX-License-Identifier: Apache-2.0 */
/* Reports agents whose heartbeat has stopped or begun again. */
#include <string.h>

#include "common/data/doc.h"
#include "deployer/registrations/conditions.h"
#include "deployer/registrations/manager.h"

enum { JUDGE_MIN_MS = 1000 }; /* bounds the work for many Leases that end one after the other */

/* Looks at the status of the environments whose agent renews this Lease. */
static void report_lease(struct manager *manager, const char *lease)
{
    const char *name = NULL;
    json_t *value = NULL;

    if (manager_find(manager, SOURCE_ENVIRONMENTS, lease)) {
        report_touch(manager, 'e', lease);
        return;
    }
    doc_foreach(manager->sources[SOURCE_ENVIRONMENTS].objects, name, value)
    {
        if (strcmp(environment_lease(manager_find(manager, SOURCE_ENVIRONMENTS, name)), lease) == 0)
            report_touch(manager, 'e', name);
    }
}

/* One timer for all Leases: it runs when the first of them would be too old. */
static void start_timer(struct manager *manager)
{
    uint64_t now = loop_now_ms(manager->loop);
    uint64_t next = heartbeat_next_ms(manager->beats, now);

    if (next == UINT64_MAX)
        return;
    loop_timer_start(&manager->beat_timer, next - now > JUDGE_MIN_MS ? next - now : JUDGE_MIN_MS);
}

void beats_set(struct manager *manager, const json_t *lease)
{
    const char *name = doc_text_or(lease, "metadata.name", "");
    uint64_t now = loop_now_ms(manager->loop);
    enum heartbeat_state before = heartbeat_judge(manager->beats, name, now);

    heartbeat_set(manager->beats, lease, now);
    if (heartbeat_judge(manager->beats, name, now) != before)
        report_lease(manager, name);
    if (!loop_timer_is_running(&manager->beat_timer))
        start_timer(manager);
}

void beats_remove(struct manager *manager, const char *lease)
{
    heartbeat_remove(manager->beats, lease);
    report_lease(manager, lease);
}

void beats_resume(struct manager *manager, uint64_t broken_ms)
{
    heartbeat_resume(manager->beats, broken_ms, loop_now_ms(manager->loop));
    start_timer(manager);
}

void beats_judge(void *data)
{
    struct manager *manager = data;
    uint64_t now = loop_now_ms(manager->loop);
    const char *lease = NULL;
    json_t *beat = NULL;

    /* Without the watch nothing can be said about agents. */
    if (manager->sources[SOURCE_LEASES].broken_ms == 0) {
        doc_foreach(manager->beats, lease, beat)
        {
            if (heartbeat_judge(manager->beats, lease, now) == HEARTBEAT_LOST &&
                heartbeat_judge(manager->beats, lease, manager->beats_judged_ms) != HEARTBEAT_LOST)
                report_lease(manager, lease);
        }
        manager->beats_judged_ms = now;
    }
    manager_close(manager);
    start_timer(manager);
}
