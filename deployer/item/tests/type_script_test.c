/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/tests/sample.h"

static const struct {
    const char *config, *provider, *command;
} commands[] = {
    {NULL, "{script: 'echo'}", "[\"/bin/sh\",\"/data/ls/script/script\"]"},
    {NULL, "{script: 'x', interpreter: /bin/bash}", "[\"/bin/bash\",\"/data/ls/script/script\"]"},
    {NULL, "{script: 'x', interpreter: [/usr/bin/python3, -u]}",
     "[\"/usr/bin/python3\",\"-u\",\"/data/ls/script/script\"]"},
    {NULL, "{script: '#!/usr/bin/python3'}", "[\"/data/ls/script/script\"]"},
    {NULL, "{script: '#!/usr/bin/python3', interpreter: /bin/cat}",
     "[\"/bin/cat\",\"/data/ls/script/script\"]"},
    {"script: {command: [/bin/ash, -e]}", "{script: 'x'}",
     "[\"/bin/ash\",\"-e\",\"/data/ls/script/script\"]"},
    {"script: {command: [/bin/ash]}", "{script: '#!/bin/x'}", "[\"/data/ls/script/script\"]"},
};

static void the_interpreter_is_chosen_from_item_script_or_default(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(commands); i++) {
        cleanup_sample_run struct sample_run sample = {0};
        cleanup_free char *text = NULL;

        sample_run_init(&sample, DEPLOY_ITEM_TYPE_SCRIPT, commands[i].config, commands[i].provider);
        text = doc_dump(sample.run->command);
        assert_string_equal(text, commands[i].command);
    }
}

static void script_and_files_become_files(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    const struct run_spec *run = NULL;

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_SCRIPT, "script: {image: 'tools:2'}",
                    "{script: 'secret program', files: {lib.sh: 'b', data-1_x: ''}, args: [a], "
                    "importValues: {k: v}, env: [{name: A, value: b}]}");
    run = sample.run;
    assert_string_equal(run->image, "tools:2");
    assert_int_equal(run->file_count, 3);
    assert_string_equal(run->files[0].name, "script");
    assert_string_equal(run->files[0].data, "secret program");
    assert_int_equal(run->files[0].size, strlen("secret program"));
    assert_string_equal(run->files[1].name, "lib.sh");
    assert_int_equal(json_array_size(run->env), 1);
    assert_int_equal(json_array_size(run->args), 1);
    /* init gets only the fields that it knows, not the program. */
    assert_string_equal(doc_text(run->configuration, "apiVersion"), DEPLOYER_API_VERSION);
    assert_string_equal(doc_text(run->configuration, "importValues.k"), "v");
    assert_int_equal(json_array_size(doc_get(run->configuration, "env")), 1);
    assert_int_equal(json_array_size(doc_get(run->configuration, "args")), 1);
    assert_int_equal(json_object_size(run->configuration), 5);
}

static char *mistakes_of(json_t *provider)
{
    cleanup_sample_run struct sample_run sample = {0};

    (void)!sample_run_parse(&sample, DEPLOY_ITEM_TYPE_SCRIPT, sample_config(NULL), provider);
    assert_true((sample.run == NULL) == (sample.mistakes.errors > 0));
    return mistakes_text(&sample.mistakes);
}

