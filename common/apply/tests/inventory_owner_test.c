/* SPDX-License-Identifier: Apache-2.0 */
/* Owners of objects, and which objects may be deleted. */
#include "common/apply/inventory.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

static const struct apply_owner owner = {"example.com/item", "ours", "example.com/owner",
                                         "ns/ours"};
static const struct apply_owner plain_owner = {"example.com/item", "ours", NULL, NULL};

#define LABEL(value_) "'labels':{'example.com/item':'" value_ "'}"
#define ANNOTATION(value_) "'annotations':{'example.com/owner':'" value_ "'}"

static const struct {
    const char *metadata;
    bool has_object, is_other;             /* with an annotation */
    bool plain_has_object, plain_is_other; /* by the label alone */
} owned[] = {
    {LABEL("ours") "," ANNOTATION("ns/ours"), true, false, true, false},
    /* Applied by the Go deployer. */
    {LABEL("ours"), true, false, true, false},
    /* An owner with the same name in another namespace. */
    {LABEL("ours") "," ANNOTATION("other/ours"), false, true, true, false},
    {LABEL("theirs") "," ANNOTATION("ns/theirs"), false, true, false, true},
    {LABEL("theirs"), false, true, false, true},
    /* Taken over by the Go deployer, which kept our annotation. */
    {LABEL("theirs") "," ANNOTATION("ns/ours"), false, true, false, true},
    {ANNOTATION("ns/ours"), false, false, false, false},
    {ANNOTATION("ns/theirs"), false, true, false, false},
    {"'labels':{'other':'ours'},'annotations':{}", false, false, false, false},
    {"'labels':{'example.com/item':5},'annotations':{'example.com/owner':[]}", false, false, false,
     false},
    {"'labels':null", false, false, false, false},
    {"'name':'a'", false, false, false, false},
};

static void an_owner_is_recognised_by_label_and_annotation(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(owned); i++) {
        cleanup_free char *text = xasprintf("{'metadata':{%s}}", owned[i].metadata);
        cleanup_json json_t *object = parse(text);

        print_message("%s\n", text);
        assert_int_equal(owner_has_object(&owner, object), owned[i].has_object);
        assert_int_equal(owner_is_other(&owner, object), owned[i].is_other);
        assert_int_equal(owner_has_object(&plain_owner, object), owned[i].plain_has_object);
        assert_int_equal(owner_is_other(&plain_owner, object), owned[i].plain_is_other);
    }
}

static const struct {
    enum apply_policy policy;
    const char *uid; /* that was recorded */
    const char *metadata;
    enum removal_verdict verdict;
} removals[] = {
    {POLICY_MANAGE, "1", "'uid':'1'," LABEL("ours"), REMOVAL_DELETE},
    {POLICY_MANAGE, "1", "'uid':'1'," LABEL("ours") "," ANNOTATION("ns/ours"), REMOVAL_DELETE},
    /* Somebody removed the label. */
    {POLICY_MANAGE, "1", "'uid':'1'", REMOVAL_DELETE},
    {POLICY_MANAGE, "1", "'uid':'2'," LABEL("ours"), REMOVAL_REPLACED},
    {POLICY_MANAGE, "1", "'uid':'2'", REMOVAL_REPLACED},
    {POLICY_MANAGE, "1", LABEL("ours"), REMOVAL_REPLACED},
    {POLICY_MANAGE, "1", "'uid':1," LABEL("ours"), REMOVAL_REPLACED},
    {POLICY_MANAGE, "1", "'uid':'1'," LABEL("theirs"), REMOVAL_MOVED},
    {POLICY_MANAGE, "1", "'uid':'1'," LABEL("ours") "," ANNOTATION("other/ours"), REMOVAL_MOVED},
    /* Recorded before it was applied. */
    {POLICY_MANAGE, NULL, "'uid':'1'," LABEL("ours"), REMOVAL_DELETE},
    {POLICY_MANAGE, "", "'uid':'1'," LABEL("ours"), REMOVAL_DELETE},
    {POLICY_MANAGE, NULL, "'uid':'1'", REMOVAL_FOREIGN},
    {POLICY_MANAGE, "", "'uid':'1'", REMOVAL_FOREIGN},
    {POLICY_MANAGE, NULL, "'uid':'1'," LABEL("theirs"), REMOVAL_MOVED},
    {POLICY_MANAGE, NULL, "'uid':'1'," LABEL("ours") "," ANNOTATION("other/ours"), REMOVAL_MOVED},
    /* Without a uid there is no precondition for the DELETE. */
    {POLICY_MANAGE, NULL, LABEL("ours"), REMOVAL_FOREIGN},
    {POLICY_IMMUTABLE, "1", "'uid':'1'", REMOVAL_DELETE},
    {POLICY_IMMUTABLE, "1", "'uid':'1'," LABEL("ours"), REMOVAL_DELETE},
    {POLICY_IMMUTABLE, "1", "'uid':'1'," LABEL("theirs"), REMOVAL_MOVED},
    {POLICY_IMMUTABLE, "1", "'uid':'2'," LABEL("ours"), REMOVAL_REPLACED},
    {POLICY_IMMUTABLE, NULL, "'uid':'1'", REMOVAL_FOREIGN},
    {POLICY_FALLBACK, "1", "'uid':'1'," LABEL("ours"), REMOVAL_DELETE},
    {POLICY_FALLBACK, "1", "'uid':'1'", REMOVAL_FOREIGN},
    {POLICY_FALLBACK, "1", "'uid':'1'," LABEL("theirs"), REMOVAL_MOVED},
    {POLICY_FALLBACK, "1", "'uid':'2'," LABEL("ours"), REMOVAL_REPLACED},
    {POLICY_FALLBACK, NULL, "'uid':'1'," LABEL("ours"), REMOVAL_DELETE},
    {POLICY_FALLBACK, NULL, "'uid':'1'", REMOVAL_FOREIGN},
    {POLICY_KEEP, "1", "'uid':'1'," LABEL("ours"), REMOVAL_KEPT},
    {POLICY_KEEP, NULL, "'uid':'1'," LABEL("ours"), REMOVAL_KEPT},
    {POLICY_KEEP, "1", "'uid':'2'," LABEL("theirs"), REMOVAL_KEPT},
    {POLICY_IGNORE, "1", "'uid':'1'," LABEL("ours"), REMOVAL_KEPT},
};

static void only_our_own_objects_are_deleted(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(removals); i++) {
        cleanup_free char *text = xasprintf("{'metadata':{%s}}", removals[i].metadata);
        cleanup_json json_t *live = parse(text);
        struct inventory_entry entry = {.ref.uid = xstrdup_or_null(removals[i].uid)};
        enum removal_verdict verdict = REMOVAL_DELETE;

        entry.policy = removals[i].policy;
        print_message("%s, recorded uid %s: %s\n", policy_name(entry.policy),
                      removals[i].uid ? removals[i].uid : "-", text);
        verdict = removal_judge(&entry, live, &owner);
        inventory_entry_done(&entry);
        assert_int_equal(verdict, removals[i].verdict);
        assert_true(strlen(removal_verdict_text(verdict)) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_is_recognised_by_label_and_annotation),
        cmocka_unit_test(only_our_own_objects_are_deleted),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
