/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "common/archive/gzip.h"
#include "common/base/clock.h"
#include "deployer/page/page.h"
#include "deployer/page/tests/ask.h"

static const struct page_kind kinds[] = {
    {.name = "things",
     .title = "Things",
     .type_title = "Type",
     .states = {{"Good", "good"}, {"Bad", "bad"}}},
};

/* Describes "later" never, "gone" as missing, and everything else at once. */
static void detail(void *data, size_t kind, const char *namespace_name, const char *name,
                   struct page_detail *detail)
{
    (void)data, (void)kind, (void)namespace_name;
    if (strcmp(name, "later") == 0)
        return;
    page_detail_answer(detail, strcmp(name, "gone") == 0 ? NULL : json_object(), NULL);
}

static const struct page_source SOURCE = {
    .program = "test", .kinds = kinds, .kind_count = 1, .has_runs = true, .detail = detail};

struct place {
    struct clock_fake clock;
    struct asker asker;
    struct page *page;
};

static int set_up(void **state)
{
    struct place *place = xcalloc(1, sizeof(*place));
    struct page_options options = {.source = &SOURCE};

    clock_fake_init(&place->clock, (int64_t)1700000000 * 1000);
    if (ask_start(&place->asker, &place->clock.clock) < 0)
        return -1;
    options.loop = place->asker.loop;
    place->page = page_new(&options);
    page_attach(place->page, place->asker.server);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    server_free(place->asker.server);
    page_free(place->page);
    loop_free(place->asker.loop);
    free(place);
    return 0;
}

static void add(struct place *place, const char *name, uint8_t state_number)
{
    const struct row row = {.namespace_name = "ns",
                            .name = name,
                            .type = "t",
                            .reason = "",
                            .state = state_number,
                            .changed_unix_ms = 1000};

    page_set_row(place->page, 0, &row);
}

static void every_path_has_a_status(void **state)
{
    static const struct {
        const char *path;
        int status;
    } cases[] = {
        {"/ui", 308},
        {"/ui/", 200},
        {"/ui/../etc/passwd", 404},
        {"/ui/other", 404},
        {"/ui/api/v1/overview", 200},
        {"/ui/api/v1/rows", 200},
        {"/ui/api/v1/rows?kind=things&state=Good,Bad&order=name&limit=200&offset=5", 200},
        {"/ui/api/v1/rows?kind=others", 400},
        {"/ui/api/v1/rows?state=Ugly", 400},
        {"/ui/api/v1/rows?order=random", 400},
        {"/ui/api/v1/rows?limit=0", 400},
        {"/ui/api/v1/rows?limit=201", 400},
        {"/ui/api/v1/rows?offset=-1", 400},
        {"/ui/api/v1/namespaces", 200},
        {"/ui/api/v1/namespaces?kind=things&search=n&limit=200&offset=5", 200},
        {"/ui/api/v1/namespaces?kind=others", 400},
        {"/ui/api/v1/namespaces?limit=0", 400},
        {"/ui/api/v1/namespaces?offset=x", 400},
        {"/ui/api/v1/row", 400},
        {"/ui/api/v1/row?namespace=ns&name=missing", 404},
        {"/ui/api/v1/row?namespace=ns&name=gone", 404},
        {"/ui/api/v1/row?namespace=ns&name=a", 200},
        {"/ui/api/v1/row?kind=others&namespace=ns&name=a", 400},
        {"/ui/api/v2/rows", 404},
    };
    struct place *place = *state;

    add(place, "a", 0);
    add(place, "gone", 0);
    for (size_t i = 0; i < array_length(cases); i++) {
        assert_int_equal(ask(&place->asker, cases[i].path), cases[i].status);
        if (cases[i].status != 308)
            assert_non_null(
                strstr(place->asker.answer, "\r\nContent-Security-Policy: default-src 'none'"));
    }
}

static void other_hosts_are_refused_without_authentication(void **state)
{
    struct place *place = *state;

    assert_int_equal(ask_from(&place->asker, "/ui/api/v1/overview", "attacker.example"), 403);
    assert_int_equal(ask_from(&place->asker, "/ui/", "attacker.example"), 403);
    assert_int_equal(ask_from(&place->asker, "/ui/api/v1/overview", "localhost"), 200);
}

static void the_api_lists_and_counts_rows(void **state)
{
    struct place *place = *state;
    json_t *doc = NULL;

    add(place, "a", 0);
    add(place, "b", 1);
    assert_int_equal(ask(&place->asker, "/ui/api/v1/rows?state=Bad"), 200);
    doc = ask_document(&place->asker);
    assert_int_equal(doc_integer_or(doc, "total", -1), 1);
    assert_string_equal(doc_text(json_array_get(doc_member(doc, "rows"), 0), "name"), "b");
    assert_string_equal(doc_text(json_array_get(doc_member(doc, "rows"), 0), "state"), "Bad");
    json_decref(doc);
    page_remove_row(place->page, 0, "ns", "b");
    assert_int_equal(ask(&place->asker, "/ui/api/v1/overview"), 200);
    doc = ask_document(&place->asker);
    assert_int_equal(doc_integer_or(json_array_get(doc_member(doc, "kinds"), 0), "total", -1), 1);
    assert_int_equal(json_array_size(doc_member(doc, "minutes")), HISTORY_MINUTES);
    json_decref(doc);
}

