/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/pod/owner.h"

static struct deployer_config config_of(char *identity)
{
    return (struct deployer_config){.identity = identity, .landscaper_mark = "0123456789abcdef"};
}

static json_t *labelled(const char *id, const char *mark)
{
    json_t *object = json_pack("{s:{s:{}}}", "metadata", "labels");
    json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");

    if (id)
        (void)json_object_set_new(labels, LABEL_DEPLOYER_ID, json_string(id));
    if (mark)
        (void)json_object_set_new(labels, LABEL_LANDSCAPER, json_string(mark));
    return object;
}

static void an_object_is_ours_by_identity_or_by_the_landscaper_label(void **state)
{
    static const struct {
        const char *identity, *id, *mark;
        enum owner owner;
    } cases[] = {
        {"a", "a", NULL, OWNER_OURS},
        {"a", "a", "another", OWNER_OURS},
        {"a", "b", NULL, OWNER_THEIRS},
        {"a", "", NULL, OWNER_THEIRS},
        {"a", "", "0123456789abcdef", OWNER_THEIRS},
        {"a", NULL, NULL, OWNER_UNSAID},
        {"", "", "0123456789abcdef", OWNER_OURS},
        {"", "", "another", OWNER_THEIRS},
        {"", "", NULL, OWNER_UNSAID},
        {"", "b", NULL, OWNER_THEIRS},
        {"", "b", "0123456789abcdef", OWNER_THEIRS},
        {"", NULL, NULL, OWNER_UNSAID},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *identity = xstrdup(cases[i].identity);
        const struct deployer_config config = config_of(identity);
        cleanup_json json_t *object = labelled(cases[i].id, cases[i].mark);
        cleanup_json json_t *list = json_pack("{s:[O]}", "items", object);

        if (owner_of(&config, object) != cases[i].owner)
            fail_msg("case %zu", i);
        assert_int_equal(owner_is_list_shared(&config, list, "uid"),
                         cases[i].owner == OWNER_THEIRS);
    }
}

static void an_object_of_the_same_item_is_not_foreign_whoever_created_it(void **state)
{
    static const struct {
        const char *id, *uid, *item_uid;
        bool is_neighbour;
        const char *former_id;
    } cases[] = {
        {"a", "1", "1", false, "none"},
        {"a", "2", "1", false, "none"}, /* of an item that had the name before */
        {NULL, "2", "1", false, "none"},
        {"b", "1", "1", false, "b"},
        {"", "1", "1", false, ""},
        {"b", "2", "1", true, "none"},
        {"b", NULL, "1", true, "none"},
        {"b", "1", NULL, true, "none"},
        {"b", NULL, NULL, true, "none"},
        {"", "2", "1", true, "none"},
    };
    cleanup_free char *identity = xstrdup("a");
    const struct deployer_config config = config_of(identity);

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *object = labelled(cases[i].id, NULL);
        cleanup_json json_t *list = NULL;
        const char *former_id = NULL;

        if (cases[i].uid)
            (void)json_object_set_new(json_object_get(object, "metadata"), "annotations",
                                      json_pack("{s:s}", ANNOTATION_ITEM_UID, cases[i].uid));
        list = json_pack("{s:[O]}", "items", object);
        if (owner_is_neighbour(&config, object, cases[i].item_uid) != cases[i].is_neighbour ||
            owner_is_list_shared(&config, list, cases[i].item_uid) != cases[i].is_neighbour)
            fail_msg("case %zu", i);
        former_id = owner_former_id(&config, list, cases[i].item_uid);
        assert_string_equal(former_id ? former_id : "none", cases[i].former_id);
    }
}

#define OF_ITEM LABEL_ITEM_NAME "=x," LABEL_ITEM_NAMESPACE "=n"

static void with_a_shared_name_only_objects_with_our_label_are_deleted(void **state)
{
    static const struct {
        const char *identity, *own; /* selector */
        bool is_shared;
        const char *former_id;
    } cases[] = {
        {"a", OF_ITEM "," LABEL_DEPLOYER_ID "=a", false, NULL},
        {"a", OF_ITEM "," LABEL_DEPLOYER_ID "=a", true, NULL},
        {"a", OF_ITEM "," LABEL_DEPLOYER_ID "=a", true, "b"},
        {"a", OF_ITEM "," LABEL_DEPLOYER_ID " in (a,b)", false, "b"},
        {"", OF_ITEM "," LABEL_DEPLOYER_ID "=", false, NULL},
        {"", OF_ITEM "," LABEL_DEPLOYER_ID "=," LABEL_LANDSCAPER "=0123456789abcdef", true, NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *identity = xstrdup(cases[i].identity);
        const struct deployer_config config = config_of(identity);
        const struct owner_item item = {.namespace_name = "n",
                                        .name = "x",
                                        .is_shared = cases[i].is_shared,
                                        .former_id = cases[i].former_id};
        const char *last = "";
        size_t own = 0;
        size_t unlabelled = 0;

        for (size_t step = 0; step < 20; step++) {
            cleanup_owner_collection struct owner_collection collection = {0};

            if (!owner_collection_init(&collection, &config, &item, step))
                break;
            last = collection.resource.plural;
            if (strcmp(collection.label_selector, cases[i].own) == 0)
                own++;
            else if (strstr(collection.label_selector, ",!" LABEL_DEPLOYER_ID))
                unlabelled++;
            else
                fail_msg("case %zu: %s", i, collection.label_selector);
        }
        assert_int_equal(own, 5);
        assert_int_equal(unlabelled, cases[i].is_shared ? 0 : 2);
        assert_string_equal(last, KUBE_SERVICE_ACCOUNTS.plural);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_ours_by_identity_or_by_the_landscaper_label),
        cmocka_unit_test(an_object_of_the_same_item_is_not_foreign_whoever_created_it),
        cmocka_unit_test(with_a_shared_name_only_objects_with_our_label_are_deleted),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
