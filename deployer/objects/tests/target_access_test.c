/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/objects/target_access.h"
#include "deployer/tests/sample.h"

#define CONFIG(user)                                                                               \
    "{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "   \
    "'https://example.com'}}], contexts: [{name: a, context: {cluster: a, user: a}}], users: "     \
    "[{name: a, user: " user "}]}"

static int parse(const char *content, struct target_access *ret_access, struct error *err)
{
    return target_access_parse(content, strlen(content), ret_access, err);
}

static void a_kubeconfig_is_text_object_or_the_whole_content(void **state)
{
    static const char *const contents[] = {
        CONFIG("{token: t}"),
        "{kubeconfig: " CONFIG("{token: t}") "}",
        "{kubeconfig: \"" CONFIG("{token: t}") "\"}",
    };

    (void)state;
    for (size_t i = 0; i < array_length(contents); i++) {
        cleanup_target_access struct target_access access = {0};
        cleanup_kube_config struct kube_config *config = NULL;
        struct error err = {0};

        assert_int_equal(parse(contents[i], &access, &err), 0);
        assert_int_equal(access.kind, ACCESS_KUBECONFIG);
        if (target_access_config(&access, NULL, NULL, NULL, &config, &err) < 0)
            fail_msg("%s: %s", contents[i], err.text);
    }
}

/* F31: the same for the item's own Target and for second ones. */
static const struct {
    const char *content, *expected;
} refused[] = {
    {"", "no content"},
    {"text", "not a kubeconfig"},
    {"{kubeconfig: ''}", "empty"},
    {CONFIG("{tokenFile: /var/run/token}"), "token files"},
    {CONFIG("{client-certificate: a}"), "client certificate files"},
    {CONFIG("{client-key: a}"), "client key files"},
    {CONFIG("{exec: {command: CANARY}}"), "exec plug-ins"},
    {CONFIG("{auth-provider: {name: a, config: {b: CANARY}}}"), "auth providers"},
    {CONFIG("{as: CANARY}"), "impersonation"},
    {CONFIG("{as-groups: [CANARY]}"), "impersonation"},
    {"{current-context: a, clusters: [{name: a, cluster: {server: 'https://e', "
     "certificate-authority: /etc/CANARY}}], contexts: [{name: a, context: {cluster: a}}]}",
     "names a file"},
    {"{current-context: a, clusters: [{name: a, cluster: {server: 'https://e', proxy-url: "
     "'http://p'}}], contexts: [{name: a, context: {cluster: a}}]}",
     "proxy-url"},
    {"{kubeconfig: {secretRef: {name: CANARY}}}", "current-context is not set"},
    {"{oidcConfig: 5}", "oidcConfig must be an object"},
    {"{oidcConfig: {server: 'https://e'}}", "serviceAccount.name"},
    {"{oidcConfig: {serviceAccount: {name: a}}}", "server"},
    {"{oidcConfig: {server: 'http://e', serviceAccount: {name: a}}}", "not encrypted"},
    {"{oidcConfig: {server: 'https://e', serviceAccount: {name: a}, caData: CANARY!}}", "base64"},
    {"{oidcConfig: {server: 'https://e', serviceAccount: {name: a}, audience: [5]}}", "audience"},
    {"{selfConfig: {serviceAccount: {name: ../../CANARY}}}", "ServiceAccount"},
    {"{selfConfig: {serviceAccount: {name: a}, expirationSeconds: 1}}", "expirationSeconds"},
    {"{hostConfig: {serviceAccount: {name: a}}}", "serviceAccount.namespace"},
    {"{hostConfig: {serviceAccount: {name: ../CANARY, namespace: b}}}", "ServiceAccount"},
};