static void the_api_lists_and_counts_namespaces(void **state)
{
    struct place *place = *state;
    json_t *doc = NULL;

    add(place, "a", 0);
    add(place, "b", 1);
    page_set_row(place->page, 0,
                 &(struct row){.namespace_name = "other", .name = "c", .type = "", .reason = ""});
    assert_int_equal(ask(&place->asker, "/ui/api/v1/namespaces?limit=1&offset=0"), 200);
    assert_non_null(strstr(place->asker.answer,
                           "\"total\":2,\"offset\":0,\"namespaces\":[{\"name\":\"ns\",\"total\":2,"
                           "\"counts\":{\"Good\":1,\"Bad\":1}}]"));
    assert_int_equal(ask(&place->asker, "/ui/api/v1/namespaces?search=THE"), 200);
    assert_non_null(strstr(place->asker.answer,
                           "\"total\":1,\"offset\":0,\"namespaces\":[{\"name\":"
                           "\"other\",\"total\":1,"));
    /* The counts of a list are those of its namespace, whatever its state and search. */
    assert_int_equal(ask(&place->asker, "/ui/api/v1/rows?namespace=other&state=Bad"), 200);
    doc = ask_document(&place->asker);
    assert_int_equal(doc_integer_or(doc, "total", -1), 0);
    assert_int_equal(doc_integer_or(doc, "counts.Good", -1), 1);
    assert_int_equal(doc_integer_or(doc, "counts.Bad", -1), 0);
    json_decref(doc);
    assert_int_equal(ask(&place->asker, "/ui/api/v1/rows?search=c"), 200);
    doc = ask_document(&place->asker);
    assert_int_equal(doc_integer_or(doc, "counts.Good", -1), 2);
    json_decref(doc);
}

/* The body of an answer in gzip. */
static void unpack(const struct asker *asker, struct buffer *ret_body)
{
    const char *body = strstr(asker->answer, "\r\n\r\n");
    struct error err = {0};

    assert_non_null(body);
    body += 4;
    buffer_init(ret_body, ASK_ANSWER_MAX);
    assert_int_equal(
        gzip_unpack(body, asker->size - (size_t)(body - asker->answer), ret_body, &err), 0);
}

static void answers_are_packed_for_clients_that_accept_it(void **state)
{
    static const char *const paths[] = {"/ui/", "/ui/api/v1/rows?limit=200"};
    static const char HEADER[] = "\r\nContent-Encoding: gzip\r\n";
    struct place *place = *state;
    char name[16];

    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "row-%d", i);
        add(place, name, 0);
    }
    for (size_t i = 0; i < array_length(paths); i++) {
        cleanup_buffer struct buffer body = {0};
        cleanup_free char *plain = NULL;
        struct asker *asker = &place->asker;

        assert_int_equal(ask(asker, paths[i]), 200);
        assert_null(strstr(asker->answer, HEADER));
        assert_non_null(strstr(asker->answer, "\r\nVary: Accept-Encoding\r\n"));
        plain = xstrdup(strstr(asker->answer, "\r\n\r\n") + 4);
        /* The last header that ask.h writes is the host. */
        assert_int_equal(ask_from(asker, paths[i], "localhost\r\nAccept-Encoding: br, gzip"), 200);
        assert_non_null(strstr(asker->answer, HEADER));
        assert_non_null(strstr(asker->answer, "\r\nVary: Accept-Encoding\r\n"));
        assert_true(asker->size < strlen(plain) / 2);
        unpack(asker, &body);
        assert_string_equal(body.data, plain);
        assert_int_equal(ask_from(asker, paths[i], "localhost\r\nAccept-Encoding: gzip;q=0"), 200);
        assert_null(strstr(asker->answer, HEADER));
    }
    /* Not worth it, and a stream, which must arrive at once. */
    assert_int_equal(ask_from(&place->asker, "/ui/other", "localhost\r\nAccept-Encoding: gzip"),
                     404);
    assert_null(strstr(place->asker.answer, HEADER));
    assert_int_equal(
        ask_from(&place->asker, "/ui/api/v1/events", "localhost\r\nAccept-Encoding: gzip"), 200);
    assert_null(strstr(place->asker.answer, HEADER));
}

static void a_detail_contains_the_row_and_its_runs(void **state)
{
    const struct history_run run = {.namespace_name = "ns",
                                    .name = "a",
                                    .job = "job",
                                    .reason = "",
                                    .finished_unix_ms = (int64_t)1700000000 * 1000};
    struct place *place = *state;
    json_t *doc = NULL;

    add(place, "a", 0);
    page_add_run(place->page, &run);
    assert_int_equal(ask(&place->asker, "/ui/api/v1/row?namespace=ns&name=a"), 200);
    doc = ask_document(&place->asker);
    assert_string_equal(doc_text(doc, "row.name"), "a");
    assert_string_equal(doc_text(json_array_get(doc_member(doc, "runs"), 0), "job"), "job");
    json_decref(doc);
}

