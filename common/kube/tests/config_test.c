/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/kube/config_internal.h"

/* "-----BEGIN X-----" */
#define PEM64 "LS0tLS1CRUdJTiBYLS0tLS0="

#define CONTEXT(cluster_, user_)                                                                   \
    "current-context: main\n"                                                                      \
    "contexts:\n- name: main\n  context: {cluster: c, user: u}\n"                                  \
    "clusters:\n- name: c\n  cluster: " cluster_ "\n"                                              \
    "users:\n- name: u\n  user: " user_ "\n"

static void reads_a_whole_kubeconfig(void **state)
{
    static const char text[] =
        CONTEXT("{server: 'https://api.example:6443/prefix//', certificate-authority-data: " PEM64
                ", tls-server-name: api}",
                "{client-certificate-data: " PEM64 ", client-key-data: " PEM64
                ", token: t0ken, username: joe, password: pass}");
    cleanup_kube_config struct kube_config *config = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(kube_config_from_text(text, &config, &err), 0);
    assert_string_equal(config->server, "https://api.example:6443/prefix");
    assert_string_equal(config->ca_pem, "-----BEGIN X-----");
    assert_string_equal(config->cert_pem, "-----BEGIN X-----");
    assert_string_equal(config->key_pem, "-----BEGIN X-----");
    assert_string_equal(config->token, "t0ken");
    assert_string_equal(config->user, "joe");
    assert_string_equal(config->password, "pass");
    assert_string_equal(config->server_name, "api");
    assert_false(config->is_insecure);
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"", "not an object"},
    {"[]", "not an object"},
    {"{", "kubeconfig: "},
    {"{}", "current-context is not set"},
    {"{current-context: gone}", "context \"gone\" not found"},
    {"{current-context: a, contexts: [{name: a}]}", "context \"a\" has no cluster"},
    {"{current-context: a, contexts: [{name: a, context: x}]}", "context \"a\" is not an object"},
    {"{current-context: a, contexts: [{name: a, context: {cluster: [1]}}]}",
     "cluster of context \"a\" is not a string"},
    {"{current-context: a, contexts: [{name: a, context: {cluster: b}}]}",
     "cluster \"b\" not found"},
    {"{current-context: a, contexts: [{name: a, context: {cluster: b, user: c}}], clusters: "
     "[{name: b, cluster: {server: 'https://x'}}]}",
     "user \"c\" not found"},
    {CONTEXT("{}", "{}"), "cluster \"c\" has no server"},
    {CONTEXT("{server: 5}", "{}"), "server of cluster \"c\" is not a string"},
    {CONTEXT("{server: 'ftp://a'}", "{}"), "not an https:// or http:// URL"},
    {CONTEXT("{server: 'https://'}", "{}"), "not an https:// or http:// URL"},
    {CONTEXT("{server: 'https://u:s3cret@a'}", "{}"), "may contain only host, port and path"},
    {CONTEXT("{server: 'https://a?s3cret'}", "{}"), "may contain only host, port and path"},
    {CONTEXT("{server: 'http://a'}", "{token: s3cret}"), "not encrypted"},
    {CONTEXT("{server: 'http://a'}", "{username: a, password: s3cret}"), "not encrypted"},
    {CONTEXT("{server: 'https://a', proxy-url: 'http://p'}", "{}"), "set HTTPS_PROXY"},
    {CONTEXT("{server: 'https://a', certificate-authority: [1]}", "{}"),
     "certificate-authority of cluster \"c\" is not a string"},
    {CONTEXT("{server: 'https://a', certificate-authority-data: '%'}", "{}"),
     "certificate-authority-data of cluster \"c\" is not valid base64"},
    {CONTEXT("{server: 'https://a', certificate-authority-data: aGVsbG8=}", "{}"),
     "certificate-authority of cluster \"c\" is not in PEM format"},
    {CONTEXT("{server: 'https://a', certificate-authority: /etc/passwd}", "{}"),
     "only inline data (certificate-authority-data) is allowed here"},
    {CONTEXT("{server: 'https://a', insecure-skip-tls-verify: maybe}", "{}"),
     "must be true or false"},
    {CONTEXT(
         "{server: 'https://a', insecure-skip-tls-verify: true, certificate-authority-data: " PEM64
         "}",
         "{}"),
     "certificate-authority and insecure-skip-tls-verify are mutually exclusive"},
    {CONTEXT("{server: 'https://a'}", "{client-certificate-data: " PEM64 "}"),
     "user \"u\" has a client certificate but no client key"},
    {CONTEXT("{server: 'https://a'}", "{client-key-data: " PEM64 "}"),
     "user \"u\" has a client key but no client certificate"},
    {CONTEXT("{server: 'https://a'}", "{client-key: /etc/shadow}"), "only inline data"},
    {CONTEXT("{server: 'https://a'}", "{tokenFile: /etc/shadow}"),
     "only inline data (token) is allowed here"},
    {CONTEXT("{server: 'https://a'}", "{exec: {command: gke-gcloud-auth-plugin}}"),
     "user \"u\" uses the exec plugin \"gke-gcloud-auth-plugin\", which is not supported; give the "
     "user a token"},
    {CONTEXT("{server: 'https://a'}", "{auth-provider: {name: oidc}}"),
     "user \"u\" uses the auth-provider \"oidc\", which is not supported; give the user a token"},
};

