/* SPDX-License-Identifier: Apache-2.0 */
/* The client is replaced (linker --wrap) by an in-memory store of Secrets that behaves like an API
 * server. Tests inject lost responses and writes of other clients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/kube/list.h"
#include "common/state/generation.h"
#include "wait/secrets.h"
#include "wait/sink.h"

#define EXPORT_NAME "ns-item-export"
#define REPORT_NAME "item-report"

static struct fake {
    struct clock_fake clock;
    struct loop *loop;
    json_t *secrets; /* by name */
    int64_t version; /* of the last write */
    int gets, creates, updates;
    int lost_answers;            /* the next requests are executed, but their responses are lost */
    enum error_kind refusal;     /* of all requests; ERROR_NONE: none */
    void (*before_update)(void); /* a write of another client */
    void (*before_get)(void);
    struct kube_request pending; /* on_done NULL: none */
    json_t *answer;
    struct error failure;
    struct kube_list_options list; /* on_done NULL: none in progress */
    bool is_list_lost;
    int cancelled_lists;
    struct observed observed;
    struct deadline deadline;
    struct settings settings;
    struct sink *sink;
} fake;

static const struct origin origin = {
    .item_name = "item", .item_namespace = "ns", .job = "job", .pod_uid = "uid", .sequence = 100};

int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err);
void __wrap_kube_cancel(struct kube_call *call);
struct loop *__wrap_kube_loop(struct kube *kube);
int __wrap_kube_list_start(struct kube *kube, const struct kube_list_options *options,
                           struct kube_list **ret_list, struct error *err);
void __wrap_kube_list_cancel(struct kube_list *list);
int __wrap_loop_run_once(struct loop *loop, int max_wait_ms, struct error *err);

static void put_secret(const char *name, json_t *secret)
{
    cleanup_free char *version = xasprintf("%lld", (long long)++fake.version);

    doc_set_text(secret, "metadata.resourceVersion", version);
    (void)json_object_set_new(fake.secrets, name, secret);
}

static enum error_kind create(const json_t *body)
{
    const char *name = doc_text(body, "metadata.name");

    fake.creates++;
    assert_non_null(name);
    if (json_object_get(fake.secrets, name))
        return ERROR_EXISTS;
    put_secret(name, json_deep_copy(body));
    return ERROR_NONE;
}

static enum error_kind update(const char *name, const json_t *body)
{
    const json_t *existing = NULL;

    fake.updates++;
    if (fake.before_update)
        fake.before_update();
    existing = json_object_get(fake.secrets, name);
    if (!existing)
        return ERROR_NOT_FOUND;
    /* Without a version an update is unconditional. */
    if (doc_text(body, "metadata.resourceVersion") &&
        strcmp(doc_text(body, "metadata.resourceVersion"),
               doc_text_or(existing, "metadata.resourceVersion", "")) != 0)
        return ERROR_CONFLICT;
    put_secret(name, json_deep_copy(body));
    return ERROR_NONE;
}

static enum error_kind get(const char *name)
{
    fake.gets++;
    if (fake.before_get)
        fake.before_get();
    return json_object_get(fake.secrets, name) ? ERROR_NONE : ERROR_NOT_FOUND;
}

int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err)
{
    enum error_kind kind = ERROR_INTERNAL;
    const char *name = request->name ? request->name : doc_text(request->body, "metadata.name");

    (void)kube;
    (void)err;
    assert_string_equal(request->namespace_name, "host");
    if (fake.refusal != ERROR_NONE)
        kind = fake.refusal;
    else if (request->verb == KUBE_CREATE)
        kind = create(request->body);
    else if (request->verb == KUBE_UPDATE)
        kind = update(name, request->body);
    else if (request->verb == KUBE_GET)
        kind = get(name);
    fake.failure = (struct error){.kind = kind, .text = "refused"};
    fake.answer = kind == ERROR_NONE ? json_deep_copy(json_object_get(fake.secrets, name)) : NULL;
    fake.pending = *request;
    *ret_call = (struct kube_call *)&fake.pending;
    return 0;
}

void __wrap_kube_cancel(struct kube_call *call)
{
    if (call)
        fake.pending.on_done = NULL;
}

struct loop *__wrap_kube_loop(struct kube *kube)
{
    (void)kube;
    return fake.loop;
}

