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

/* Runs a command with its output in a file; the output belongs to the caller. */
static char *output_of(int (*command)(int, char **), const char *const *arguments, int *ret_code)
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
    saved = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    *ret_code = command(argc, argv);
    (void)fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
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

static void validate_names_every_mistake_with_its_path(void **state)
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
        "team/Bad_Name: warning: spec.config.blueprint.ref: has no effect: inline wins\n",
        "team/Bad_Name: warning: spec.config.blueprint.inline.extra: unknown field\n",
        "team/Bad_Name: spec.config.blueprint.inline.filesystem: expected an object of file names"};

    (void)state;
    assert_int_equal(code, 2);
    for (size_t i = 0; i < array_length(expected); i++) {
        if (!strstr(text, expected[i]))
            fail_msg("'%s' is not in\n%s", expected[i], text);
    }
}

static void validate_tells_the_same_in_json(void **state)
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

static void validate_counts_what_it_does_not_name(void **state)
{
    static const char *const arguments[] = {"validate", "testdata/many.yaml", NULL};
    int code = 0;
    cleanup_free char *text = output_of(validate_main, arguments, &code);

    (void)state;
    assert_int_equal(code, 2);
    assert_non_null(strstr(text, "DeployItem team/errors: spec.config: and 36 more mistakes\n"));
    /* Unknown fields are warnings however many they are. */
    assert_non_null(
        strstr(text, "DeployItem team/warnings: warning: spec.config: and 6 more mistakes\n"));
}

static const struct {
    int (*command)(int, char **);
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
    {render_main, {"render"}, 2},
    {version_main, {"version"}, 0},
    {version_main, {"version", "--json"}, 0},
    {version_main, {"version", "--what"}, 2},
};

static void exit_codes_are_an_interface(void **state)
{
    int saved = dup(STDERR_FILENO);
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_true(dup2(quiet, STDERR_FILENO) >= 0);
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
    (void)close(quiet);
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

static void version_knows_the_types(void **state)
{
    static const char *const arguments[] = {"version", "--json", NULL};
    int code = 0;
    cleanup_free char *text = output_of(version_main, arguments, &code);
    cleanup_json json_t *doc = sample_doc(text);

    (void)state;
    assert_string_equal(doc_text(doc, "version"), LONGSHORE_VERSION);
    assert_int_equal(json_array_size(doc_get(doc, "types")), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validate_names_every_mistake_with_its_path),
        cmocka_unit_test(validate_tells_the_same_in_json),
        cmocka_unit_test(validate_counts_what_it_does_not_name),
        cmocka_unit_test(exit_codes_are_an_interface),
        cmocka_unit_test(render_prints_every_object_the_same_each_time),
        cmocka_unit_test(render_reads_the_operators_registry_files),
        cmocka_unit_test(version_knows_the_types),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
