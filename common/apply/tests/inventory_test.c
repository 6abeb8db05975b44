/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/inventory.h"

#include "common/apply/tests/parse.h"
#include "common/apply/tests/random.h"
#include "common/base/memory.h"

static void policies_have_names(void **state)
{
    static const struct {
        const char *text;
        enum apply_policy policy;
    } policies[] = {
        {"manage", POLICY_MANAGE},       {"fallback", POLICY_FALLBACK}, {"keep", POLICY_KEEP},
        {"immutable", POLICY_IMMUTABLE}, {"ignore", POLICY_IGNORE},
    };
    static const char *const unknown[] = {"Manage", "kept", "manage ", "none"};
    enum apply_policy policy = POLICY_IGNORE;
    struct error err = {0};

    (void)state;
    for (size_t i = 0; i < array_length(policies); i++) {
        assert_int_equal(policy_parse(policies[i].text, &policy, &err), 0);
        assert_int_equal(policy, policies[i].policy);
        assert_string_equal(policy_name(policy), policies[i].text);
    }
    assert_int_equal(policy_parse("", &policy, &err), 0);
    assert_int_equal(policy, POLICY_MANAGE);
    for (size_t i = 0; i < array_length(unknown); i++) {
        assert_int_equal(policy_parse(unknown[i], &policy, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, unknown[i]));
    }
}

static struct inventory_entry make_entry(const char *api_version, const char *kind,
                                         const char *namespace_name, const char *name,
                                         const char *uid)
{
    return (struct inventory_entry){
        .ref = {xstrdup(api_version), xstrdup(kind), xstrdup_or_null(namespace_name), xstrdup(name),
                xstrdup_or_null(uid)},
        .is_crd = strcmp(kind, "CustomResourceDefinition") == 0,
        .is_namespaced = namespace_name != NULL,
    };
}

static struct inventory_entry *add(struct inventory *inventory, const char *name, const char *uid)
{
    return inventory_add(inventory, make_entry("v1", "ConfigMap", "ns", name, uid));
}

static void an_entry_is_found_by_uid_or_name(void **state)
{
    cleanup_inventory struct inventory inventory = {0};
    const struct object_ref by_name = {(char[]){"v1"}, (char[]){"ConfigMap"}, (char[]){"ns"},
                                       (char[]){"a"}, NULL};
    const struct object_ref by_uid = {(char[]){"other/v1"}, (char[]){"X"}, NULL, (char[]){"x"},
                                      (char[]){"2"}};
    const struct object_ref replaced = {(char[]){"v1"}, (char[]){"ConfigMap"}, (char[]){"ns"},
                                        (char[]){"a"}, (char[]){"9"}};
    const struct object_ref absent = {(char[]){"v1"}, (char[]){"Secret"}, (char[]){"ns"},
                                      (char[]){"a"}, NULL};

    (void)state;
    (void)add(&inventory, "a", "1");
    (void)add(&inventory, "b", "2");
    (void)add(&inventory, "c", NULL);
    assert_ptr_equal(inventory_find(&inventory, &by_name), &inventory.entries[0]);
    assert_ptr_equal(inventory_find(&inventory, &by_uid), &inventory.entries[1]);
    assert_ptr_equal(inventory_find(&inventory, &replaced), &inventory.entries[0]);
    assert_null(inventory_find(&inventory, &absent));

    /* An entry with the same name and another uid is not removed. */
    inventory_remove(&inventory, &replaced);
    inventory_remove(&inventory, &absent);
    assert_int_equal(inventory.count, 3);
    inventory_remove(&inventory, &by_uid);
    assert_int_equal(inventory.count, 2);
    assert_string_equal(inventory.entries[0].ref.name, "a");
    assert_string_equal(inventory.entries[1].ref.name, "c");
    inventory_remove(&inventory, &by_name);
    assert_int_equal(inventory.count, 1);
}

