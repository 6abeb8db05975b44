/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that did not change since they were applied. testdata/applied.json has what
 * kube-apiserver 1.34 returned for manifests of many kinds, and the same objects after
 * kube-controller-manager had bound volumes, rolled out Deployments, written tokens and so on. */
#include "common/apply/merge.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

#define cleanup_result __attribute__((cleanup(merge_result_done)))
#define cleanup_entry __attribute__((cleanup(inventory_entry_done)))

static const struct apply_owner owner = {"item", "ours", "owner", "ns/ours"};
static const struct apply_owner other = {"item", "theirs", "owner", "ns/theirs"};

static const enum update_strategy strategies[] = {STRATEGY_UPDATE, STRATEGY_PATCH, STRATEGY_MERGE,
                                                  STRATEGY_MERGE_OVERWRITE, STRATEGY_APPLY};

static json_t *samples = NULL;

static int read_samples(void **state)
{
    cleanup_buffer struct buffer text = {0};
    struct error err = {0};

    (void)state;
    if (doc_read_file("testdata/applied.json", 100000, &text, &err) < 0 ||
        doc_parse_json(text.data, text.size, 100000, &samples, &err) < 0)
        fail_msg("%s", err.text);
    return 0;
}

static int free_samples(void **state)
{
    (void)state;
    json_decref(samples);
    return 0;
}

/* The objects were recorded without an owner. */
static json_t *sample(size_t index, const char *member)
{
    return merge_with_owner(doc_get(json_array_get(samples, index), member), &owner);
}

static const json_t *sample_manifest(size_t index)
{
    return doc_get(json_array_get(samples, index), "manifest");
}

/* The value at a path, in which \. is a dot of a name. */
static const json_t *at(const json_t *object, const char *path)
{
    char name[100] = "";
    size_t size = 0;

    for (; object && *path; path++) {
        if (*path == '.') {
            object = json_object_getn(object, name, size);
            size = 0;
            continue;
        }
        if (*path == '\\')
            path++;
        assert_true(size < sizeof(name));
        name[size++] = *path;
    }
    return json_object_getn(object, name, size);
}

static bool is_changed(const json_t *live, const json_t *manifest, enum update_strategy strategy,
                       const struct apply_owner *by, const struct inventory_entry *entry)
{
    cleanup_result struct merge_result result =
        merge_for_change(live, manifest, strategy, by, entry);

    assert_int_equal(result.is_changed, result.body != NULL);
    return result.is_changed;
}

static bool is_replacing(enum update_strategy strategy)
{
    return strategy == STRATEGY_UPDATE || strategy == STRATEGY_PATCH;
}

static void controllers_do_not_change_an_object(void **state)
{
    (void)state;
    assert_int_equal(json_array_size(samples), 17);
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *manifest = sample_manifest(i);
        const char *kind = doc_text(manifest, "kind");

        for (size_t j = 0; j < array_length(strategies); j++) {
            cleanup_json json_t *created = sample(i, "created");
            cleanup_json json_t *later = sample(i, "later");
            cleanup_entry struct inventory_entry entry = {0};
            /* Both were scaled after they were created, and the manifest has no replicas. */
            bool is_scaled = is_replacing(strategies[j]) &&
                             (strcmp(kind, "Deployment") == 0 || strcmp(kind, "StatefulSet") == 0);

            print_message("%s: %s\n", strategy_name(strategies[j]), kind);
            merge_note_applied(&entry, manifest, strategies[j], &owner, NULL, created);
            assert_false(is_changed(created, manifest, strategies[j], &owner, &entry));
            assert_int_equal(is_changed(later, manifest, strategies[j], &owner, &entry), is_scaled);
            /* The write that this causes changes nothing, and then it is known. */
            merge_note_applied(&entry, manifest, strategies[j], &owner, NULL, later);
            assert_false(is_changed(later, manifest, strategies[j], &owner, &entry));
        }
    }
}

static void without_a_record_an_object_is_written_in_case_of_doubt(void **state)
{
    static const char *const exact[] = {
        "Ingress", "ResourceQuota", "ServiceAccount", "PodDisruptionBudget", "Secret", NULL};
    size_t unchanged = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *manifest = sample_manifest(i);
        cleanup_json json_t *later = sample(i, "later");
        const char *kind = doc_text(manifest, "kind");
        bool is_exact = false;

        if (is_changed(later, manifest, STRATEGY_UPDATE, &owner, NULL))
            continue;
        for (size_t j = 0; exact[j]; j++)
            is_exact = is_exact || strcmp(exact[j], kind) == 0;
        print_message("%s\n", kind);
        assert_true(is_exact);
        unchanged++;
    }
    assert_true(unchanged >= 4);
}

