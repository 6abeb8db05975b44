/* SPDX-License-Identifier: Apache-2.0 */
/* Does one job against a cluster, as the manifest engine does: plans, records what is about to be
 * applied in a file, applies, patches, and records what is. Used by e2e/api/apply.
 *
 *   apply_driver KUBECONFIG JOB RECORD
 *
 * JOB: {"strategy": "update", "owner": "me", "formerManagers": [], "dryRun": false,
 *       "crashBefore": 3, "crashAfter": 3, "manifests": [{"manifest": {}, "policy": "manage",
 *       "annotateBeforeCreate": {}, "patchAfterDeployment": {}}]}
 * It ends itself before or just after the n-th request was sent. Prints {"outcomes": [], "error":
 * {}, "objects": []}. */
#include <stdlib.h>
#include <string.h>

#include "common/apply/apply.h"
#include "common/apply/late_patch.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

enum { FILE_MAX = 16 * 1024 * 1024, INPUTS_MAX = 1000, CRASHED = 9 };

struct driver {
    struct loop *loop;
    struct cluster_pool *pool;
    struct cluster *cluster;
    json_t *job;
    const char *record;
    struct inventory inventory;
    struct plan *plan;
    struct apply_result *result;
    enum apply_outcome outcomes[INPUTS_MAX]; /* the most important one of all passes */
    bool is_done;
    struct error err;
    int64_t sent;
    struct loop_timer crash_timer;
};

static json_t *read_json(const char *path)
{
    cleanup_buffer struct buffer data = {0};
    struct error err = {0};
    json_t *doc = NULL;

    buffer_init(&data, FILE_MAX);
    if (doc_read_file(path, FILE_MAX, &data, &err) < 0)
        return NULL;
    must(doc_parse_json(data.data, data.size, FILE_MAX, &doc, &err) == 0);
    return doc;
}

/* ---- The record ---- */

static void set_value(json_t *object, const char *key, const json_t *value)
{
    if (value)
        (void)json_object_set(object, key, doc_writable(value));
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text)
        doc_set_text(object, key, text);
}