static void an_added_entry_replaces_the_old_one(void **state)
{
    cleanup_inventory struct inventory inventory = {0};
    struct inventory_entry entry = {0};
    struct inventory_entry *added = NULL;

    (void)state;
    (void)add(&inventory, "a", NULL);
    added = add(&inventory, "b", "1");
    added->policy = POLICY_KEEP;
    added->patch_before_delete = parse("{'a':1}");
    added->own_finalizers = parse("['x','y']");
    added->own_owners = parse("[{'uid':'1'}]");
    added->desired_hash = xstrdup("desired");
    added->applied_hash = xstrdup("applied");
    (void)add(&inventory, "c", NULL);

    /* Planned again: its uid and everything that only a write can make obsolete stays. */
    entry = make_entry("v1", "ConfigMap", "ns", "b", NULL);
    entry.own_finalizers = parse("['y','z']");
    added = inventory_add(&inventory, entry);
    assert_int_equal(inventory.count, 3);
    assert_ptr_equal(added, &inventory.entries[1]);
    assert_string_equal(inventory.entries[2].ref.name, "c");
    assert_string_equal(added->ref.uid, "1");
    assert_int_equal(added->policy, POLICY_MANAGE);
    assert_null(added->patch_before_delete);
    assert_int_equal(json_array_size(added->own_finalizers), 3);
    assert_int_equal(json_array_size(added->own_owners), 1);
    assert_string_equal(added->desired_hash, "desired");
    assert_string_equal(added->applied_hash, "applied");

    /* The hashes of a new entry are a pair. */
    entry = make_entry("v1", "ConfigMap", "ns", "b", "1");
    entry.desired_hash = xstrdup("new");
    added = inventory_add(&inventory, entry);
    assert_string_equal(added->desired_hash, "new");
    assert_null(added->applied_hash);
    added->applied_hash = xstrdup("x");

    /* Another object of this name: what was known of the old one's content is not true of it. */
    added = add(&inventory, "b", "2");
    assert_int_equal(inventory.count, 3);
    assert_string_equal(added->ref.uid, "2");
    assert_null(added->desired_hash);
    assert_null(added->applied_hash);
    assert_int_equal(json_array_size(added->own_finalizers), 3);
}

/* The list of a new entry may be that of its manifest. */
static void adding_does_not_change_the_lists_of_the_entry(void **state)
{
    cleanup_inventory struct inventory inventory = {0};
    cleanup_json json_t *manifest = parse("{'finalizers':['a'],'owners':5}");
    struct inventory_entry entry = make_entry("v1", "ConfigMap", "ns", "a", NULL);
    const struct inventory_entry *added = add(&inventory, "a", NULL);

    (void)state;
    inventory.entries[0].own_finalizers = parse("['b']");
    inventory.entries[0].own_owners = parse("[{'uid':'1'}]");
    assert_ptr_equal(added, &inventory.entries[0]);
    entry.own_finalizers = json_incref(json_object_get(manifest, "finalizers"));
    entry.own_owners = json_incref(json_object_get(manifest, "owners"));
    added = inventory_add(&inventory, entry);
    assert_int_equal(json_array_size(added->own_finalizers), 2);
    assert_int_equal(json_array_size(added->own_owners), 1);
    assert_int_equal(json_array_size(json_object_get(manifest, "finalizers")), 1);
}

static void an_entry_of_two_others_replaces_both(void **state)
{
    cleanup_inventory struct inventory inventory = {0};
    const struct inventory_entry *added = NULL;

    (void)state;
    (void)inventory_add(&inventory, make_entry("extensions/v1", "Ingress", "ns", "a", "1"));
    (void)add(&inventory, "b", NULL);
    (void)inventory_add(&inventory, make_entry("networking.k8s.io/v1", "Ingress", "ns", "a", NULL));
    assert_int_equal(inventory.count, 3);
    added =
        inventory_add(&inventory, make_entry("networking.k8s.io/v1", "Ingress", "ns", "a", "1"));
    assert_int_equal(inventory.count, 2);
    assert_ptr_equal(added, &inventory.entries[0]);
    assert_string_equal(added->ref.api_version, "networking.k8s.io/v1");
    assert_string_equal(inventory.entries[1].ref.name, "b");
}