static const struct {
    const char *kind, *path;
} kept[] = {
    {"Deployment", "spec.replicas"},
    {"Deployment", "metadata.annotations.deployment\\.kubernetes\\.io/revision"},
    {"StatefulSet", "spec.replicas"},
    {"PersistentVolumeClaim", "spec.volumeName"},
    {"PersistentVolumeClaim", "metadata.annotations.pv\\.kubernetes\\.io/bind-completed"},
    {"PersistentVolume", "spec.claimRef"},
    {"PersistentVolume", "metadata.annotations.pv\\.kubernetes\\.io/bound-by-controller"},
    {"Secret", "data.token"},
    {"Secret", "metadata.annotations.kubernetes\\.io/service-account\\.uid"},
    {"Job", "spec.selector"},
    {"Job", "spec.template.metadata.labels"},
    {"Service", "spec.clusterIP"},
    {"Service", "spec.clusterIPs"},
};

static void a_write_keeps_what_controllers_wrote(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(kept); i++) {
        size_t found = 0;

        for (size_t j = 0; j < json_array_size(samples); j++) {
            const json_t *manifest = sample_manifest(j);
            cleanup_json json_t *changed = json_deep_copy(manifest);
            cleanup_json json_t *live = sample(j, "later");
            cleanup_result struct merge_result result = {0};

            if (strcmp(doc_text(manifest, "kind"), kept[i].kind) != 0 || !at(live, kept[i].path))
                continue;
            print_message("%s %s\n", kept[i].kind, kept[i].path);
            doc_set_text(changed, "metadata.labels.new", "x");
            result = merge_for_change(live, changed, STRATEGY_UPDATE, &owner, NULL);
            assert_true(result.is_changed);
            assert_true(json_equal(at(result.body, kept[i].path), at(live, kept[i].path)));
            found++;
        }
        assert_int_equal(found, 1);
    }
}

static void replicas_of_the_manifest_win_over_an_autoscaler(void **state)
{
    (void)state;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        cleanup_json json_t *manifest = json_deep_copy(sample_manifest(i));
        cleanup_json json_t *created = sample(i, "created");
        cleanup_json json_t *later = sample(i, "later");
        cleanup_entry struct inventory_entry entry = {0};
        cleanup_result struct merge_result result = {0};

        if (strcmp(doc_text(manifest, "kind"), "Deployment") != 0)
            continue;
        doc_set_new(manifest, "spec.replicas", json_integer(1));
        assert_int_equal(doc_integer_or(later, "spec.replicas", 0), 3);
        merge_note_applied(&entry, manifest, STRATEGY_UPDATE, &owner, NULL, created);
        result = merge_for_change(later, manifest, STRATEGY_UPDATE, &owner, &entry);
        assert_int_equal(doc_integer_or(result.body, "spec.replicas", 0), 1);
        return;
    }
    fail();
}

/* Changes that somebody made: each has to be undone by an update. */
static void change_label(json_t *live)
{
    (void)json_object_set_new(doc_writable(doc_get(live, "metadata.labels")), "added",
                              json_string("x"));
}

static void change_annotation(json_t *live)
{
    (void)json_object_set_new(doc_writable(doc_get(live, "metadata.annotations")), "added",
                              json_string("x"));
}

static void change_owner(json_t *live)
{
    (void)json_object_set_new(doc_writable(doc_get(live, "metadata.labels")), "item",
                              json_string("theirs"));
}

static void change_owner_annotation(json_t *live)
{
    (void)json_object_del(doc_writable(doc_get(live, "metadata.annotations")), "owner");
}

static void change_member(json_t *live)
{
    doc_set_new(live, "spec.added", json_integer(1));
}

static void change_data(json_t *live)
{
    doc_set_text(live, "data.added", "eA==");
}

static const struct {
    const char *name;
    void (*change)(json_t *live);
    bool is_of_manifest; /* the manifest has another value */
} drifts[] = {
    {"a label", change_label, false},
    {"an annotation", change_annotation, false},
    {"the owner's label", change_owner, true},
    {"the owner's annotation", change_owner_annotation, true},
    {"a member of spec", change_member, false},
    {"a member of data", change_data, false},
};

static void a_change_by_somebody_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *manifest = sample_manifest(i);

        for (size_t j = 0; j < array_length(drifts); j++) {
            for (size_t k = 0; k < array_length(strategies); k++) {
                cleanup_json json_t *live = sample(i, "later");
                cleanup_entry struct inventory_entry entry = {0};

                print_message("%s: %s, %s\n", strategy_name(strategies[k]), drifts[j].name,
                              doc_text(manifest, "kind"));
                merge_note_applied(&entry, manifest, strategies[k], &owner, NULL, live);
                drifts[j].change(live);
                assert_int_equal(is_changed(live, manifest, strategies[k], &owner, &entry),
                                 is_replacing(strategies[k]) || drifts[j].is_of_manifest);
            }
        }
    }
}