static const struct {
    const char *yaml, *expected;
} cases[] = {
    {"{image: a}", "script: Required value: text of the program"},
    {"{script: ''}", "script: Required value: text of the program"},
    {"{script: [a]}", "script: expected a string, got a list"},
    {"{script: x, command: [sh]}",
     "command: Forbidden: a script item has 'interpreter' and 'args' instead"},
    {"{script: x, interpreter: []}", "interpreter: Invalid value: must name a program, such as "
                                     "[\"/usr/bin/python3\", \"-u\"]"},
    {"{script: x, interpreter: ''}", "interpreter: Invalid value: must name a program, such as "
                                     "[\"/usr/bin/python3\", \"-u\"]"},
    {"{script: x, interpreter: ['', -u]}",
     "interpreter: Invalid value: must name a program, such as [\"/usr/bin/python3\", \"-u\"]"},
    {"{script: x, interpreter: 5}",
     "interpreter: expected a string or a list of strings, got a number"},
    {"{script: x, interpreter: python3 -u}", "interpreter: Invalid value: \"python3 -u\": a string "
                                             "names one program; to pass arguments, use "
                                             "a list such as [\"/usr/bin/python3\", \"-u\"]"},
    {"{script: x, files: {../a: b}}",
     "files.\"../a\": Invalid value: \"../a\": must be a file name "
     "of letters, digits, '-', '_' and '.'"},
    {"{script: x, files: {..: b}}", "files.\"..\": Invalid value: \"..\": must be a file name of "
                                    "letters, digits, '-', '_' and '.'"},
    {"{script: x, files: {script: b}}",
     "files.script: Forbidden: the name script is reserved for the script itself"},
    {"{script: x, files: {a: 5}}", "files.a: expected a string, got a number"},
    {"{script: x, files: [a]}", "files: expected an object, got a list"},
    {"{script: \"#!/bin/sh\\r\\nx\"}",
     "script: Invalid value: its first line ends with a carriage return, which would become a part "
     "of the interpreter's name"},
    {"{script: x, apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1}",
     "apiVersion: \"container.deployer.landscaper.gardener.cloud/v1alpha1\": a "
     "landscaper.gardener.cloud/script item has a provider configuration of "
     "script.deployer.landscaper.gardener.cloud/v1alpha1"},
    {"{script: x, env: [{name: STATE, value: a}]}",
     "env[0].name: Forbidden: \"STATE\" is set by the deployer"},
};

static void every_mistake_in_a_script_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text = mistakes_of(sample_doc(cases[i].yaml));

        assert_string_equal(text, cases[i].expected);
    }
}

static json_t *text_of_size(size_t size)
{
    cleanup_free char *text = xmalloc(size + 1);

    memset(text, 'x', size);
    return json_stringn(text, size);
}

static void the_limit_of_half_a_mebibyte_is_exact(void **state)
{
    cleanup_free char *fits = mistakes_of(json_pack("{s:o}", "script", text_of_size(512 * 1024)));
    cleanup_free char *over =
        mistakes_of(json_pack("{s:o}", "script", text_of_size(512 * 1024 + 1)));
    cleanup_free char *file = mistakes_of(
        json_pack("{s:s,s:{s:o}}", "script", "x", "files", "a", text_of_size(512 * 1024 + 1)));
    cleanup_free char *sum =
        mistakes_of(json_pack("{s:o,s:{s:o}}", "script", text_of_size(400 * 1024), "files", "a",
                              text_of_size(400 * 1024)));

    (void)state;
    assert_string_equal(fits, "");
    assert_string_equal(over, "script: Too long: must not exceed 512 KiB; put larger programs "
                              "into an image");
    assert_string_equal(file, "files.a: Too long: must not exceed 512 KiB; put larger "
                              "programs into an image");
    assert_string_equal(sum, "files: Too long: script and files together must not exceed 768 KiB");
}

static json_t *with_files(size_t count, size_t name_size)
{
    json_t *files = json_object();

    for (size_t i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("%0*zu", (int)name_size, i);

        (void)json_object_set_new(files, name, json_string(""));
    }
    return json_pack("{s:s,s:o}", "script", "x", "files", files);
}

static void the_limit_of_sixty_four_files_is_exact(void **state)
{
    cleanup_free char *fits = mistakes_of(with_files(64, 253));
    cleanup_free char *many = mistakes_of(with_files(65, 2));
    cleanup_free char *long_name = mistakes_of(with_files(1, 254));

    (void)state;
    assert_string_equal(fits, "");
    assert_string_equal(many, "files: Too long: must not have more than 64 elements");
    assert_non_null(strstr(long_name, "must be a file name of letters"));
}

static const struct {
    const char *provider, *image, *policy;
} images[] = {
    {"{script: x}", "tools:2", "Always"},
    {"{script: x, imagePullPolicy: Never}", "tools:2", "Never"},
    {"{script: x, image: 'own:1'}", "own:1", NULL},
};

static void the_default_image_has_its_own_pull_policy(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(images); i++) {
        cleanup_sample_run struct sample_run sample = {0};

        sample_run_init(&sample, DEPLOY_ITEM_TYPE_SCRIPT,
                        "script: {image: 'tools:2', imagePullPolicy: Always}", images[i].provider);
        assert_string_equal(sample.run->image, images[i].image);
        if (images[i].policy)
            assert_string_equal(sample.run->image_pull_policy, images[i].policy);
        else
            assert_null(sample.run->image_pull_policy);
    }
}