static void a_copy_is_complete_and_independent(void **state)
{
    cleanup_inventory struct inventory inventory = {0};
    cleanup_inventory struct inventory copy = {0};
    struct inventory_entry *entry = add(&inventory, "a", "1");

    (void)state;
    entry->policy = POLICY_IMMUTABLE;
    entry->annotate_before_delete = parse("{'a':'b'}");
    entry->patch_before_delete = parse("{'spec':{'c':1}}");
    entry->own_finalizers = parse("['x']");
    entry->own_owners = parse("[{'uid':'1'}]");
    entry->desired_hash = xstrdup("desired");
    entry->applied_hash = xstrdup("applied");
    copy = inventory_copy(&inventory);
    inventory_done(&inventory);
    assert_int_equal(copy.count, 1);
    entry = &copy.entries[0];
    assert_string_equal(entry->ref.uid, "1");
    assert_int_equal(entry->policy, POLICY_IMMUTABLE);
    assert_true(entry->is_namespaced);
    assert_string_equal(doc_text(entry->annotate_before_delete, "a"), "b");
    assert_int_equal(doc_integer_or(entry->patch_before_delete, "spec.c", 0), 1);
    assert_int_equal(json_array_size(entry->own_finalizers), 1);
    assert_int_equal(json_array_size(entry->own_owners), 1);
    assert_string_equal(entry->desired_hash, "desired");
    assert_string_equal(entry->applied_hash, "applied");
}

static const struct {
    const char *api_version, *kind, *namespace_name, *name, *uid;
} ordered[] = {
    {"apiextensions.k8s.io/v1", "CustomResourceDefinition", NULL, "a", NULL},
    {"apiextensions.k8s.io/v1", "CustomResourceDefinition", NULL, "b", NULL},
    {"rbac.authorization.k8s.io/v1", "ClusterRole", NULL, "z", NULL},
    {"v1", "Namespace", NULL, "a", NULL},
    {"v1", "ConfigMap", "a", "z", NULL},
    {"v1", "ConfigMap", "b", "a", NULL},
    {"v1", "ConfigMap", "b", "b", "1"},
    {"v1", "Event", "b", "a", "2"},
    {"events.k8s.io/v1", "Event", "b", "a", "3"},
    {"v1", "Event", "b", "b", NULL},
    {"v1", "Secret", "a", "a", NULL},
};

static void the_list_is_sorted_by_group_and_reference(void **state)
{
    struct random random = {1};

    (void)state;
    for (size_t round = 0; round < 50; round++) {
        cleanup_inventory struct inventory inventory = {0};
        bool is_used[array_length(ordered)] = {0};

        while (inventory.count < array_length(ordered)) {
            size_t i = random_below(&random, array_length(ordered));

            if (!is_used[i])
                (void)inventory_add(&inventory, make_entry(ordered[i].api_version, ordered[i].kind,
                                                           ordered[i].namespace_name,
                                                           ordered[i].name, ordered[i].uid));
            is_used[i] = true;
        }
        inventory_sort(&inventory);
        for (size_t i = 0; i < array_length(ordered); i++) {
            assert_string_equal(inventory.entries[i].ref.api_version, ordered[i].api_version);
            assert_string_equal(inventory.entries[i].ref.kind, ordered[i].kind);
            assert_string_equal(inventory.entries[i].ref.name, ordered[i].name);
        }
    }
}

static void what_left_the_list_is_an_orphan(void **state)
{
    cleanup_inventory struct inventory before = {0};
    cleanup_inventory struct inventory now = {0};
    cleanup_inventory struct inventory orphans = {0};

    (void)state;
    (void)add(&before, "left", "1");
    (void)add(&before, "stays", "2");
    (void)add(&before, "planned", NULL);
    (void)add(&before, "created-again", "3");
    (void)inventory_add(&before, make_entry("apps/v1beta1", "Deployment", "ns", "version", NULL));
    (void)inventory_add(&before, make_entry("extensions/v1", "Ingress", "ns", "group", "4"));
    before.entries[0].policy = POLICY_KEEP;

    (void)add(&now, "stays", "2");
    (void)add(&now, "planned", "5");
    (void)add(&now, "created-again", "6");
    (void)inventory_add(&now, make_entry("apps/v1", "Deployment", "ns", "version", NULL));
    (void)inventory_add(&now, make_entry("networking.k8s.io/v1", "Ingress", "ns", "group", "4"));

    orphans = inventory_orphans(&before, &now);
    assert_int_equal(orphans.count, 1);
    assert_string_equal(orphans.entries[0].ref.name, "left");
    assert_string_equal(orphans.entries[0].ref.uid, "1");
    assert_int_equal(orphans.entries[0].policy, POLICY_KEEP);
}

