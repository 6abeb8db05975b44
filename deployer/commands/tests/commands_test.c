/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "deployer/commands/commands.h"
#include "deployer/tests/sample.h"

enum { ARGUMENTS_MAX = 12, OUTPUT_MAX = 1 << 20 };

typedef int command_fn(int argc, char **argv);

/* Runs a command and returns what it wrote to stdout or stderr. The caller frees. */
static char *written_by(command_fn *command, const char *const *arguments, int stream,
                        int *ret_code)
{
    char *argv[ARGUMENTS_MAX + 1] = {0};
    FILE *file = tmpfile();
    int argc = 0;
    int saved = 0;
    char *text = NULL;
    long size = 0;

    assert_non_null(file);
    while (arguments[argc]) {
        argv[argc] = xstrdup(arguments[argc]);
        argc++;
    }
    (void)fflush(stdout);
    saved = dup(stream);
    assert_true(dup2(fileno(file), stream) >= 0);
    *ret_code = command(argc, argv);
    (void)fflush(stdout);
    assert_true(dup2(saved, stream) >= 0);
    (void)close(saved);
    size = lseek(fileno(file), 0, SEEK_END);
    assert_true(size >= 0 && size < OUTPUT_MAX);
    text = xcalloc((size_t)size + 1, 1);
    assert_int_equal(pread(fileno(file), text, (size_t)size, 0), size);
    (void)fclose(file);
    while (argc > 0)
        free(argv[--argc]);
    return text;
}

static char *output_of(command_fn *command, const char *const *arguments, int *ret_code)
{
    return written_by(command, arguments, STDOUT_FILENO, ret_code);
}

static void validate_lists_every_mistake_with_its_path(void **state)
{
    static const char *const arguments[] = {"validate", "testdata/mistakes.yaml", NULL};
    int code = 0;
    cleanup_free char *text = output_of(validate_main, arguments, &code);
    static const char *const expected[] = {
        "testdata/mistakes.yaml: DeployItem team/job: spec.timeout: Invalid value: \"soon\"",
        "DeployItem team/job: spec.config.image: Invalid value: ",
        "DeployItem team/job: warning: spec.config.colour: unknown field\n",
        "spec.config.env[0].name: Forbidden: \"OPERATION\" is set by the deployer\n",
        "Target team/t: spec.config: exec plug-ins are not supported",
        "Configuration: hpa: expected an object, got a number\n",
        "team/Bad_Name: apiVersion: Invalid value: \"landscaper.gardener.cloud/v1alpha2\": must",
        "team/Bad_Name: metadata.name: Invalid value: \"Bad_Name\": must be lower-case letters",
        "team/Bad_Name: warning: extra: unknown field\n",
        "team/Bad_Name: warning: spec.tiemout: unknown field\n",
        "team/Bad_Name: warning: spec.target.nme: unknown field\n",
        "team/Bad_Name: warning: spec.onDelete.skip: unknown field\n",
        "team/Bad_Name: warning: spec.config.blueprint.ref.extra: unknown field\n",
        "warning: spec.config.blueprint.ref: has no effect: inline takes precedence\n",
        "team/Bad_Name: warning: spec.config.blueprint.inline.extra: unknown field\n",
        "team/Bad_Name: spec.config.blueprint.inline.filesystem: expected an object of file names"};

    (void)state;
    assert_int_equal(code, 2);
    for (size_t i = 0; i < array_length(expected); i++) {
        if (!strstr(text, expected[i]))
            fail_msg("'%s' is not in\n%s", expected[i], text);
    }
}

static void validate_prints_the_same_in_json(void **state)
{
    static const char *const arguments[] = {"validate", "-o", "json", "testdata/mistakes.yaml",
                                            NULL};
    int code = 0;
    cleanup_free char *text = output_of(validate_main, arguments, &code);
    cleanup_json json_t *doc = sample_doc(text);

    (void)state;
    assert_int_equal(code, 2);
    assert_int_equal(doc_integer_or(doc, "errors", 0), 8);
    assert_int_equal(doc_integer_or(doc, "warnings", 0), 8);
    assert_int_equal(doc_integer_or(doc, "objects", 0), 4);
}

