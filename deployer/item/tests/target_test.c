/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/buffer.h"
#include "deployer/item/target.h"
#include "deployer/tests/sample.h"

static const struct {
    const char *target, *secret, *content, *error;
} contents[] = {
    {"{spec: {type: t, config: {foo: bar}}}", NULL, "{\"foo\":\"bar\"}", NULL},
    {"{spec: {type: t, config: text}}", NULL, "\"text\"", NULL},
    {"{spec: {type: t, config: null}}", NULL, "", NULL},
    {"{spec: {type: t}}", NULL, "", NULL},
    {"{}", NULL, "", NULL},
    /* "{\"foo\": \"bar\"}" */
    {"{spec: {secretRef: {name: s, key: k}}}",
     "{metadata: {name: s}, data: {k: eyJmb28iOiAiYmFyIn0=}}", "{\"foo\": \"bar\"}", NULL},
    {"{spec: {secretRef: {name: s, key: k}}}", "{metadata: {name: s}, data: {x: aGk=}}", NULL,
     "secret \"s\" of the target has no key \"k\""},
    {"{spec: {secretRef: {name: s, key: k}}}", "{metadata: {name: s}, data: {k: 'c2VjcmV0!'}}",
     NULL, "secret \"s\" of the target: key \"k\" is not valid base64"},
    {"{spec: {secretRef: {name: s, key: k}}}", NULL, NULL, "secret \"s\" of the target is missing"},
    /* foo: bar, five: 5, nested: "a: [1]", none: empty; keys sorted */
    {"{spec: {secretRef: {name: s}}}",
     "{metadata: {name: s}, data: {none: '', foo: YmFy, five: NQ==, nested: YTogWzFd}}",
     "{\"five\":5,\"foo\":\"bar\",\"nested\":{\"a\":[1]},\"none\":null}", NULL},
    {"{spec: {secretRef: {name: s}}}", "{metadata: {name: s}, data: {bad: e3s=}}", NULL,
     "secret \"s\" of the target: the value of key \"bad\" is not valid YAML; "
     "set spec.secretRef.key to pass the value on unchanged"},
    {"{spec: {secretRef: {name: s}}}", "{metadata: {name: s}}", "{}", NULL},
};

static void content_is_read_from_config_secret_key_or_whole_secret(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(contents); i++) {
        cleanup_json json_t *target = sample_doc(contents[i].target);
        cleanup_json json_t *secret = contents[i].secret ? sample_doc(contents[i].secret) : NULL;
        cleanup_buffer struct buffer content = {0};
        struct error err = {0};

        buffer_init(&content, 1 << 20);
        assert_int_equal(target_content(target, secret, &content, &err),
                         contents[i].error ? -1 : 0);
        if (contents[i].error)
            assert_string_equal(err.text, contents[i].error);
        else
            assert_string_equal(content.data ? content.data : "", contents[i].content);
    }
}

static void the_target_file_contains_kind_and_content_as_text(void **state)
{
    cleanup_json json_t *target =
        sample_doc("{metadata: {name: t, uid: u}, spec: {type: x, secretRef: {name: s, key: k}}}");
    cleanup_free char *text = target_document(target, "a\"b\n", 4);
    cleanup_free char *null_text = target_document(NULL, NULL, 0);
    cleanup_free char *broken = target_document(target, "a\xff\xc3z\xe2\x82", 6);
    cleanup_json json_t *doc = sample_doc(text);
    cleanup_json json_t *broken_doc = sample_doc(broken);

    (void)state;
    assert_string_equal(doc_text(doc, "content"), "a\"b\n");
    assert_string_equal(doc_text(doc, "target.kind"), "Target");
    assert_string_equal(doc_text(doc, "target.apiVersion"), "landscaper.gardener.cloud/v1alpha1");
    assert_string_equal(doc_text(doc, "target.metadata.uid"), "u");
    assert_string_equal(doc_text(doc, "target.spec.secretRef.key"), "k");
    assert_null(doc_get(doc, "target.spec.config"));
    assert_string_equal(null_text, "null");
    assert_string_equal(doc_text(broken_doc, "content"), "a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd"
                                                         "\xef\xbf\xbd");
}