/* Few names and uids, so that entries meet often. */
static struct inventory random_inventory(struct random *random)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    static const char *const kinds[] = {"ConfigMap", "Secret", "CustomResourceDefinition"};
    static const char *const api_versions[] = {"v1", "x/v1", "x/v2"};
    struct inventory inventory = {0};
    size_t count = random_below(random, 12);

    for (size_t i = 0; i < count; i++) {
        const char *kind = kinds[random_below(random, array_length(kinds))];
        const char *namespace_name = random_below(random, 2) ? "n" : NULL;
        char uid[8] = "";
        struct inventory_entry entry = {0};

        (void)snprintf(uid, sizeof(uid), "%zu", random_below(random, 20));
        entry = make_entry(api_versions[random_below(random, array_length(api_versions))], kind,
                           namespace_name, names[random_below(random, array_length(names))],
                           random_below(random, 2) ? uid : NULL);
        if (random_below(random, 3) == 0)
            entry.own_finalizers = json_pack("[s]", uid);
        (void)inventory_add(&inventory, entry);
    }
    return inventory;
}

static void assert_no_object_twice(const struct inventory *inventory)
{
    for (size_t i = 0; i < inventory->count; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct object_ref *a = &inventory->entries[i].ref;
            const struct object_ref *b = &inventory->entries[j].ref;

            assert_false(object_ref_equal(a, b));
            assert_false(object_ref_is_same_name(a, b));
        }
    }
}

static void assert_all_found(const struct inventory *entries, const struct inventory *in)
{
    for (size_t i = 0; i < entries->count; i++)
        assert_non_null(inventory_find(in, &entries->entries[i].ref));
}

static void no_entry_is_ever_forgotten(void **state)
{
    struct random random = {7};

    (void)state;
    for (size_t round = 0; round < 2000; round++) {
        cleanup_inventory struct inventory before = random_inventory(&random);
        cleanup_inventory struct inventory now = random_inventory(&random);
        cleanup_inventory struct inventory orphans = inventory_orphans(&before, &now);
        cleanup_inventory struct inventory none = inventory_orphans(&before, &before);
        const struct inventory empty = {0};
        cleanup_inventory struct inventory all = inventory_orphans(&before, &empty);
        cleanup_inventory struct inventory both = inventory_copy(&now);
        size_t still_there = 0;

        assert_no_object_twice(&before);
        assert_int_equal(none.count, 0);
        assert_int_equal(all.count, before.count);
        for (size_t i = 0; i < before.count; i++) {
            const struct object_ref *ref = &before.entries[i].ref;
            bool is_now = inventory_find(&now, ref) != NULL;

            assert_int_equal(is_now, inventory_find(&orphans, ref) == NULL);
            still_there += is_now;
        }
        assert_int_equal(orphans.count + still_there, before.count);

        /* The orphans and the new list together have everything. */
        for (size_t i = 0; i < orphans.count; i++)
            (void)inventory_add(&both, inventory_entry_copy(&orphans.entries[i]));
        assert_int_equal(both.count, orphans.count + now.count);
        assert_all_found(&before, &both);
        assert_all_found(&now, &both);
    }
}

static void adding_unites_and_keeps_own_finalizers(void **state)
{
    struct random random = {11};

    (void)state;
    for (size_t round = 0; round < 2000; round++) {
        cleanup_inventory struct inventory before = random_inventory(&random);
        cleanup_inventory struct inventory now = random_inventory(&random);
        cleanup_inventory struct inventory both = inventory_copy(&before);

        for (size_t i = 0; i < now.count; i++) {
            struct inventory_entry *added =
                inventory_add(&both, inventory_entry_copy(&now.entries[i]));

            assert_non_null(added->ref.name);
            assert_string_equal(added->ref.name, now.entries[i].ref.name);
        }
        assert_no_object_twice(&both);
        for (size_t i = 0; i < before.count + now.count; i++) {
            const struct inventory_entry *entry =
                i < before.count ? &before.entries[i] : &now.entries[i - before.count];
            const json_t *finalizer = json_array_get(entry->own_finalizers, 0);
            bool is_there = !finalizer;

            for (size_t j = 0; j < both.count && !is_there; j++) {
                const json_t *own = both.entries[j].own_finalizers;

                for (size_t k = 0; k < json_array_size(own); k++)
                    is_there = is_there || json_equal(json_array_get(own, k), finalizer);
            }
            assert_true(is_there);
        }
    }
}

