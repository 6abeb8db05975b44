/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/apply_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

const struct apply_owner OUR_OWNER = {"owner", "us", "full-owner", "space/us"};
const struct apply_owner OTHER_OWNER = {"owner", "them", "full-owner", "space/them"};

void apply_run_init(struct apply_run *run, struct api_bench *bench, enum update_strategy strategy)
{
    *run = (struct apply_run){.bench = bench, .strategy = strategy};
}

void apply_run_clear_inputs(struct apply_run *run)
{
    while (run->input_count) {
        const struct plan_input *input = &run->inputs[--run->input_count];

        json_decref(doc_writable(input->manifest));
        json_decref(doc_writable(input->annotate_before_create));
        json_decref(doc_writable(input->patch_after));
    }
}

static void forget_result(struct apply_run *run)
{
    plan_free(run->plan);
    apply_result_free(run->result);
    run->plan = NULL;
    run->result = NULL;
    run->is_done = false;
}

void apply_run_done(struct apply_run *run)
{
    apply_cancel(run->apply);
    forget_result(run);
    apply_run_clear_inputs(run);
    inventory_done(&run->inventory);
}

struct plan_input *apply_run_add(struct apply_run *run, const char *manifest,
                                 enum apply_policy policy)
{
    struct plan_input *input = &run->inputs[run->input_count++];

    assert_true(run->input_count <= RUN_INPUTS_MAX);
    *input = (struct plan_input){.manifest = parse(manifest), .policy = policy, .source = "m"};
    return input;
}

void apply_run_add_many(struct apply_run *run, int count, const char *patch_after)
{
    for (int i = 0; i < count; i++) {
        cleanup_free char *manifest =
            xasprintf("{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'n%d', "
                      "'namespace': 'a'}}",
                      i);
        struct plan_input *input = apply_run_add(run, manifest, POLICY_MANAGE);

        if (patch_after)
            input->patch_after = parse(patch_after);
    }
}

static void take_plan(void *data, struct plan *plan, const struct error *err)
{
    struct apply_run *run = data;

    if (!plan)
        fail_msg("%s", err->text);
    run->plan = plan;
    run->is_done = true;
}

static void take_result(void *data, struct apply_result *result)
{
    struct apply_run *run = data;

    run->apply = NULL;
    run->result = result;
    run->is_done = true;
    run->done_count++;
}

void apply_run_start(struct apply_run *run)
{
    struct apply_options options = {
        .cluster = run->bench->cluster,
        .strategy = run->strategy,
        .owner = OUR_OWNER,
        .field_manager = "tester",
        .former_managers = run->former_managers,
        .is_dry_run = run->is_dry_run,
        .may_send = run->may_send,
        .on_done = take_result,
        .data = run,
    };
    struct planning *planning = NULL;
    struct inventory recorded = {0};
    struct error err = {0};

    forget_result(run);
    assert_int_equal(plan_start(run->bench->cluster, run->inputs, run->input_count, take_plan, run,
                                &planning, &err),
                     0);
    api_bench_run(run->bench, &run->is_done);
    run->is_done = false;
    recorded = plan_record(run->plan, &run->inventory);
    inventory_done(&run->inventory);
    run->inventory = recorded;
    options.plan = run->plan;
    options.recorded = &run->inventory;
    assert_int_equal(apply_start(&options, &run->apply, &err), 0);
}

void apply_run_all(struct apply_run *run)
{
    do {
        apply_run_start(run);
        api_bench_run(run->bench, &run->is_done);
        inventory_done(&run->inventory);
        run->inventory = inventory_copy(&run->result->inventory);
    } while (run->result->is_record_needed);
}

const char *apply_run_outcomes(const struct apply_run *run)
{
    static const char *const names[] = {
        [APPLY_CREATED] = "created",  [APPLY_CHANGED] = "changed", [APPLY_UNCHANGED] = "unchanged",
        [APPLY_LEFT_ALONE] = "alone", [APPLY_FAILED] = "failed",
    };
    static char text[1024];
    size_t used = 0;
    size_t failed = 0;

    text[0] = '\0';
    for (size_t i = 0; i < run->result->count; i++) {
        const struct apply_object_result *object = &run->result->objects[i];

        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
                                 names[object->outcome]);
        assert_int_equal(object->object == NULL, object->outcome == APPLY_FAILED);
        assert_null(doc_get(object->object, "metadata.managedFields"));
        if (object->object)
            assert_string_equal(doc_text_or(object->object, "kind", ""),
                                run->plan->objects[i].ref.kind);
        failed += object->outcome == APPLY_FAILED;
    }
    assert_int_equal(failed, run->result->failed);
    return text;
}

const char *apply_run_error(const struct apply_run *run, enum error_kind *ret_kind)
{
    static struct error err;

    err = (struct error){0};
    apply_result_error(run->result, &err);
    if (ret_kind)
        *ret_kind = err.kind;
    return err.text;
}

const char *apply_run_uid(const struct apply_run *run, size_t i)
{
    const struct inventory_entry *entry =
        inventory_find(&run->inventory, &run->plan->objects[i].ref);

    return entry ? entry->ref.uid : NULL;
}
