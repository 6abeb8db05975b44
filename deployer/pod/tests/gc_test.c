/* SPDX-License-Identifier: Apache-2.0 */
/* The garbage collector with a fake client (linker --wrap): lists return the objects of one item,
 * and the test chooses the response to each request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/kube/list.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/gc.h"
#include "deployer/tests/sample.h"

struct answer {
    enum error_kind kind; /* ERROR_NONE: an object */
    const char *text;     /* of the error */
};

static struct fake {
    struct clock_fake clock;
    struct controller controller;
    struct pod_engine engine;
    struct deployer_config *config;
    struct kube_request request;   /* on_done NULL: none is pending */
    struct kube_list_options list; /* on_done NULL: none is pending */
    struct answer item, accounts;  /* responses to the requests for the item and for its accounts */
    size_t item_requests, removals;
} fake;

int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err);
void __wrap_kube_cancel(struct kube_call *call);
int __wrap_kube_list_start(struct kube *kube, const struct kube_list_options *options,
                           struct kube_list **ret_list, struct error *err);
void __wrap_kube_list_cancel(struct kube_list *list);

int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err)
{
    (void)kube;
    (void)err;
    assert_null(fake.request.on_done);
    fake.request = *request;
    *ret_call = (struct kube_call *)&fake.request;
    return 0;
}

void __wrap_kube_cancel(struct kube_call *call)
{
    assert_null(call);
}

int __wrap_kube_list_start(struct kube *kube, const struct kube_list_options *options,
                           struct kube_list **ret_list, struct error *err)
{
    (void)kube;
    (void)err;
    assert_null(fake.list.on_done);
    fake.list = *options;
    *ret_list = (struct kube_list *)&fake.list;
    return 0;
}

void __wrap_kube_list_cancel(struct kube_list *list)
{
    assert_null(list);
}

/* One object of the item team/gone in every list. */
static void answer_list(void)
{
    const struct kube_list_options list = fake.list;
    cleanup_json json_t *object = json_pack(
        "{s:{s:s,s:s,s:{s:s,s:s,s:s}}}", "metadata", "name", "object", "uid", SAMPLE_UID, "labels",
        LABEL_DEPLOYER_ID, "test", LABEL_ITEM_NAME, "gone", LABEL_ITEM_NAMESPACE, "team");
    const struct error none = {0};

    fake.list = (struct kube_list_options){0};
    list.on_item(list.data, object, NULL);
    list.on_done(list.data, "1", &none);
}

static void answer_request(void)
{
    const struct kube_request request = fake.request;
    bool is_item = strcmp(request.resource.plural, RESOURCE_DEPLOY_ITEMS) == 0;
    struct answer answer = is_item ? fake.item : fake.accounts;
    struct error err = {.kind = ERROR_NONE};
    cleanup_json json_t *object = NULL;

    fake.request = (struct kube_request){0};
    if (is_item) {
        assert_int_equal(request.verb, KUBE_GET);
        assert_string_equal(request.name, "gone");
        assert_string_equal(request.namespace_name, "team");
        fake.item_requests++;
    } else if (request.verb != KUBE_LIST) {
        assert_true(request.verb == KUBE_DELETE || request.verb == KUBE_DELETE_COLLECTION);
        fake.removals++;
        answer = (struct answer){ERROR_NONE, NULL};
    }
    if (answer.kind != ERROR_NONE)
        (void)error_set(&err, answer.kind, "%s", answer.text);
    else
        object = json_pack("{s:[]}", "items");
    request.on_done(request.data, object, &err);
}

/* One pass of the collector, from its timer to its last response. */
static void run_pass(void)
{
    struct gc *gc = gc_new(&fake.engine);
    struct error err = {0};

    fake.item_requests = fake.removals = 0;
    gc_prompt(gc);
    clock_fake_advance(&fake.clock, 1000);
    assert_int_equal(loop_run_once(fake.controller.loop, 0, &err), 0);
    assert_non_null(fake.list.on_done);
    while (fake.list.on_done || fake.request.on_done) {
        if (fake.list.on_done)
            answer_list();
        else
            answer_request();
    }
    gc_free(gc);
}