static void rejects_unusable_kubeconfigs_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        struct kube_config *config = NULL;
        struct error err = {0};

        assert_int_equal(kube_config_from_text(bad[i].text, &config, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(config);
        assert_null(strstr(err.text, "s3cret"));
        if (!strstr(err.text, bad[i].message))
            fail_msg("'%s' is not in '%s'", bad[i].message, err.text);
    }
}

static void the_hash_depends_on_server_and_ca_only(void **state)
{
    static const struct {
        const char *text;
        bool is_same; /* as the first */
    } cases[] = {
        {CONTEXT("{server: 'https://a', certificate-authority-data: " PEM64 "}", "{token: t}"),
         true},
        {CONTEXT("{server: 'https://a/', certificate-authority-data: " PEM64 "}", "{token: u}"),
         true},
        {CONTEXT("{server: 'https://b', certificate-authority-data: " PEM64 "}", "{token: t}"),
         false},
        {CONTEXT("{server: 'https://a'}", "{token: t}"), false},
    };
    char first[NAME_HASH_SIZE] = "";

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_kube_config struct kube_config *config = NULL;
        char hash[NAME_HASH_SIZE] = "";
        struct error err = {0};

        assert_int_equal(kube_config_from_text(cases[i].text, &config, &err), 0);
        kube_config_hash(config, i == 0 ? first : hash);
        assert_int_equal(strcmp(i == 0 ? first : hash, first) == 0, cases[i].is_same);
    }
}