static void write_record(const struct driver *driver)
{
    cleanup_json json_t *list = json_array();
    cleanup_free char *text = NULL;
    FILE *file = NULL;

    for (size_t i = 0; i < driver->inventory.count; i++) {
        const struct inventory_entry *entry = &driver->inventory.entries[i];
        json_t *row = json_object();

        doc_set_new(row, "resource", object_ref_json(&entry->ref));
        doc_set_text(row, "policy", policy_name(entry->policy));
        set_value(row, "finalizers", entry->own_finalizers);
        set_value(row, "owners", entry->own_owners);
        set_text(row, "desired", entry->desired_hash);
        set_text(row, "applied", entry->applied_hash);
        (void)json_array_append_new(list, row);
    }
    text = doc_dump(list);
    file = fopen(driver->record, "we");
    must(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void read_record(struct driver *driver)
{
    cleanup_json json_t *list = read_json(driver->record);
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach(list, i, row)
    {
        struct inventory_entry entry = {0};
        struct error err = {0};

        must(object_ref_parse(doc_member(row, "resource"), &entry.ref, &err) == 0);
        must(policy_parse(doc_text_or(row, "policy", ""), &entry.policy, &err) == 0);
        entry.own_finalizers = json_incref(doc_writable(doc_member(row, "finalizers")));
        entry.own_owners = json_incref(doc_writable(doc_member(row, "owners")));
        entry.desired_hash = xstrdup_or_null(doc_text(row, "desired"));
        entry.applied_hash = xstrdup_or_null(doc_text(row, "applied"));
        (void)inventory_add(&driver->inventory, entry);
    }
}

/* ---- The job ---- */

static void crash(void *data)
{
    (void)data;
    _exit(CRASHED);
}

static bool may_send(const void *data)
{
    union {
        const void *read;
        struct driver *write;
    } same = {.read = data};
    struct driver *driver = same.write;

    driver->sent++;
    if (driver->sent == doc_integer_or(driver->job, "crashBefore", 0))
        crash(NULL);
    if (driver->sent == doc_integer_or(driver->job, "crashAfter", 0))
        loop_timer_start(&driver->crash_timer, 2);
    return true;
}

static void run(struct driver *driver)
{
    struct error err = {0};

    while (!driver->is_done)
        must(loop_run_once(driver->loop, -1, &err) == 0);
    driver->is_done = false;
}

static void on_planned(void *data, struct plan *plan, const struct error *err)
{
    struct driver *driver = data;

    driver->plan = plan;
    driver->err = *err;
    driver->is_done = true;
}

static void make_plan(struct driver *driver)
{
    static struct plan_input inputs[INPUTS_MAX];
    struct planning *planning = NULL;
    struct error err = {0};
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach(doc_member(driver->job, "manifests"), i, row)
    {
        must(i < INPUTS_MAX);
        inputs[i] = (struct plan_input){
            .manifest = doc_member(row, "manifest"),
            .annotate_before_create = doc_member(row, "annotateBeforeCreate"),
            .patch_after = doc_member(row, "patchAfterDeployment"),
            .source = "manifests",
        };
        must(policy_parse(doc_text_or(row, "policy", ""), &inputs[i].policy, &err) == 0);
    }
    must(plan_start(driver->cluster, inputs, i, on_planned, driver, &planning, &err) == 0);
    run(driver);
}

static void on_applied(void *data, struct apply_result *result)
{
    struct driver *driver = data;

    driver->result = result;
    driver->is_done = true;
}

/* A later pass finds unchanged what an earlier one created or changed. */
static void keep_outcomes(struct driver *driver, bool is_first)
{
    for (size_t i = 0; i < driver->result->count; i++) {
        enum apply_outcome outcome = driver->result->objects[i].outcome;

        if (is_first || outcome != APPLY_UNCHANGED || driver->outcomes[i] == APPLY_FAILED)
            driver->outcomes[i] = outcome;
    }
}

static void apply_plan(struct driver *driver)
{
    static const char *former[8];
    const char *owner = doc_text_or(driver->job, "owner", "e2e");
    struct apply_options options = {
        .cluster = driver->cluster,
        .plan = driver->plan,
        .recorded = &driver->inventory,
        .owner = {"e2e.example/owner", owner, "e2e.example/full-owner", owner},
        .field_manager = "apply-driver",
        .former_managers = former,
        .is_dry_run = doc_bool_or(driver->job, "dryRun", false),
        .may_send = may_send,
        .may_send_data = driver,
        .on_done = on_applied,
        .data = driver,
    };
    const json_t *managers = doc_member(driver->job, "formerManagers");
    struct apply *apply = NULL;
    struct error err = {0};

    for (size_t i = 0; i < json_array_size(managers) && i < array_length(former) - 1; i++)
        former[i] = json_string_value(json_array_get(managers, i));
    must(strategy_parse(doc_text_or(driver->job, "strategy", ""), &options.strategy, &err) == 0);
    for (bool is_first = true;; is_first = false) {
        must(apply_start(&options, &apply, &err) == 0);
        run(driver);
        inventory_done(&driver->inventory);
        driver->inventory = inventory_copy(&driver->result->inventory);
        keep_outcomes(driver, is_first);
        if (!driver->result->is_record_needed)
            break;
        write_record(driver);
        apply_result_free(driver->result);
    }
    apply_result_error(driver->result, &driver->err);
}

static void on_patched(void *data, const struct error *err)
{
    struct driver *driver = data;

    driver->err = *err;
    driver->is_done = true;
}

static void patch_objects(struct driver *driver)
{
    static bool wanted[INPUTS_MAX];
    const struct late_patch_options options = {
        .cluster = driver->cluster,
        .plan = driver->plan,
        .is_wanted = wanted,
        .field_manager = "apply-driver",
        .may_send = may_send,
        .may_send_data = driver,
        .on_done = on_patched,
        .data = driver,
    };
    struct late_patch *patch = NULL;
    struct error err = {0};

    for (size_t i = 0; i < driver->plan->count; i++)
        wanted[i] = driver->result->objects[i].outcome != APPLY_LEFT_ALONE;
    must(late_patch_start(&options, &patch, &err) == 0);
    run(driver);
}

static void print_result(const struct driver *driver)
{
    static const char *const names[] = {
        [APPLY_CREATED] = "created",     [APPLY_CHANGED] = "changed",
        [APPLY_UNCHANGED] = "unchanged", [APPLY_LEFT_ALONE] = "left-alone",
        [APPLY_FAILED] = "failed",
    };
    cleanup_json json_t *answer =
        json_pack("{s:[], s:[], s:s, s:s}", "outcomes", "objects", "error", driver->err.text,
                  "errorKind", error_kind_name(driver->err.kind));
    cleanup_free char *text = NULL;

    for (size_t i = 0; driver->result && i < driver->result->count; i++) {
        const struct apply_object_result *object = &driver->result->objects[i];

        (void)json_array_append_new(json_object_get(answer, "outcomes"),
                                    json_string(names[driver->outcomes[i]]));
        (void)json_array_append_new(json_object_get(answer, "objects"),
                                    object->object ? json_incref(object->object) : json_null());
    }
    text = doc_dump(answer);
    (void)printf("%s\n", text);
}

int main(int argc, char **argv)
{
    struct driver driver = {0};
    struct kube_config *config = NULL;
    struct inventory recorded = {0};
    struct error err = {0};

    must(argc == 4);
    doc_setup();
    driver.record = argv[3];
    driver.job = read_json(argv[2]);
    must(driver.job != NULL);
    must(loop_new(clock_system(), &driver.loop, &err) == 0);
    loop_timer_init(&driver.crash_timer, driver.loop, crash, NULL);
    driver.pool = cluster_pool_new(driver.loop, "apply-driver/1");
    must(kube_config_from_file(argv[1], &config, &err) == 0);
    must(cluster_get(driver.pool, config, &driver.cluster, &err) == 0);
    read_record(&driver);
    make_plan(&driver);
    if (driver.plan) {
        recorded = plan_record(driver.plan, &driver.inventory);
        inventory_done(&driver.inventory);
        driver.inventory = recorded;
        write_record(&driver);
        apply_plan(&driver);
        if (driver.err.kind == ERROR_NONE)
            patch_objects(&driver);
        if (!doc_bool_or(driver.job, "dryRun", false))
            write_record(&driver);
    }
    print_result(&driver);
    plan_free(driver.plan);
    apply_result_free(driver.result);
    inventory_done(&driver.inventory);
    cluster_put(driver.cluster);
    cluster_pool_free(driver.pool);
    json_decref(driver.job);
    loop_free(driver.loop);
    return 0;
}