int __wrap_kube_list_start(struct kube *kube, const struct kube_list_options *options,
                           struct kube_list **ret_list, struct error *err)
{
    (void)kube;
    (void)err;
    assert_true(options->is_metadata_only);
    assert_string_equal(options->namespace_name, "host");
    fake.list = *options;
    *ret_list = (struct kube_list *)&fake.list;
    return 0;
}

void __wrap_kube_list_cancel(struct kube_list *list)
{
    assert_ptr_equal(list, &fake.list);
    fake.list.on_done = NULL;
    fake.cancelled_lists++;
}

static void answer_list(void)
{
    kube_listed_fn *on_done = fake.list.on_done;
    struct error result = {.kind = fake.refusal, .text = "refused"};
    const char *name = NULL;
    json_t *secret = NULL;

    /* A list may also fail after it has delivered objects. */
    json_object_foreach(fake.secrets, name, secret) fake.list.on_item(fake.list.data, secret, NULL);
    fake.list.on_done = NULL;
    on_done(fake.list.data, fake.refusal == ERROR_NONE ? "1" : NULL, &result);
}

int __wrap_loop_run_once(struct loop *loop, int max_wait_ms, struct error *err)
{
    kube_done_fn *on_done = fake.pending.on_done;

    (void)loop;
    (void)err;
    if (fake.list.on_done && !fake.is_list_lost) {
        answer_list();
        return 0;
    }
    if (on_done && fake.lost_answers > 0) {
        fake.lost_answers--;
        fake.failure = (struct error){.kind = ERROR_TEMPORARY, .text = "connection reset"};
        json_decref(fake.answer);
        fake.answer = NULL;
    }
    if (on_done) {
        fake.pending.on_done = NULL;
        on_done(fake.pending.data, fake.answer, &fake.failure);
        json_decref(fake.answer);
        fake.answer = NULL;
    }
    clock_fake_advance(&fake.clock, max_wait_ms > 0 ? (uint64_t)max_wait_ms : 1);
    return 0;
}

static int set_up(void **state)
{
    struct error err = {0};

    (void)state;
    fake = (struct fake){.secrets = json_object()};
    clock_fake_init(&fake.clock, 1700000000000);
    fake.observed = (struct observed){.end = {.kind = MAIN_ENDED}, .grace_ms = 630000};
    fake.settings = (struct settings){.pod_namespace = "host",
                                      .item_name = "item",
                                      .item_namespace = "ns",
                                      .report_name = REPORT_NAME};
    if (loop_new(&fake.clock.clock, &fake.loop, &err) < 0)
        return -1;
    fake.deadline =
        (struct deadline){.loop = fake.loop, .observed = &fake.observed, .request_ms = 30000};
    fake.sink = sink_kube_new(NULL, &fake.settings, &fake.deadline);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sink_free(fake.sink);
    loop_free(fake.loop);
    json_decref(fake.secrets);
    return 0;
}

/* ---- state ---- */

static int write_chunk(int64_t number, struct error *err)
{
    struct state_summary summary = {.chunk_count = 2};
    struct generation generation = {.origin = &origin, .summary = &summary, .uuid = "u-u-i-d"};

    return fake.sink->operations->write_chunk(fake.sink, &generation, number, "bytes", 5, err);
}

static void a_chunk_is_one_create(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(write_chunk(1, &err), 0);
    assert_int_equal(write_chunk(0, &err), 0);
    assert_int_equal(fake.creates, 2);
    assert_int_equal(json_object_size(fake.secrets), 2);
    assert_non_null(json_object_get(fake.secrets, "state-ns-item-u-u-i-d-0"));
}

/* Names contain a new uuid, so an existing chunk is the one whose response was lost. */
static void a_chunk_that_exists_after_a_lost_answer_is_stored(void **state)
{
    struct error err = {0};

    (void)state;
    fake.lost_answers = 1;
    assert_int_equal(write_chunk(0, &err), 0);
    assert_int_equal(fake.creates, 2);
    assert_int_equal(json_object_size(fake.secrets), 1);
}

static void an_error_names_the_chunk(void **state)
{
    struct error err = {0};

    (void)state;
    fake.refusal = ERROR_DENIED;
    assert_int_equal(write_chunk(1, &err), -1);
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "chunk 2 of 2"));
}

/* ---- the last generation ---- */