static void no_mistake_quotes_the_script_or_a_file(void **state)
{
    static const char *const wrong[] = {
        "{script: \"#!/canary\\r\\n\", files: {a: canary}}",
        "{script: [canary], files: {a: [canary]}}",
        "{script: canary, files: {script: canary, ..: canary}, interpreter: [], command: [x]}",
    };

    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        cleanup_free char *text = mistakes_of(sample_doc(wrong[i]));

        assert_true(*text);
        assert_null(strstr(text, "canary"));
    }
}

static void resources_are_chosen_from_item_script_or_default(void **state)
{
    static const char operator[] = "{pod: {resources: {limits: {memory: 1Gi}}}, script: "
                                   "{resources: {limits: {memory: 2Gi}}}}";
    static const struct {
        const char *type, *config, *provider, *memory;
    } wanted[] = {
        {DEPLOY_ITEM_TYPE_SCRIPT, operator, "{script: x}", "2Gi"},
        {DEPLOY_ITEM_TYPE_SCRIPT, operator, "{script: x, resources: {limits: {memory: 3Gi}}}",
         "3Gi"},
        {DEPLOY_ITEM_TYPE_SCRIPT, "pod: {resources: {limits: {memory: 1Gi}}}", "{script: x}",
         "1Gi"},
        {DEPLOY_ITEM_TYPE_CONTAINER, operator, "{image: 'a:1'}", "1Gi"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(wanted); i++) {
        cleanup_sample_run struct sample_run sample = {0};

        sample_run_init(&sample, wanted[i].type, wanted[i].config, wanted[i].provider);
        assert_string_equal(doc_text(sample.run->resources, "limits.memory"), wanted[i].memory);
    }
}

static void a_disabled_type_is_known_but_not_served(void **state)
{
    cleanup_config struct deployer_config *on = sample_config(NULL);
    cleanup_config struct deployer_config *off = sample_config("script: {enabled: false}");

    (void)state;
    assert_ptr_equal(item_type_served(on, DEPLOY_ITEM_TYPE_SCRIPT), &ITEM_TYPE_SCRIPT);
    assert_ptr_equal(item_type_served(on, DEPLOY_ITEM_TYPE_CONTAINER), &ITEM_TYPE_CONTAINER);
    assert_null(item_type_served(off, DEPLOY_ITEM_TYPE_SCRIPT));
    assert_ptr_equal(item_type_served(off, DEPLOY_ITEM_TYPE_CONTAINER), &ITEM_TYPE_CONTAINER);
    assert_null(item_type_served(on, "landscaper.gardener.cloud/mock"));
    assert_ptr_equal(item_type_find(DEPLOY_ITEM_TYPE_SCRIPT), &ITEM_TYPE_SCRIPT);
}

static void the_table_contains_both_types_and_no_other(void **state)
{
    (void)state;
    assert_ptr_equal(item_type_find(DEPLOY_ITEM_TYPE_CONTAINER), &ITEM_TYPE_CONTAINER);
    assert_ptr_equal(item_type_find(DEPLOY_ITEM_TYPE_SCRIPT), &ITEM_TYPE_SCRIPT);
    assert_null(item_type_find("landscaper.gardener.cloud/mock"));
    assert_ptr_equal(item_type_at(2), &ITEM_TYPE_HELM);
    assert_null(item_type_at(3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interpreter_is_chosen_from_item_script_or_default),
        cmocka_unit_test(script_and_files_become_files),
        cmocka_unit_test(every_mistake_in_a_script_is_reported),
        cmocka_unit_test(the_limit_of_half_a_mebibyte_is_exact),
        cmocka_unit_test(the_limit_of_sixty_four_files_is_exact),
        cmocka_unit_test(the_default_image_has_its_own_pull_policy),
        cmocka_unit_test(no_mistake_quotes_the_script_or_a_file),
        cmocka_unit_test(resources_are_chosen_from_item_script_or_default),
        cmocka_unit_test(a_disabled_type_is_known_but_not_served),
        cmocka_unit_test(the_table_contains_both_types_and_no_other),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
