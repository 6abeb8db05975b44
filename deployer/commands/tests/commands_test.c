/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <fcntl.h>

#include "deployer/commands/commands.h"
#include "deployer/commands/tests/output.h"

static const struct {
    command_fn *command;
    const char *arguments[ARGUMENTS_MAX];
    int code;
} codes[] = {
    {validate_main, {"validate", "testdata/container.yaml", "testdata/script.yaml"}, 0},
    {validate_main, {"validate"}, 2},
    {validate_main, {"validate", "--nonsense"}, 2},
    {validate_main, {"validate", "-o", "xml", "testdata/container.yaml"}, 2},
    {validate_main, {"validate", "testdata/absent.yaml"}, 2},
    {validate_main, {"validate", "--help"}, 0},
    {render_main, {"render", "testdata/script.yaml"}, 0},
    {render_main, {"render", "testdata/container.yaml"}, 2}, /* its target is missing */
    {render_main, {"render", "testdata/container.yaml", "--target", "testdata/inputs.yaml"}, 0},
    {render_main, {"render", "testdata/mistakes.yaml"}, 2},
    {render_main, {"render", "testdata/inputs.yaml"}, 2},                           /* no item */
    {render_main, {"render", "testdata/script.yaml", "testdata/mistakes.yaml"}, 2}, /* two */
    {render_main, {"render", "--operation", "REPAIR", "testdata/script.yaml"}, 2},
    {render_main, {"render", "testdata/context.yaml"}, 2}, /* its context is missing */
    {render_main, {"render", "testdata/context.yaml", "--context", "testdata/own-context.yaml"}, 0},
    {render_main, {"render", "testdata/no-target.yaml"}, 0}, /* as its annotation requests */
    {render_main, {"render", "testdata/absent.yaml"}, 2},
    {render_main, {"render"}, 2},
    {version_main, {"version"}, 0},
    {version_main, {"version", "--json"}, 0},
    {version_main, {"version", "--what"}, 2},
};

static void exit_codes_are_as_documented(void **state)
{
    int saved = dup(STDERR_FILENO);
    int dev_null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_true(dup2(dev_null, STDERR_FILENO) >= 0);
    for (size_t i = 0; i < array_length(codes); i++) {
        int code = 0;
        char *text = output_of(codes[i].command, codes[i].arguments, &code);

        free(text);
        if (code != codes[i].code) {
            (void)dup2(saved, STDERR_FILENO);
            fail_msg("%s %s: %d", codes[i].arguments[0],
                     codes[i].arguments[1] ? codes[i].arguments[1] : "", code);
        }
    }
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    (void)close(dev_null);
}

static void render_prints_every_object_the_same_each_time(void **state)
{
    static const char *const arguments[] = {"render", "testdata/container.yaml", "--target",
                                            "testdata/inputs.yaml", NULL};
    static const char *const kinds[] = {"ServiceAccount", "Role",   "RoleBinding",
                                        "Secret",         "Secret", "Pod"};
    int code = 0;
    cleanup_free char *text = output_of(render_main, arguments, &code);
    cleanup_free char *again = output_of(render_main, arguments, &code);
    cleanup_json json_t *docs = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(code, 0);
    assert_string_equal(text, again);
    assert_int_equal(doc_parse_yaml_stream(text, strlen(text), OUTPUT_MAX, &docs, &err), 0);
    assert_int_equal(json_array_size(docs), array_length(kinds));
    for (size_t i = 0; i < array_length(kinds); i++)
        assert_string_equal(doc_text(json_array_get(docs, i), "kind"), kinds[i]);
    assert_int_equal(doc_integer_or(json_array_get(docs, 5), "spec.activeDeadlineSeconds", 0), 900);
    assert_non_null(doc_get(json_array_get(docs, 5), "spec.imagePullSecrets"));
}

static void render_reads_the_operators_registry_files(void **state)
{
    static const char *const arguments[] = {"render", "testdata/script.yaml", "--config",
                                            "testdata/configuration.yaml", NULL};
    int code = 0;
    cleanup_free char *text = output_of(render_main, arguments, &code);
    cleanup_json json_t *docs = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(code, 0);
    assert_int_equal(doc_parse_yaml_stream(text, strlen(text), OUTPUT_MAX, &docs, &err), 0);
    assert_int_equal(json_array_size(docs), 6);
    assert_string_equal(doc_text(json_array_get(docs, 4), "type"),
                        "kubernetes.io/dockerconfigjson");
    assert_non_null(doc_get(json_array_get(docs, 5), "spec.imagePullSecrets"));
}

static const struct {
    const char *arguments[ARGUMENTS_MAX];
    const char *text; /* "": no output */
} comments[] = {
    {{"render", "testdata/context.yaml"},
     "longshore render: the item's context \"team/own\" not found in the files; add it with "
     "--context FILE\n"},
    {{"render", "testdata/script.yaml"},
     "warning: context \"default\" not found in the files; the controller would use its pull "
     "Secrets and OCM configuration, too (add it with --context FILE)\n"},
    {{"render", "testdata/context.yaml", "--context", "testdata/own-context.yaml"}, ""},
};

static void render_warns_about_a_missing_context(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(comments); i++) {
        int code = 0;
        cleanup_free char *text =
            written_by(render_main, comments[i].arguments, STDERR_FILENO, &code);

        assert_string_equal(text, comments[i].text);
    }
}

