/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/commands/tests/output.h"
#include "deployer/diff/print.h"

static const char DOCUMENT[] =
    "{item: ns/item, server: 'https://x', result: failed, notes: [something is not shown], "
    "summary: "
    "{created: 1, changed: 1, deleted: 1, unchanged: 1, leftAlone: 1, failed: 1}, objects: ["
    "{apiVersion: v1, kind: Namespace, name: new, action: created, notes: [not checked], diff: "
    "\"@@ -0,0 +1 @@\\n+a: 1\\n\"},"
    "{apiVersion: v1, kind: ConfigMap, namespace: ns, name: a, action: changed, notes: [], diff: "
    "\"@@ -1 +1 @@\\n-a: 1\\n+a: 2\\n\"},"
    "{apiVersion: v1, kind: ConfigMap, namespace: ns, name: b, action: deleted, notes: [], diff: "
    "\"@@ -1 +0,0 @@\\n-a: 1\\n\"},"
    "{apiVersion: v1, kind: ConfigMap, namespace: ns, name: c, action: unchanged, notes: []},"
    "{apiVersion: v1, kind: ConfigMap, namespace: ns, name: d, action: leftAlone, notes: [it "
    "stays]},"
    "{apiVersion: v1, kind: ConfigMap, namespace: ns, name: e, action: failed, notes: [], error: "
    "'ConfigMap ns/e: cannot be created: denied'}]}";

static int print(int argc, char **argv)
{
    cleanup_json json_t *document = sample_doc(DOCUMENT);

    (void)argc;
    (void)argv;
    print_comparison(document);
    return 0;
}

static void every_action_has_its_form(void **state)
{
    static const char *const arguments[] = {"diff", NULL};
    int code = 0;
    cleanup_free char *text = output_of(print, arguments, &code);

    (void)state;
    assert_string_equal(text, "created    Namespace new\n"
                              "note: not checked\n"
                              "--- /dev/null\n"
                              "+++ Namespace new\n"
                              "@@ -0,0 +1 @@\n"
                              "+a: 1\n"
                              "changed    ConfigMap ns/a\n"
                              "--- ConfigMap ns/a\n"
                              "+++ ConfigMap ns/a\n"
                              "@@ -1 +1 @@\n"
                              "-a: 1\n"
                              "+a: 2\n"
                              "deleted    ConfigMap ns/b\n"
                              "--- ConfigMap ns/b\n"
                              "+++ /dev/null\n"
                              "@@ -1 +0,0 @@\n"
                              "-a: 1\n"
                              "unchanged  ConfigMap ns/c\n"
                              "left alone ConfigMap ns/d\n"
                              "note: it stays\n"
                              "failed     ConfigMap ns/e\n"
                              "ConfigMap ns/e: cannot be created: denied\n"
                              "note: something is not shown\n"
                              "1 created, 1 changed, 1 deleted, 1 unchanged, 1 left alone, 1 "
                              "failed\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_action_has_its_form)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