static void what_would_leave_the_configuration_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(refused); i++) {
        cleanup_target_access struct target_access access = {0};
        cleanup_kube_config struct kube_config *config = NULL;
        struct error err = {0};

        if (parse(refused[i].content, &access, &err) == 0 &&
            target_access_config(&access, "token", NULL, NULL, &config, &err) == 0)
            fail_msg("%s is accepted", refused[i].content);
        if (!strstr(err.text, refused[i].expected) || strstr(err.text, "CANARY"))
            fail_msg("%s: %s", refused[i].content, err.text);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

static void a_token_is_requested_as_the_target_says(void **state)
{
    static const struct {
        const char *content, *request, *key;
    } rows[] = {
        {"{oidcConfig: {server: 'https://e', caData: '', serviceAccount: {name: a}, audience: "
         "[b, c], expirationSeconds: 600}}",
         "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{"
         "\"expirationSeconds\":600,\"audiences\":[\"b\",\"c\"]}}",
         "n/a 600 [\"b\",\"c\"]"},
        {"{selfConfig: {serviceAccount: {name: a}}}",
         "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{"
         "\"expirationSeconds\":86400}}",
         "n/a 86400 "},
        {"{hostConfig: {serviceAccount: {name: a, namespace: b}}}",
         "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{"
         "\"expirationSeconds\":86400}}",
         "host b/a 86400"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_target_access struct target_access access = {0};
        cleanup_json json_t *request = NULL;
        cleanup_free char *text = NULL;
        cleanup_free char *key = NULL;
        struct error err = {0};

        assert_int_equal(parse(rows[i].content, &access, &err), 0);
        request = target_access_token_request(&access, access.seconds);
        text = doc_dump(request);
        assert_string_equal(text, rows[i].request);
        key = token_cache_key(&access, "n");
        assert_string_equal(key, rows[i].key);
    }
}

static void a_token_for_a_program_lives_as_long_as_the_program_may_run(void **state)
{
    static const struct {
        const char *seconds; /* of the Target */
        int64_t left_ms, expected;
    } rows[] = {
        {"86400", 20 * 60 * 1000, 20 * 60 + ACCESS_TOKEN_MARGIN_SECONDS},
        {"86400", 20 * 60 * 1000 + 1, 20 * 60 + 1 + ACCESS_TOKEN_MARGIN_SECONDS},
        /* The API server grants no shorter one. */
        {"86400", 0, ACCESS_TOKEN_SECONDS_MIN},
        {"86400", 1000, ACCESS_TOKEN_SECONDS_MIN},
        {"86400", (ACCESS_TOKEN_SECONDS_MIN - ACCESS_TOKEN_MARGIN_SECONDS) * 1000,
         ACCESS_TOKEN_SECONDS_MIN},
        /* Never longer than the Target says. */
        {"600", 20 * 60 * 1000, 600},
        {"3600", INT64_C(1) << 62, 3600},
        {"86400", INT64_MAX, 86400},
        /* The job has no limit. */
        {"7200", -1, 7200},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_free char *content = xasprintf(
            "{selfConfig: {serviceAccount: {name: a}, expirationSeconds: %s}}", rows[i].seconds);
        cleanup_target_access struct target_access access = {0};
        struct error err = {0};

        assert_int_equal(parse(content, &access, &err), 0);
        assert_int_equal(target_access_seconds_for(&access, rows[i].left_ms), rows[i].expected);
    }
}

static void tokens_are_kept_for_half_their_lifetime(void **state)
{
    struct token_cache *cache = token_cache_new();

    (void)state;
    assert_null(token_cache_find(cache, "a", 0));
    token_cache_add(cache, "a", "one", 1000, 100);
    token_cache_add(cache, "b", "two", 4000, 100);
    assert_string_equal(token_cache_find(cache, "a", 599), "one");
    assert_null(token_cache_find(cache, "a", 600));
    assert_string_equal(token_cache_find(cache, "b", 600), "two");
    token_cache_add(cache, "b", "three", 4000, 600);
    assert_string_equal(token_cache_find(cache, "b", 2599), "three");
    token_cache_clear(cache);
    assert_null(token_cache_find(cache, "b", 600));
    for (size_t i = 0; i < TOKENS_MAX + 5; i++) {
        cleanup_free char *key = xasprintf("%zu", i);

        token_cache_add(cache, key, key, 4000, 0);
        assert_string_equal(token_cache_find(cache, key, 1), key);
    }
    token_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kubeconfig_is_text_object_or_the_whole_content),
        cmocka_unit_test(what_would_leave_the_configuration_is_refused),
        cmocka_unit_test(a_token_is_requested_as_the_target_says),
        cmocka_unit_test(a_token_for_a_program_lives_as_long_as_the_program_may_run),
        cmocka_unit_test(tokens_are_kept_for_half_their_lifetime),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