/* As a client pool needs it: a field that differs gives another identity, a copy gives the same. */
static void the_identity_depends_on_every_field(void **state)
{
    static const struct kube_config configs[] = {
        {.server = "https://a", .ca_pem = "c", .token = "t"},
        {.server = "https://b", .ca_pem = "c", .token = "t"},
        {.server = "https://a", .ca_pem = "d", .token = "t"},
        {.server = "https://a", .ca_pem = "", .token = "t"},
        {.server = "https://a", .token = "t"},
        {.server = "https://a", .token = "t", .is_insecure = true},
        {.server = "https://a", .ca_pem = "c", .server_name = "n", .token = "t"},
        /* The same server with other credentials. */
        {.server = "https://a", .ca_pem = "c", .token = "u"},
        {.server = "https://a", .ca_pem = "c"},
        {.server = "https://a", .ca_pem = "c", .token_file = "t"},
        {.server = "https://a", .ca_pem = "c", .cert_pem = "x", .key_pem = "y"},
        {.server = "https://a", .ca_pem = "c", .cert_pem = "x", .key_pem = "z"},
        {.server = "https://a", .ca_pem = "c", .cert_pem = "z", .key_pem = "y"},
        {.server = "https://a", .ca_pem = "c", .user = "t", .password = ""},
        {.server = "https://a", .ca_pem = "c", .user = "t", .password = "p"},
    };
    enum { SERVERS = 7 };
    char identities[array_length(configs)][DIGEST_HEX_MAX];
    char servers[array_length(configs)][DIGEST_HEX_MAX];

    (void)state;
    for (size_t i = 0; i < array_length(configs); i++) {
        cleanup_kube_config struct kube_config *copy = kube_config_copy(&configs[i]);

        kube_config_identity(copy, true, identities[i]);
        kube_config_identity(copy, false, servers[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(identities[i], identities[j]);
        for (size_t j = 0; i < SERVERS && j < i; j++)
            assert_string_not_equal(servers[i], servers[j]);
        if (i >= SERVERS)
            assert_string_equal(servers[i], servers[0]);
        kube_config_identity(&configs[i], true, servers[i]);
        assert_string_equal(servers[i], identities[i]);
        kube_config_identity(&configs[i], false, servers[i]);
    }
}

static void a_shared_configuration_lives_until_its_last_user_frees_it(void **state)
{
    static const struct kube_config config = {.server = "https://a", .token = "t"};
    struct kube_config *first = kube_config_copy(&config);
    struct kube_config *second = kube_config_share(first);

    (void)state;
    assert_ptr_equal(first, second);
    kube_config_free(first);
    assert_string_equal(second->token, "t");
    kube_config_free(second);
}

static void a_server_without_encryption_is_fine_without_credentials(void **state)
{
    cleanup_kube_config struct kube_config *config = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(
        kube_config_from_text(CONTEXT("{server: 'http://127.0.0.1:8001'}", "{}"), &config, &err),
        0);
    assert_string_equal(config->server, "http://127.0.0.1:8001");
}

/* A temporary folder, removed after the test. */
static int make_folder(void **state)
{
    char *folder = xstrdup("/tmp/longshore-config-test.XXXXXX");

    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"ca.crt", "token",        "config", "more",
                                        "empty",  ".kube/config", "broken"};
    char *folder = *state;
    cleanup_free char *kube = xasprintf("%s/.kube", folder);

    for (size_t i = 0; i < array_length(names); i++) {
        cleanup_free char *path = xasprintf("%s/%s", folder, names[i]);

        (void)unlink(path);
    }
    (void)rmdir(kube);
    (void)rmdir(folder);
    free(folder);
    return 0;
}

static char *write_file(const char *folder, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", folder, name);
    cleanup_file FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    return path;
}

static void put_file(const char *folder, const char *name, const char *text)
{
    free(write_file(folder, name, text));
}

static void files_are_relative_to_the_kubeconfig(void **state)
{
    const char *folder = *state;
    cleanup_free char *path =
        write_file(folder, "config",
                   CONTEXT("{server: 'https://a', certificate-authority: ca.crt}",
                           "{tokenFile: ./token, token: old}"));
    cleanup_kube_config struct kube_config *config = NULL;
    cleanup_wipe char *read = NULL;
    struct error err = {0};

    put_file(folder, "ca.crt", "-----BEGIN CA-----\n");
    put_file(folder, "token", "\n t0ken \n");
    assert_int_equal(kube_config_from_file(path, &config, &err), 0);
    assert_string_equal(config->ca_pem, "-----BEGIN CA-----\n");
    assert_int_equal(kube_config_read_token(config->token_file, &read, &err), 0);
    assert_string_equal(read, "t0ken");
}

static void a_missing_file_is_named(void **state)
{
    const char *folder = *state;
    cleanup_free char *path = write_file(
        folder, "config", CONTEXT("{server: 'https://a', certificate-authority: gone}", "{}"));
    cleanup_free char *gone = xasprintf("%s/gone", folder);
    struct kube_config *config = NULL;
    struct error err = {0};

    assert_int_equal(kube_config_from_file(path, &config, &err), -1);
    assert_non_null(strstr(err.text, gone));
    assert_int_equal(kube_config_from_file(gone, &config, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, gone));
}

static void several_files_are_merged_and_the_first_value_wins(void **state)
{
    const char *folder = *state;
    cleanup_free char *first =
        write_file(folder, "config",
                   "current-context: a\nclusters: [{name: c, cluster: {server: 'https://first'}}]");
    cleanup_free char *second =
        write_file(folder, "more",
                   "current-context: b\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
                   "clusters: [{name: c, cluster: {server: 'https://second'}}]\n"
                   "users: [{name: u, user: {token: t}}]");
    cleanup_free char *list = xasprintf("%s/gone:%s::%s", folder, first, second);
    cleanup_kube_config struct kube_config *config = NULL;
    struct error err = {0};

    assert_int_equal(setenv("KUBECONFIG", list, 1), 0);
    assert_int_equal(kube_config_default(NULL, &config, &err), 0);
    assert_string_equal(config->server, "https://first");
    assert_string_equal(config->token, "t");
    (void)unsetenv("KUBECONFIG");
}

static void a_pod_uses_its_service_account(void **state)
{
    static const struct {
        const char *host, *server;
    } cases[] = {
        {"10.0.0.1", "https://10.0.0.1:443"},
        {"fd00::1", "https://[fd00::1]:443"},
        {"api.internal", "https://api.internal:443"},
    };
    const char *folder = *state;
    cleanup_free char *token = write_file(folder, "token", "t0ken\n");
    struct error err = {0};

    put_file(folder, "ca.crt", "-----BEGIN CA-----\n");
    (void)setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_kube_config struct kube_config *config = NULL;

        (void)setenv("KUBERNETES_SERVICE_HOST", cases[i].host, 1);
        assert_int_equal(kube_config_in_cluster(folder, &config, &err), 0);
        assert_string_equal(config->server, cases[i].server);
        assert_string_equal(config->token_file, token);
        assert_string_equal(config->ca_pem, "-----BEGIN CA-----\n");
    }
    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    (void)unsetenv("KUBERNETES_SERVICE_PORT");
}