static void store_generation(const char *item_name, const char *uuid, int64_t sequence)
{
    struct origin other = origin;
    struct state_summary summary = {.chunk_count = 1};
    struct generation generation = {.origin = &other, .summary = &summary};
    cleanup_free char *name = xasprintf("state-%s", uuid);

    other.item_name = item_name;
    other.sequence = sequence;
    (void)snprintf(generation.uuid, sizeof(generation.uuid), "%s", uuid);
    memset(summary.sha256, uuid[0], sizeof(summary.sha256) - 1);
    put_secret(name, secret_state_chunk(name, &generation, 0, "x", 1));
    doc_set_text(json_object_get(fake.secrets, name), "metadata.name", name);
}

static void the_last_generation_is_the_newest_of_this_item(void **state)
{
    struct last_generation last = {0};
    struct error err = {0};

    (void)state;
    store_generation("item", "a", 7);
    store_generation("item", "b", 9);
    store_generation("item", "c", 8);
    store_generation("other", "d", 99); /* with the labels of our item */
    assert_int_equal(fake.sink->operations->read_last(fake.sink, &last, &err), 0);
    assert_int_equal(last.sequence, 9);
    assert_int_equal(strlen(last.sha256), 64);
    assert_int_equal(strspn(last.sha256, "b"), 64);
    assert_non_null(strstr(fake.list.label_selector, LABEL_TYPE "=" LABEL_TYPE_STATE));
}

static void a_failed_list_changes_nothing(void **state)
{
    struct last_generation last = {.sequence = 5};
    struct error err = {0};

    (void)state;
    store_generation("item", "a", 7);
    fake.refusal = ERROR_DENIED;
    assert_int_equal(fake.sink->operations->read_last(fake.sink, &last, &err), -1);
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "list the state Secrets"));
    assert_int_equal(last.sequence, 5);
    assert_int_equal(fake.cancelled_lists, 0);
}

static void a_list_without_an_answer_ends_after_a_minute(void **state)
{
    uint64_t started_ms = fake.clock.monotonic_now_ms;
    struct last_generation last = {0};
    struct error err = {0};

    (void)state;
    fake.is_list_lost = true;
    assert_int_equal(fake.sink->operations->read_last(fake.sink, &last, &err), -1);
    assert_int_equal(err.kind, ERROR_TEMPORARY);
    assert_int_equal(fake.clock.monotonic_now_ms - started_ms, 60000);
    assert_int_equal(fake.cancelled_lists, 1);
}

/* ---- exports ---- */

static int put_exports(const char *text, struct error *err)
{
    return fake.sink->operations->put_exports(fake.sink, &origin, text, strlen(text), err);
}

/* Written by another run of the item. */
static void write_export(const char *job, int64_t sequence, const char *text)
{
    struct origin other = origin;

    other.job = job;
    other.sequence = sequence;
    put_secret(EXPORT_NAME, secret_export(EXPORT_NAME, NULL, &other, text, strlen(text)));
}

static void assert_export(const char *job, const char *text)
{
    const json_t *secret = json_object_get(fake.secrets, EXPORT_NAME);
    cleanup_free char *encoded = base64_encode(text, strlen(text));

    assert_non_null(secret);
    assert_string_equal(doc_text_or(secret, "data.config", ""), encoded);
    assert_string_equal(
        json_string_value(doc_member(doc_get(secret, "metadata.annotations"), ANNOTATION_JOB)),
        job);
}

static void an_export_is_created_or_replaces_that_of_an_earlier_run(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(put_exports("a: 1", &err), 0);
    assert_export("job", "a: 1");
    assert_int_equal(fake.creates, 1);
    assert_int_equal(fake.gets, 0);
    write_export("earlier", 99, "old: 1");
    assert_int_equal(put_exports("a: 2", &err), 0);
    assert_export("job", "a: 2");
}

static void an_export_of_a_newer_run_is_left_alone(void **state)
{
    struct error err = {0};

    (void)state;
    write_export("newer", 101, "new: 1");
    assert_int_equal(put_exports("a: 1", &err), -1);
    assert_non_null(strstr(err.text, "newer run"));
    assert_export("newer", "new: 1");
    assert_int_equal(fake.updates, 0);
}

static void clear_leaves_a_newer_export_alone_and_creates_none(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(fake.sink->operations->clear_exports(fake.sink, &origin, &err), 0);
    assert_int_equal(json_object_size(fake.secrets), 0);
    write_export("newer", 101, "new: 1");
    assert_int_equal(fake.sink->operations->clear_exports(fake.sink, &origin, &err), 0);
    assert_export("newer", "new: 1");
    write_export("earlier", 99, "old: 1");
    assert_int_equal(fake.sink->operations->clear_exports(fake.sink, &origin, &err), 0);
    assert_export("job", "");
}