/* The entry with the same uid, else the one with the same name. */
static const struct inventory_entry *search(const struct inventory *inventory,
                                            const struct object_ref *ref)
{
    const struct inventory_entry *found = NULL;

    for (size_t i = 0; i < inventory->count; i++) {
        const struct inventory_entry *entry = &inventory->entries[i];

        if (ref->uid && entry->ref.uid && strcmp(ref->uid, entry->ref.uid) == 0)
            return entry;
        if (object_ref_is_same_name(&entry->ref, ref))
            found = entry;
    }
    return found;
}

static void what_is_found_is_what_is_in_the_list(void **state)
{
    struct random random = {13};

    (void)state;
    for (size_t round = 0; round < 500; round++) {
        cleanup_inventory struct inventory inventory = random_inventory(&random);
        cleanup_inventory struct inventory others = random_inventory(&random);

        for (size_t i = 0; i < others.count; i++) {
            const struct object_ref *ref = &others.entries[i].ref;
            struct inventory_entry *entry = NULL;

            assert_ptr_equal(inventory_find(&inventory, ref), search(&inventory, ref));
            switch (random_below(&random, 4)) {
            case 0:
                inventory_remove(&inventory, ref);
                break;
            case 1:
                (void)inventory_add(&inventory, inventory_entry_copy(&others.entries[i]));
                break;
            case 2:
                entry = inventory_find(&inventory, ref);
                if (entry)
                    inventory_set_uid(&inventory, entry, random_below(&random, 2) ? "new" : NULL);
                break;
            default:
                inventory_sort(&inventory);
            }
            assert_no_object_twice(&inventory);
            for (size_t j = 0; j < others.count; j++)
                assert_ptr_equal(inventory_find(&inventory, &others.entries[j].ref),
                                 search(&inventory, &others.entries[j].ref));
            /* A uid is never used twice. */
            if (entry && entry->ref.uid)
                inventory_set_uid(&inventory, inventory_find(&inventory, &entry->ref), NULL);
        }
    }
}

static void what_was_recorded_before_is_never_new(void **state)
{
    cleanup_inventory struct inventory inventory = {0};
    cleanup_inventory struct inventory made = {0};
    struct inventory_entry entry = make_entry("v1", "ConfigMap", "a", "old", NULL);

    (void)state;
    (void)inventory_add(&inventory, entry);
    for (size_t round = 0; round < 2; round++) {
        entry = make_entry("v1", "ConfigMap", "a", "old", NULL);
        entry.is_new = true;
        assert_false(inventory_add(&inventory, entry)->is_new);
        entry = make_entry("v1", "ConfigMap", "a", "new", NULL);
        entry.is_new = true;
        assert_true(inventory_add(&inventory, entry)->is_new);
    }
    made = inventory_copy_made(&inventory);
    assert_int_equal(made.count, 1);
    assert_string_equal(made.entries[0].ref.name, "old");
    assert_int_equal(inventory.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_have_names),
        cmocka_unit_test(an_entry_is_found_by_uid_or_name),
        cmocka_unit_test(an_added_entry_replaces_the_old_one),
        cmocka_unit_test(adding_does_not_change_the_lists_of_the_entry),
        cmocka_unit_test(an_entry_of_two_others_replaces_both),
        cmocka_unit_test(a_copy_is_complete_and_independent),
        cmocka_unit_test(the_list_is_sorted_by_group_and_reference),
        cmocka_unit_test(what_left_the_list_is_an_orphan),
        cmocka_unit_test(no_entry_is_ever_forgotten),
        cmocka_unit_test(adding_unites_and_keeps_own_finalizers),
        cmocka_unit_test(what_is_found_is_what_is_in_the_list),
        cmocka_unit_test(what_was_recorded_before_is_never_new),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