static int set_up(void **state)
{
    struct error err = {0};

    (void)state;
    fake = (struct fake){0};
    clock_fake_init(&fake.clock, 1000000);
    fake.config = sample_config("{identity: test, leaderElection: {enabled: false}}");
    fake.controller.config = fake.config;
    fake.controller.engines[0] = &fake.engine.base;
    fake.controller.index = index_new(fake.controller.engines);
    fake.controller.is_items_synced = fake.engine.is_synced = true;
    fake.engine.base = (struct engine){.class = &POD_ENGINE, .controller = &fake.controller};
    return loop_new(&fake.clock.clock, &fake.controller.loop, &err);
}

static int tear_down(void **state)
{
    (void)state;
    index_free(fake.controller.index);
    loop_free(fake.controller.loop);
    config_free(fake.config);
    return 0;
}

#define GONE "get deployitems \"team/gone\": deployitems." LANDSCAPER_GROUP " \"gone\" not found"

static void objects_are_deleted_if_the_api_server_reports_their_item_as_not_found(void **state)
{
    (void)state;
    fake.item = (struct answer){ERROR_NOT_FOUND, GONE};
    run_pass();
    assert_int_equal(fake.item_requests, 1);
    assert_true(fake.removals >= 5);
}

/* Responses from which it is not known whether the item exists. */
static const struct answer doubts[] = {
    {ERROR_NONE, NULL},
    {ERROR_INVALID, "HTTP status 418"},
    {ERROR_DENIED, "Forbidden"},
    {ERROR_EXISTS, "exists"},
    {ERROR_CONFLICT, "conflict"},
    {ERROR_GONE, "410"},
    {ERROR_TOO_LARGE, "too large"},
    {ERROR_TEMPORARY, "503"},
    {ERROR_CANCELLED, "no longer the leader"},
    {ERROR_INTERNAL, "a bug"},
    /* From a proxy, from an API server without the CustomResourceDefinition, for another item. */
    {ERROR_NOT_FOUND, "get deployitems \"team/gone\": HTTP status 404 Not Found"},
    {ERROR_NOT_FOUND, "get deployitems \"team/gone\": 404 page not found"},
    {ERROR_NOT_FOUND,
     "get deployitems \"team/gone\": the server could not find the requested resource"},
    {ERROR_NOT_FOUND,
     "get deployitems \"team/gone\": deployitems." LANDSCAPER_GROUP " \"gone-too\" not found"},
};

static void objects_are_kept_on_any_doubt_about_their_item(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(doubts); i++) {
        fake.item = doubts[i];
        run_pass();
        assert_int_equal(fake.item_requests, 1);
        if (fake.removals)
            fail_msg("%s: %zu removals", doubts[i].text ? doubts[i].text : "there", fake.removals);
    }
}

static void objects_of_an_item_in_the_watch_cache_are_kept(void **state)
{
    (void)state;
    index_add(fake.controller.index, "team", "gone")->is_known = true;
    fake.item = (struct answer){ERROR_NOT_FOUND, GONE};
    run_pass();
    assert_int_equal(fake.item_requests, 0);
    assert_int_equal(fake.removals, 0);
}

static void
objects_are_kept_while_it_is_unknown_whether_another_deployer_owns_the_item(void **state)
{
    static const enum error_kind kinds[] = {ERROR_DENIED, ERROR_NOT_FOUND, ERROR_TEMPORARY};

    (void)state;
    fake.item = (struct answer){ERROR_NOT_FOUND, GONE};
    for (size_t i = 0; i < array_length(kinds); i++) {
        fake.accounts = (struct answer){kinds[i], "list serviceaccounts"};
        run_pass();
        assert_int_equal(fake.removals, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            objects_are_deleted_if_the_api_server_reports_their_item_as_not_found, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(objects_are_kept_on_any_doubt_about_their_item, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(objects_of_an_item_in_the_watch_cache_are_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            objects_are_kept_while_it_is_unknown_whether_another_deployer_owns_the_item, set_up,
            tear_down),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