static const struct {
    const char *arguments[ARGUMENTS_MAX];
    bool has_label, has_export;
} unknown[] = {
    {{"render", "testdata/script.yaml"}, true, false},
    {{"render", "testdata/script.yaml", "-o", "json"}, false, false},
    {{"render", "testdata/no-target.yaml"}, true, true},
    {{"render", "testdata/no-target.yaml", "--config", "testdata/identity.yaml"}, false, true},
};

static void render_comments_on_values_that_depend_on_the_cluster(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(unknown); i++) {
        int code = 0;
        cleanup_free char *text = output_of(render_main, unknown[i].arguments, &code);

        assert_int_equal(code, 0);
        assert_int_equal(
            strstr(text,
                   "# Without an identity, the controller sets the label " LABEL_LANDSCAPER) !=
                NULL,
            unknown[i].has_label);
        assert_int_equal(strstr(text, "# The export Secret is called job-") != NULL,
                         unknown[i].has_export);
    }
}

static void render_lists_mistakes_one_per_line(void **state)
{
    static const char *const arguments[] = {"render", "testdata/three-mistakes.yaml", NULL};
    int code = 0;
    cleanup_free char *text = written_by(render_main, arguments, STDERR_FILENO, &code);

    (void)state;
    assert_int_equal(code, 2);
    assert_string_equal(
        text,
        "longshore render: deploy item \"job\" has 3 mistakes:\n"
        "  spec.config.command: expected a list of strings, got a string\n"
        "  spec.config.imagePullPolicy: Invalid value: \"Sometimes\": must be Always, IfNotPresent "
        "or Never\n"
        "  spec.config.env[0].name: Forbidden: \"STATE\" is set by the deployer\n");
}

static void version_lists_the_item_types(void **state)
{
    static const char *const arguments[] = {"version", "--json", NULL};
    int code = 0;
    cleanup_free char *text = output_of(version_main, arguments, &code);
    cleanup_json json_t *doc = sample_doc(text);

    (void)state;
    assert_string_equal(doc_text(doc, "version"), LONGSHORE_VERSION);
    assert_int_equal(json_array_size(doc_get(doc, "types")), 3);
}

static void manifest_items_are_rendered_in_the_order_of_their_application(void **state)
{
    static const char *const arguments[] = {"render", "-o", "json", "testdata/manifest.yaml", NULL};
    int code = -1;
    cleanup_free char *text = output_of(render_main, arguments, &code);
    const char *first = strstr(text, "\"first\"");
    const char *second = strstr(text, "\"second\"");

    (void)state;
    assert_int_equal(code, 0);
    assert_true(first && second && first < second);
    assert_non_null(strstr(text, "\"" LABEL_MANIFEST_ITEM "\":\"item\""));
    assert_non_null(strstr(text, "\"" ANNOTATION_MANIFEST_ITEM "\":\"team/item\""));
    assert_non_null(strstr(text, "\"created\":\"by-item\""));
    assert_null(strstr(text, "ignored"));
}

static void mistakes_of_manifest_items_are_listed(void **state)
{
    static const char *const arguments[] = {"validate", "testdata/manifest-mistakes.yaml", NULL};
    static const char *const good[] = {"validate", "--strict", "testdata/manifest.yaml", NULL};
    static const char *const rendered[] = {"render", "testdata/manifest-mistakes.yaml", NULL};
    int code = 0;
    cleanup_free char *text = output_of(validate_main, arguments, &code);
    cleanup_free char *none = NULL;
    cleanup_free char *refused = NULL;

    (void)state;
    assert_int_equal(code, 2);
    assert_non_null(strstr(text, "team/item: spec.config.updateStrategy: Invalid value: "));
    assert_non_null(strstr(text, "team/item: spec.config.manifests[0].manifest"));
    assert_non_null(strstr(text, "spec.config.deleteTimeout: has no effect"));
    none = output_of(validate_main, good, &code);
    assert_int_equal(code, 0);
    assert_string_equal(none, "1 DeployItem, no problems found\n");
    refused = written_by(render_main, rendered, STDERR_FILENO, &code);
    assert_int_equal(code, 2);
    assert_string_equal(
        refused,
        "longshore render: deploy item \"item\" has 3 mistakes:\n"
        "  spec.config.updateStrategy: Invalid value: \"replace\": must be update, patch, merge, "
        "mergeOverwrite or apply\n"
        "  spec.config.manifests[0].manifest.apiVersion: Invalid value: expected a string, got "
        "nothing\n"
        "  spec.config.manifests[0].manifest.metadata.name: Invalid value: expected a string, got "
        "an empty one\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifest_items_are_rendered_in_the_order_of_their_application),
        cmocka_unit_test(mistakes_of_manifest_items_are_listed),
        cmocka_unit_test(exit_codes_are_as_documented),
        cmocka_unit_test(render_prints_every_object_the_same_each_time),
        cmocka_unit_test(render_reads_the_operators_registry_files),
        cmocka_unit_test(render_warns_about_a_missing_context),
        cmocka_unit_test(render_comments_on_values_that_depend_on_the_cluster),
        cmocka_unit_test(render_lists_mistakes_one_per_line),
        cmocka_unit_test(version_lists_the_item_types),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