static void a_client_that_leaves_ends_its_request(void **state)
{
    struct place *place = *state;
    struct error err = {0};
    int fd = -1;

    add(place, "later", 0);
    fd = ask_send(&place->asker, "/ui/api/v1/row?namespace=ns&name=later", "localhost");
    ask_receive(&place->asker, fd);
    assert_string_equal(place->asker.answer, "");
    (void)close(fd);
    assert_int_equal(loop_run_once(place->asker.loop, 100, &err), 0);
    /* One that is still open is ended by tear_down(). */
    fd = ask_send(&place->asker, "/ui/api/v1/row?namespace=ns&name=later", "localhost");
    ask_receive(&place->asker, fd);
    (void)close(fd);
}

static void updates_are_collected_and_bounded(void **state)
{
    struct place *place = *state;
    int fd = ask_send(&place->asker, "/ui/api/v1/events", "localhost");
    char name[16];

    ask_receive(&place->asker, fd);
    assert_non_null(strstr(place->asker.answer, "\r\nContent-Type: text/event-stream\r\n"));
    assert_non_null(strstr(place->asker.answer, "event: update\ndata: {\"version\":0,"));
    add(place, "a", 0);
    add(place, "b", 1);
    ask_receive(&place->asker, fd);
    assert_string_equal(place->asker.answer, "");
    clock_fake_advance(&place->clock, PAGE_UPDATE_MS);
    ask_receive(&place->asker, fd);
    assert_non_null(strstr(place->asker.answer, "\"counts\":{\"things\":{\"Good\":1,\"Bad\":1}}"));
    assert_non_null(strstr(place->asker.answer, "\"changed\":[\"things/ns/a\",\"things/ns/b\"]"));
    for (int i = 0; i < PAGE_KEYS_MAX + 1; i++) {
        (void)snprintf(name, sizeof(name), "row-%d", i);
        add(place, name, 0);
    }
    clock_fake_advance(&place->clock, PAGE_UPDATE_MS);
    ask_receive(&place->asker, fd);
    assert_non_null(strstr(place->asker.answer, "\"changed\":null"));
    clock_fake_advance(&place->clock, PAGE_HEARTBEAT_MS);
    ask_receive(&place->asker, fd);
    assert_string_equal(place->asker.answer, ": still here\n\n");
    (void)close(fd);
}

static void the_number_of_streams_and_their_time_are_limited(void **state)
{
    struct place *place = *state;
    int fds[PAGE_STREAMS_MAX];

    for (size_t i = 0; i < PAGE_STREAMS_MAX; i++) {
        fds[i] = ask_send(&place->asker, "/ui/api/v1/events", "localhost");
        ask_receive(&place->asker, fds[i]);
        assert_memory_equal(place->asker.answer, "HTTP/1.1 200", 12);
    }
    assert_int_equal(ask(&place->asker, "/ui/api/v1/events"), 429);
    (void)close(fds[0]);
    fds[0] = ask_send(&place->asker, "/ui/api/v1/overview", "localhost"); /* notices the end */
    ask_receive(&place->asker, fds[0]);
    (void)close(fds[0]);
    fds[0] = ask_send(&place->asker, "/ui/api/v1/events", "localhost");
    ask_receive(&place->asker, fds[0]);
    assert_memory_equal(place->asker.answer, "HTTP/1.1 200", 12);
    clock_fake_advance(&place->clock, PAGE_STREAM_MS);
    for (size_t i = 0; i < PAGE_STREAMS_MAX; i++) {
        char byte = 0;

        ask_receive(&place->asker, fds[i]);
        assert_int_equal(recv(fds[i], &byte, 1, MSG_DONTWAIT), 0);
        (void)close(fds[i]);
    }
}

static void without_a_page_nothing_happens(void **state)
{
    const struct row row = {0};
    const struct history_run run = {0};

    (void)state;
    page_set_row(NULL, 0, &row);
    page_remove_row(NULL, 0, "ns", "a");
    page_add_run(NULL, &run);
    assert_null(page_find_row(NULL, 0, "ns", "a"));
    page_free(NULL);
}

static void only_the_first_line_of_a_message_is_shown(void **state)
{
    json_t *conditions =
        json_pack("[{s:s,s:s,s:s}]", "type", "T", "message", "one\ntwo", "secret", "three");
    json_t *shown = page_conditions(conditions);
    cleanup_free char *text = doc_dump(shown);

    (void)state;
    assert_string_equal(text, "[{\"type\":\"T\",\"message\":\"one\"}]");
    json_decref(shown);
    json_decref(conditions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_path_has_a_status, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_hosts_are_refused_without_authentication, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_api_lists_and_counts_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_api_lists_and_counts_namespaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_are_packed_for_clients_that_accept_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_detail_contains_the_row_and_its_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_leaves_ends_its_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(updates_are_collected_and_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_number_of_streams_and_their_time_are_limited, set_up,
                                        tear_down),
        cmocka_unit_test(without_a_page_nothing_happens),
        cmocka_unit_test(only_the_first_line_of_a_message_is_shown),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