static void outside_a_pod_or_without_a_token_it_is_not_found(void **state)
{
    const char *folder = *state;
    struct kube_config *config = NULL;
    struct error err = {0};

    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(kube_config_in_cluster(folder, &config, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    (void)setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    (void)setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(kube_config_in_cluster(folder, &config, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    (void)unsetenv("KUBERNETES_SERVICE_PORT");

    (void)unsetenv("KUBECONFIG");
    (void)setenv("HOME", folder, 1);
    assert_int_equal(kube_config_default(NULL, &config, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/.kube/config"));
}

static void an_unusable_service_account_is_named_in_the_error(void **state)
{
    const char *folder = *state;
    struct kube_config *config = NULL;
    struct error err = {0};

    put_file(folder, "token", "t0ken\n");
    put_file(folder, "ca.crt", "-----BEGIN CA-----\n");
    (void)setenv("KUBERNETES_SERVICE_HOST", "a host", 1);
    (void)setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(kube_config_in_cluster(folder, &config, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "service account of the pod: the server's URL may contain only "
                                  "host, port and path");
    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    (void)unsetenv("KUBERNETES_SERVICE_PORT");
}

static void default_must_fail(enum error_kind kind, const char *message)
{
    struct kube_config *config = NULL;
    struct error err = {0};

    assert_int_equal(kube_config_default(NULL, &config, &err), -1);
    assert_int_equal(err.kind, kind);
    if (!strstr(err.text, message))
        fail_msg("'%s' does not contain '%s'", err.text, message);
    assert_null(config);
}

/* Only a missing kubeconfig leads to the next place; an invalid one is an error. */
static void the_invalid_kubeconfig_is_named(void **state)
{
    const char *folder = *state;
    cleanup_free char *broken = write_file(folder, "broken", "{a: [");
    cleanup_free char *empty = write_file(folder, "empty", "{}");
    cleanup_free char *missing = xasprintf("%s/none", folder);
    cleanup_free char *list = xasprintf("%s:%s", empty, missing);
    struct kube_config *config = NULL;
    struct error err = {0};
    cleanup_free char *kube = xasprintf("%s/.kube", folder);

    assert_int_equal(kube_config_default(broken, &config, &err), -1);
    assert_non_null(strstr(err.text, broken));
    (void)setenv("KUBECONFIG", broken, 1);
    default_must_fail(ERROR_INVALID, broken);
    (void)setenv("KUBECONFIG", missing, 1);
    default_must_fail(ERROR_NOT_FOUND, missing);
    (void)setenv("KUBECONFIG", list, 1);
    default_must_fail(ERROR_INVALID, list);
    (void)unsetenv("KUBECONFIG");

    (void)setenv("HOME", folder, 1);
    assert_int_equal(mkdir(kube, 0700), 0);
    put_file(kube, "config", "{a: [");
    default_must_fail(ERROR_INVALID, "/.kube/config\"");
    (void)unsetenv("HOME");
    default_must_fail(ERROR_NOT_FOUND, "not running in a pod");
}

static void an_empty_token_is_refused(void **state)
{
    cleanup_free char *path = write_file(*state, "token", " \n");
    char *token = NULL;
    struct error err = {0};

    assert_int_equal(kube_config_read_token(path, &token, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_null(token);
}

int main(void)
{
#define in_folder(name_) cmocka_unit_test_setup_teardown(name_, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_whole_kubeconfig),
        cmocka_unit_test(rejects_unusable_kubeconfigs_with_a_reason),
        cmocka_unit_test(the_hash_depends_on_server_and_ca_only),
        cmocka_unit_test(the_identity_depends_on_every_field),
        cmocka_unit_test(a_shared_configuration_lives_until_its_last_user_frees_it),
        cmocka_unit_test(a_server_without_encryption_is_fine_without_credentials),
        in_folder(files_are_relative_to_the_kubeconfig),
        in_folder(a_missing_file_is_named),
        in_folder(several_files_are_merged_and_the_first_value_wins),
        in_folder(a_pod_uses_its_service_account),
        in_folder(outside_a_pod_or_without_a_token_it_is_not_found),
        in_folder(an_unusable_service_account_is_named_in_the_error),
        in_folder(the_invalid_kubeconfig_is_named),
        in_folder(an_empty_token_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