static const struct {
    const char *content, *error; /* a part of it, or NULL */
} validations[] = {
    {"", NULL},
    {"{\"foo\":\"bar\"}", NULL},
    {"{kubeconfig: ''}", NULL},
    {"{kubeconfig: null}", NULL},
    {"{oidcConfig: {server: x}}", NULL},
    {"{selfConfig: {}}", NULL},
    {"{kubeconfig: 'users: [{name: u, user: {token: t, client-certificate-data: x}}]'}", NULL},
    {"{kubeconfig: {users: [{name: u, user: {token: t}}]}}", NULL},
    {"users: [{name: u, user: {auth-provider: {name: gcp}}}]", NULL},
    {"users: null", NULL},
    {"just text",
     "the target's content is not a kubeconfig; deployers accept only content that is an object, "
     "such as {\"token\": \"...\"}"},
    {"[a]",
     "the target's content is not a kubeconfig; deployers accept only content that is an object, "
     "such as {\"token\": \"...\"}"},
    {"{a", "the target's content is not a YAML document"},
    {"{kubeconfig: text}",
     "the target's content is not a kubeconfig; deployers accept only content that is an object, "
     "such as {\"token\": \"...\"}"},
    {"{kubeconfig: '{'}", "the target's kubeconfig is not a YAML document"},
    {"{kind: Secret}", "kubeconfig has kind \"Secret\" and apiVersion \"v1\""},
    {"users: {}", "\"users\" must be a list"},
    {"users: [5]", "users must be objects"},
    {"users: [{name: u, user: {client-certificate: /etc/x}}]",
     "client certificate files are not supported in a target kubeconfig: user \"u\""},
    {"users: [{name: u, user: {client-key: /etc/x}}]", "client key files are not supported"},
    {"users: [{name: u, user: {tokenFile: /etc/x}}]", "token files are not supported"},
    {"users: [{name: u, user: {as: admin}}]", "impersonation is not supported"},
    {"users: [{name: u, user: {as-groups: [a]}}]", "impersonation of groups is not supported"},
    {"users: [{name: a, user: {}}, {name: u, user: {exec: {command: x}}}]",
     "exec plug-ins are not supported in a target kubeconfig: user \"u\""},
    {"users: [{name: u, user: {auth-provider: {name: x, config: {a: b}}}}]",
     "auth providers are not supported"},
    {"{kubeconfig: 'users: [{name: u, user: {exec: {command: x}}}]'}", "exec plug-ins"},
    {"{kubeconfig: {users: [{name: u, user: {exec: {command: x}}}]}}", "exec plug-ins"},
};

static void a_kubeconfig_with_files_or_programs_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(validations); i++) {
        struct error err = {0};
        int result = target_validate(validations[i].content, strlen(validations[i].content), &err);

        if (result != (validations[i].error ? -1 : 0) ||
            (validations[i].error && !strstr(err.text, validations[i].error)))
            fail_msg("%s: %s", validations[i].content, err.text);
    }
}

static void no_message_quotes_the_content(void **state)
{
    static const char *const contents_with_canary[] = {
        "{canary-7f3a",  "canary-7f3a: [",     "\tcanary-7f3a", "{kubeconfig: '{canary-7f3a'}",
        "\"canary-7f3a", "canary-7f3a\n---\nb"};

    (void)state;
    for (size_t i = 0; i < array_length(contents_with_canary); i++) {
        const char *content = contents_with_canary[i];
        struct error err = {0};

        assert_int_equal(target_validate(content, strlen(content), &err), -1);
        assert_null(strstr(err.text, "canary"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_read_from_config_secret_key_or_whole_secret),
        cmocka_unit_test(the_target_file_contains_kind_and_content_as_text),
        cmocka_unit_test(a_kubeconfig_with_files_or_programs_is_refused),
        cmocka_unit_test(no_message_quotes_the_content),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