static size_t count(const char *text, const char *piece)
{
    size_t found = 0;

    for (; (text = strstr(text, piece)); text++)
        found++;
    return found;
}

static void validate_lists_any_number_of_mistakes(void **state)
{
    static const char *const arguments[] = {"validate", "testdata/many.yaml", NULL};
    int code = 0;
    cleanup_free char *text = output_of(validate_main, arguments, &code);

    (void)state;
    assert_int_equal(code, 2);
    assert_int_equal(count(text, "DeployItem team/errors: spec.config"), 100);
    assert_non_null(strstr(text, "team/errors: spec.config.env[98].name: Invalid value: \"1A\""));
    assert_int_equal(count(text, "DeployItem team/warnings: warning: spec.config.x"), 70);
    assert_null(strstr(text, "team/warnings: spec"));
}

static void validate_reports_inputs_that_exceed_the_limits_of_a_run(void **state)
{
    cleanup_free char *values = xmalloc(SECRET_MAX_BYTES + 1);
    cleanup_json json_t *item = NULL;
    cleanup_free char *text = NULL;
    cleanup_free char *output = NULL;
    char path[] = "/tmp/longshore-large.XXXXXX";
    const char *const arguments[] = {"validate", path, NULL};
    int fd = mkstemp(path);
    int code = 0;

    (void)state;
    assert_true(fd >= 0);
    memset(values, 'x', SECRET_MAX_BYTES);
    values[SECRET_MAX_BYTES] = '\0';
    item =
        sample_doc("{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: DeployItem, "
                   "metadata: {name: large}, spec: {type: landscaper.gardener.cloud/container}}");
    (void)json_object_set_new(json_object_get(item, "spec"), "config",
                              json_pack("{s:s,s:s,s:s,s:{s:s}}", "apiVersion",
                                        "container.deployer.landscaper.gardener.cloud/v1alpha1",
                                        "kind", "ProviderConfiguration", "image", "alpine",
                                        "importValues", "a", values));
    text = doc_dump(item);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    output = output_of(validate_main, arguments, &code);
    (void)unlink(path);
    assert_int_equal(code, 2);
    assert_non_null(
        strstr(output, "DeployItem default/large: spec.config: the inputs of the run "
                       "(configuration, target, registry credentials, files) exceed 1048576 bytes"
                       " in total"));
}

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
    assert_int_equal(doc_integer_or(json_array_get(docs, 5), "spec.activeDeadlineSeconds", 0), 300);
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
     "longshore render: context \"team/own\" of the item not found in the files; add it with "
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

static void version_lists_the_item_types(void **state)
{
    static const char *const arguments[] = {"version", "--json", NULL};
    int code = 0;
    cleanup_free char *text = output_of(version_main, arguments, &code);
    cleanup_json json_t *doc = sample_doc(text);

    (void)state;
    assert_string_equal(doc_text(doc, "version"), LONGSHORE_VERSION);
    assert_int_equal(json_array_size(doc_get(doc, "types")), 2);
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
    assert_non_null(strstr(text, "warning: spec.config.deleteTimeout: has no effect"));
    none = output_of(validate_main, good, &code);
    assert_int_equal(code, 0);
    assert_string_equal(none, "");
    refused = written_by(render_main, rendered, STDERR_FILENO, &code);
    assert_int_equal(code, 2);
    assert_non_null(strstr(refused, "spec.config.updateStrategy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifest_items_are_rendered_in_the_order_of_their_application),
        cmocka_unit_test(mistakes_of_manifest_items_are_listed),
        cmocka_unit_test(validate_lists_every_mistake_with_its_path),
        cmocka_unit_test(validate_prints_the_same_in_json),
        cmocka_unit_test(validate_lists_any_number_of_mistakes),
        cmocka_unit_test(validate_reports_inputs_that_exceed_the_limits_of_a_run),
        cmocka_unit_test(exit_codes_are_as_documented),
        cmocka_unit_test(render_prints_every_object_the_same_each_time),
        cmocka_unit_test(render_reads_the_operators_registry_files),
        cmocka_unit_test(render_warns_about_a_missing_context),
        cmocka_unit_test(render_comments_on_values_that_depend_on_the_cluster),
        cmocka_unit_test(version_lists_the_item_types),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
