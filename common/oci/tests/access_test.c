/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization: passwords and tokens, and which hosts never receive them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "world.h"

static void answer_basic(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    world_answer_manifest(data, request, answer);
    if (strcmp(request->authorization, "Basic dXNlcjpTRUNSRVQ=") == 0)
        return;
    answer->status = 401;
    answer->headers = "WWW-Authenticate: Basic realm=\"x\"\r\n";
}

static void a_password_is_sent_after_a_challenge_and_then_without_one(void **state)
{
    struct world *world = world_new(answer_basic);

    (void)state;
    world_add_user(world);
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_string_equal(world->requests[0].authorization, "");
    assert_int_equal(world->count, 2);
    world_get_manifest(world, "2.0");
    assert_int_equal(world->count, 3);
    world_end(world);
}

static void a_missing_or_wrong_password_is_final(void **state)
{
    struct world *world = world_new(answer_basic);
    const struct credential wrong = {.username = "user", .password = "WRONG"};
    struct error err = {0};

    (void)state;
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_DENIED);
    assert_int_equal(world->count, 1);
    assert_int_equal(keyring_add(world->keyring, world->host, &wrong, &err), 0);
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_DENIED);
    assert_int_equal(world->count, 3);
    assert_null(strstr(world->err.text, "WRONG"));
    world_end(world);
}

static char challenge[256];

static void answer_bearer(void *data, const struct fake_request *request,
                          struct fake_answer *answer)
{
    if (strncmp(request->path, "/token", 6) == 0) {
        answer->body = "{\"token\": \"T\", \"expires_in\": 300}";
        answer->size = strlen(answer->body);
        return;
    }
    world_answer_manifest(data, request, answer);
    if (strcmp(request->authorization, "Bearer T") == 0)
        return;
    answer->status = 401;
    answer->headers = challenge;
}

static void set_challenge(const struct world *world, const char *realm_host)
{
    (void)snprintf(challenge, sizeof(challenge),
                   "WWW-Authenticate: Bearer realm=\"http://%s:%d/token\",service=\"s\"\r\n",
                   realm_host, fake_registry_port(world->server));
}

static void waiting_calls_share_one_token_request(void **state)
{
    struct world *world = world_new(answer_bearer);

    (void)state;
    world_add_user(world);
    set_challenge(world, "127.0.0.1");
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_int_equal(world->count, 3);
    assert_string_equal(world->requests[1].path,
                        "/token?service=s&scope=repository%3Asome%2Frepo%3Apull");
    assert_string_equal(world->requests[1].authorization, "Basic dXNlcjpTRUNSRVQ=");
    /* Four calls for another repository: one token request, and no 401. */
    for (int i = 0; i < 4; i++)
        world_start_manifest(world, "other/repo", "1.0");
    world_run_until(world, 5);
    assert_int_equal(world->count, 3 + 1 + 4);
    assert_int_equal(world_count_paths(world, "/token"), 2);
    world_end(world);
}

static void an_expired_token_is_renewed(void **state)
{
    struct world *world = world_new(answer_bearer);

    (void)state;
    set_challenge(world, "127.0.0.1");
    world_get_manifest(world, "1.0");
    clock_fake_advance(&world->clock, 280 * 1000);
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_int_equal(world_count_paths(world, "/token"), 2);
    assert_int_equal(world_count_paths(world, "/v2/"), 3);
    world_end(world);
}

static void a_foreign_realm_gets_no_credentials(void **state)
{
    struct world *world = world_new(answer_bearer);

    (void)state;
    world_add_user(world);
    set_challenge(world, "localhost");
    world_get_manifest(world, "1.0");
    assert_int_equal(world_count_paths(world, "/token"), 1);
    assert_string_equal(world->requests[1].authorization, "");
    world_end(world);
}

static void a_foreign_realm_gets_the_credentials_of_its_own_entry(void **state)
{
    struct world *world = world_new(answer_bearer);
    const struct credential realm = {.username = "r", .password = "r"};
    struct error err = {0};

    (void)state;
    world_add_user(world);
    assert_int_equal(keyring_add(world->keyring, "localhost", &realm, &err), 0);
    set_challenge(world, "localhost");
    world_get_manifest(world, "1.0");
    assert_string_equal(world->requests[1].authorization, "Basic cjpy");
    world_end(world);
}

static void answer_never(void *data, const struct fake_request *request, struct fake_answer *answer)
{
    answer_bearer(data, request, answer);
    if (strncmp(request->path, "/token", 6) == 0)
        return;
    answer->status = 401;
    answer->headers = challenge;
}

static void a_rejected_token_is_requested_once(void **state)
{
    struct world *world = world_new(answer_never);

    (void)state;
    world_add_user(world);
    set_challenge(world, "127.0.0.1");
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_DENIED);
    assert_int_equal(world_count_paths(world, "/v2/"), 2);
    assert_int_equal(world_count_paths(world, "/token"), 1);
    world_end(world);
}

static void answer_refresh(void *data, const struct fake_request *request,
                           struct fake_answer *answer)
{
    answer_bearer(data, request, answer);
    if (strncmp(request->path, "/token", 6) == 0 && strcmp(request->method, "POST") == 0)
        answer->status = ((struct world *)data)->status;
}