static void another_manifest_strategy_or_owner_is_applied(void **state)
{
    (void)state;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *manifest = sample_manifest(i);
        cleanup_json json_t *changed = json_deep_copy(manifest);
        cleanup_json json_t *live = sample(i, "later");
        cleanup_entry struct inventory_entry entry = {0};

        print_message("%s\n", doc_text(manifest, "kind"));
        merge_note_applied(&entry, manifest, STRATEGY_UPDATE, &owner, NULL, live);
        doc_set_text(changed, "metadata.labels.new", "x");
        assert_true(is_changed(live, changed, STRATEGY_UPDATE, &owner, &entry));
        assert_true(is_changed(live, manifest, STRATEGY_UPDATE, &other, &entry));
        assert_true(is_changed(live, manifest, STRATEGY_APPLY, &owner, &entry));
    }
}

static void a_patch_that_was_done_late_is_undone(void **state)
{
    cleanup_json json_t *manifest = parse("{'kind':'K','metadata':{'name':'a'},'spec':{'b':1}}");
    cleanup_json json_t *live = merge_with_owner(manifest, &owner);
    cleanup_entry struct inventory_entry entry = {0};

    (void)state;
    merge_note_applied(&entry, manifest, STRATEGY_UPDATE, &owner, NULL, live);
    assert_false(is_changed(live, manifest, STRATEGY_UPDATE, &owner, &entry));
    doc_set_new(live, "spec.suspend", json_true());
    assert_true(is_changed(live, manifest, STRATEGY_UPDATE, &owner, &entry));
}

static void annotations_of_the_creation_are_removed_by_the_next_job(void **state)
{
    cleanup_json json_t *manifest = parse("{'kind':'K','metadata':{'name':'a'},'spec':{'b':1}}");
    cleanup_json json_t *annotations = parse("{'first':'x'}");
    cleanup_json json_t *live = merge_for_create(manifest, annotations, &owner);

    (void)state;
    for (size_t i = 0; i < array_length(strategies); i++) {
        cleanup_entry struct inventory_entry entry = {.desired_hash = xstrdup("old"),
                                                      .applied_hash = xstrdup("old")};

        print_message("%s\n", strategy_name(strategies[i]));
        merge_note_applied(&entry, manifest, strategies[i], &owner, annotations, live);
        assert_int_equal(entry.desired_hash == NULL, is_replacing(strategies[i]));
        assert_int_equal(entry.applied_hash == NULL, is_replacing(strategies[i]));
        assert_int_equal(is_changed(live, manifest, strategies[i], &owner, &entry),
                         is_replacing(strategies[i]));
    }
}

static void own_finalizers_are_recorded_and_watched(void **state)
{
    cleanup_json json_t *manifest = parse("{'kind':'K','metadata':{'name':'a','finalizers':['f'],"
                                          "'ownerReferences':[{'uid':'1'}]},'spec':{'b':1}}");
    cleanup_json json_t *plain = parse("{'kind':'K','metadata':{'name':'a'},'spec':{'b':1}}");
    cleanup_json json_t *live = merge_with_owner(manifest, &owner);
    cleanup_entry struct inventory_entry entry = {0};

    (void)state;
    doc_set_new(live, "spec.defaulted", json_integer(1));
    merge_note_applied(&entry, manifest, STRATEGY_UPDATE, &owner, NULL, live);
    assert_int_equal(json_array_size(entry.own_finalizers), 1);
    assert_int_equal(json_array_size(entry.own_owners), 1);
    assert_false(is_changed(live, manifest, STRATEGY_UPDATE, &owner, &entry));

    /* Finalizers of others do not matter, but ours must be there. */
    doc_set_new(live, "metadata.finalizers", json_pack("[s, s]", "flux", "f"));
    assert_false(is_changed(live, manifest, STRATEGY_UPDATE, &owner, &entry));
    doc_set_new(live, "metadata.finalizers", json_pack("[s]", "flux"));
    assert_true(is_changed(live, manifest, STRATEGY_UPDATE, &owner, &entry));

    merge_note_applied(&entry, plain, STRATEGY_UPDATE, &owner, NULL, live);
    assert_null(entry.own_finalizers);
    assert_null(entry.own_owners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controllers_do_not_change_an_object),
        cmocka_unit_test(without_a_record_an_object_is_written_in_case_of_doubt),
        cmocka_unit_test(a_write_keeps_what_controllers_wrote),
        cmocka_unit_test(replicas_of_the_manifest_win_over_an_autoscaler),
        cmocka_unit_test(a_change_by_somebody_is_noticed),
        cmocka_unit_test(another_manifest_strategy_or_owner_is_applied),
        cmocka_unit_test(a_patch_that_was_done_late_is_undone),
        cmocka_unit_test(annotations_of_the_creation_are_removed_by_the_next_job),
        cmocka_unit_test(own_finalizers_are_recorded_and_watched),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, read_samples, free_samples);
}
