/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/module_decide.h"

/* A module that is installed, with a default resource. */
static const struct module_view settled = {
    .has_access = true,
    .has_finalizers = true,
    .has_label_finalizer = true,
    .has_resource_finalizer = true,
    .wants_resource = true,
    .has_resource_kind = true,
    .is_resource_created = true,
    .is_applied = true,
    .is_marked = true,
    .has_objects = true,
};

static void expect(const struct module_view *view, const char *rule, enum module_action action)
{
    const char *found = NULL;

    assert_int_equal(module_decide(view, &found), action);
    assert_string_equal(found, rule);
}

static void an_installation_goes_step_by_step(void **state)
{
    struct module_view view = settled;

    (void)state;
    expect(&view, "settled", MODULE_REPORT);
    view.is_marked = false;
    expect(&view, "mark", MODULE_MARK);
    view.is_resource_created = false;
    expect(&view, "create_resource", MODULE_CREATE_RESOURCE);
    view.has_dirty = view.is_content_known = true;
    expect(&view, "correct_drift", MODULE_APPLY_DIRTY);
    view.is_applied = false;
    expect(&view, "apply", MODULE_APPLY);
    view.is_content_known = false;
    expect(&view, "content_unknown", MODULE_NOTHING);
    view.is_content_failed = true;
    expect(&view, "content_unreadable", MODULE_FAIL);
    view.has_finalizers = false;
    expect(&view, "add_finalizers", MODULE_ADD_FINALIZERS);
    view.is_unmanaged = true;
    expect(&view, "hand_over", MODULE_HAND_OVER);
    view.has_label_finalizer = false;
    expect(&view, "handed_over", MODULE_DELETE_MANIFEST);
    view.has_access = false;
    expect(&view, "away", MODULE_NOTHING);
    view.is_skipped = true;
    expect(&view, "skipped", MODULE_NOTHING);
}

/* The resource goes before the objects, and nothing goes while somebody uses the module. */
static void a_deletion_goes_step_by_step(void **state)
{
    struct module_view view = settled;

    (void)state;
    view.is_deleting = true;
    expect(&view, "look_at_resources", MODULE_WATCH_RESOURCES);
    view.are_resources_known = view.has_default_resource = view.has_other_resources = true;
    expect(&view, "used", MODULE_DESCRIBE);
    view.has_other_resources = false;
    expect(&view, "delete_resource", MODULE_DELETE_RESOURCE);
    view.is_default_terminating = true;
    expect(&view, "default_resource_goes", MODULE_DESCRIBE);
    view.is_resource_ignored = true;
    expect(&view, "used", MODULE_DESCRIBE);
    view.is_resource_ignored = view.has_default_resource = false;
    expect(&view, "resource_gone", MODULE_DROP_RESOURCE_FINALIZER);
    view.has_resource_finalizer = false;
    expect(&view, "remove_objects", MODULE_REMOVE_OBJECTS);
    view.has_objects = false;
    expect(&view, "removed", MODULE_DROP_FINALIZERS);
    view.has_objects = true;
    view.has_access = false;
    expect(&view, "away", MODULE_NOTHING);
    view.is_forsaken = true;
    expect(&view, "forsaken", MODULE_DROP_FINALIZERS);
}

static void a_manifest_is_read(void **state)
{
    cleanup_json json_t *manifest = parse(
        "{'metadata':{'annotations':{'sync-oci-ref':'sha256:1'},'finalizers':"
        "['declarative.kyma-project.io/finalizer','label-removal-finalizer']},"
        "'spec':{'resource':{'kind':'K'},'customResourcePolicy':'Ignore','install':{'source':{"
        "'ref':'sha256:1'}}},'status':{'synced':[{}],'conditions':[{'type':'ModuleCR',"
        "'status':'True'}]}}");
    struct module_view view = module_view_of(manifest);

    (void)state;
    assert_true(view.is_marked && view.has_finalizers && view.has_objects && !view.wants_resource);
    assert_true(view.has_resource_kind && view.is_resource_created && view.is_resource_ignored);
    assert_false(view.is_deleting || view.is_unmanaged || view.has_resource_finalizer);
    doc_set_text(manifest, "spec.customResourcePolicy", "CreateAndDelete");
    view = module_view_of(manifest);
    assert_true(view.wants_resource && !view.has_finalizers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_installation_goes_step_by_step),
        cmocka_unit_test(a_deletion_goes_step_by_step),
        cmocka_unit_test(a_manifest_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