static void an_identity_token_is_exchanged_or_used_as_password(void **state)
{
    (void)state;
    for (int knows_oauth = 0; knows_oauth <= 1; knows_oauth++) {
        struct world *world = world_new(answer_refresh);
        const struct credential credential = {.username = "u", .identity_token = "ID"};
        struct error err = {0};

        world->status = knows_oauth ? 200 : 404;
        assert_int_equal(keyring_add(world->keyring, world->host, &credential, &err), 0);
        set_challenge(world, "127.0.0.1");
        world_get_manifest(world, "1.0");
        assert_int_equal(world->err.kind, ERROR_NONE);
        assert_string_equal(world->requests[1].method, "POST");
        assert_non_null(strstr(world->requests[1].body, "refresh_token=ID"));
        assert_string_equal(world->requests[1].authorization, "");
        if (!knows_oauth)
            assert_string_equal(world->requests[2].authorization, "Basic dTpJRA==");
        world_end(world);
    }
}

static void answer_token_status(void *data, const struct fake_request *request,
                                struct fake_answer *answer)
{
    int status = ((struct world *)data)->status;

    answer_bearer(data, request, answer);
    if (strncmp(request->path, "/token", 6) != 0)
        return;
    answer->is_dropped = status == 0;
    answer->status = status;
}

static const struct {
    int status; /* 0: hangs up */
    bool has_user;
    enum error_kind kind;
    const char *expected;
} token_answers[] = {
    {401, true, ERROR_DENIED, "the token server of registry \"%s\" rejected the credentials (401)"},
    {403, false, ERROR_DENIED,
     "the token server of registry \"%s\" rejected anonymous access (403)"},
    {418, false, ERROR_INVALID, "the token server of registry \"%s\" responded with 418"},
    {429, false, ERROR_TEMPORARY, "the token server of registry \"%s\" responded with 429"},
    {503, false, ERROR_TEMPORARY, "the token server of registry \"%s\" responded with 503"},
    {0, false, ERROR_TEMPORARY, "token server of registry \"%s\": "},
};

static void errors_of_the_token_server_name_the_registry(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(token_answers); i++) {
        struct world *world = world_new(answer_token_status);
        char expected[256];

        world->status = token_answers[i].status;
        if (token_answers[i].has_user)
            world_add_user(world);
        set_challenge(world, "127.0.0.1");
        world_get_manifest(world, "1.0");
        (void)snprintf(expected, sizeof(expected), "%.*s%s%s",
                       (int)strcspn(token_answers[i].expected, "%"), token_answers[i].expected,
                       world->host, strchr(token_answers[i].expected, '%') + 2);
        if (world->err.kind != token_answers[i].kind || !strstr(world->err.text, expected))
            fail_msg("'%s' does not contain '%s'", world->err.text, expected);
        assert_null(strstr(world->err.text, "SECRET"));
        world_end(world);
    }
}

static void a_realm_that_is_not_a_url_is_refused(void **state)
{
    struct world *world = world_new(answer_bearer);

    (void)state;
    (void)snprintf(challenge, sizeof(challenge), "WWW-Authenticate: Bearer realm=\"nonsense\"\r\n");
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_INVALID);
    assert_non_null(strstr(world->err.text, "token server (realm) is not a URL"));
    assert_int_equal(world->count, 1);
    world_end(world);
}

static char location[256];

static void answer_redirect(void *data, const struct fake_request *request,
                            struct fake_answer *answer)
{
    answer_basic(data, request, answer);
    if (strncmp(request->path, "/elsewhere", 10) == 0) {
        world_answer_manifest(data, request, answer);
        answer->status = 200;
        return;
    }
    if (answer->status == 200) {
        answer->status = 307;
        answer->headers = location;
    }
}

static void a_redirect_to_another_host_gets_no_credentials(void **state)
{
    struct world *world = world_new(answer_redirect);

    (void)state;
    world_add_user(world);
    (void)snprintf(location, sizeof(location), "Location: http://localhost:%d/elsewhere\r\n",
                   fake_registry_port(world->server));
    world_get_manifest(world, "1.0");
    assert_int_equal(world->err.kind, ERROR_NONE);
    assert_int_equal(world->count, 3);
    assert_string_equal(world->requests[1].authorization, "Basic dXNlcjpTRUNSRVQ=");
    assert_string_equal(world->requests[2].path, "/elsewhere");
    assert_string_equal(world->requests[2].authorization, "");
    world_end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_password_is_sent_after_a_challenge_and_then_without_one),
        cmocka_unit_test(a_missing_or_wrong_password_is_final),
        cmocka_unit_test(waiting_calls_share_one_token_request),
        cmocka_unit_test(an_expired_token_is_renewed),
        cmocka_unit_test(a_foreign_realm_gets_no_credentials),
        cmocka_unit_test(a_foreign_realm_gets_the_credentials_of_its_own_entry),
        cmocka_unit_test(a_rejected_token_is_requested_once),
        cmocka_unit_test(an_identity_token_is_exchanged_or_used_as_password),
        cmocka_unit_test(errors_of_the_token_server_name_the_registry),
        cmocka_unit_test(a_realm_that_is_not_a_url_is_refused),
        cmocka_unit_test(a_redirect_to_another_host_gets_no_credentials),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