static void a_lost_response_is_recovered_from(void **state)
{
    struct error err = {0};

    (void)state;
    fake.lost_answers = 1; /* of the create */
    assert_int_equal(put_exports("a: 1", &err), 0);
    assert_export("job", "a: 1");
    assert_int_equal(fake.updates, 1);
}

static void write_earlier_once(void)
{
    fake.before_update = NULL;
    write_export("in between", 98, "between: 1");
}

static void write_newer_once(void)
{
    fake.before_update = NULL;
    write_export("newer", 101, "new: 1");
}

static void write_always(void)
{
    write_export("in between", 98, "between: 1");
}

static void remove_once(void)
{
    fake.before_get = NULL;
    (void)json_object_del(fake.secrets, EXPORT_NAME);
}

static void after_a_conflict_the_export_is_read_again(void **state)
{
    struct error err = {0};

    (void)state;
    write_export("earlier", 99, "old: 1");
    fake.before_update = write_earlier_once;
    assert_int_equal(put_exports("a: 1", &err), 0);
    assert_export("job", "a: 1");
    assert_int_equal(fake.updates, 2);
    write_export("earlier", 99, "old: 1");
    fake.before_update = write_newer_once;
    assert_int_equal(put_exports("a: 1", &err), -1);
    assert_export("newer", "new: 1");
}

static void an_export_deleted_in_between_is_created_again(void **state)
{
    struct error err = {0};

    (void)state;
    write_export("earlier", 99, "old: 1");
    fake.before_get = remove_once;
    assert_int_equal(put_exports("a: 1", &err), 0);
    assert_export("job", "a: 1");
    assert_int_equal(fake.creates, 2);
}

static void an_export_that_others_keep_changing_is_an_error(void **state)
{
    struct error err = {0};

    (void)state;
    write_export("earlier", 99, "old: 1");
    fake.before_update = write_always;
    assert_int_equal(put_exports("a: 1", &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, EXPORT_NAME));
    assert_int_equal(fake.updates, 20);
}

static const char *reported(const char *key)
{
    const json_t *annotations =
        doc_get(json_object_get(fake.secrets, REPORT_NAME), "metadata.annotations");

    return json_string_value(doc_member(annotations, key));
}

static void a_report_replaces_the_one_before_and_that_of_an_earlier_run(void **state)
{
    struct save_progress progress = {.chunks = 9, .stored = 1};
    struct error err = {0};

    (void)state;
    fake.lost_answers = 1; /* it is created nevertheless */
    assert_int_equal(fake.sink->operations->report_progress(fake.sink, &origin, &progress, &err),
                     0);
    assert_string_equal(reported(ANNOTATION_SNAPSHOT), SNAPSHOT_SAVING);
    assert_string_equal(reported(ANNOTATION_CHUNKS_STORED), "1");
    progress = (struct save_progress){.is_done = true, .chunks = 9, .stored = 9};
    assert_int_equal(fake.sink->operations->report_progress(fake.sink, &origin, &progress, &err),
                     0);
    assert_string_equal(reported(ANNOTATION_SNAPSHOT), SNAPSHOT_SAVED);
    fake.refusal = ERROR_DENIED;
    assert_int_equal(fake.sink->operations->report_progress(fake.sink, &origin, &progress, &err),
                     -1);
    assert_non_null(strstr(err.text, REPORT_NAME));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)
        TEST(a_chunk_is_one_create),
        TEST(a_chunk_that_exists_after_a_lost_answer_is_stored),
        TEST(an_error_names_the_chunk),
        TEST(the_last_generation_is_the_newest_of_this_item),
        TEST(a_failed_list_changes_nothing),
        TEST(a_list_without_an_answer_ends_after_a_minute),
        TEST(an_export_is_created_or_replaces_that_of_an_earlier_run),
        TEST(an_export_of_a_newer_run_is_left_alone),
        TEST(clear_leaves_a_newer_export_alone_and_creates_none),
        TEST(a_lost_response_is_recovered_from),
        TEST(after_a_conflict_the_export_is_read_again),
        TEST(an_export_deleted_in_between_is_created_again),
        TEST(an_export_that_others_keep_changing_is_an_error),
        TEST(a_report_replaces_the_one_before_and_that_of_an_earlier_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
