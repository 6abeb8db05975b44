/* SPDX-License-Identifier: Apache-2.0 */
/* landscaper.gardener.cloud/script: an inline program that runs in a default image. The script is
 * mounted as a file, which the kernel or the interpreter opens: no shell is involved, and nothing
 * is passed by env or args. Its text must not be part of a message. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/provider.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/shared_rules.h"

#define INTERPRETER_DEFAULT "/bin/sh"

/* They share the input Secret with the target and the imports. */
enum { FILES_TOTAL_MAX = 768 * 1024 };

static void read_files(const struct fields *fields, struct run_spec *run)
{
    const json_t *files = field_object(fields, "files");
    const char *name = NULL;
    json_t *text = NULL;
    size_t total = 0;

    json_object_foreach(field_each(files), name, text)
    {
        cleanup_free char *path = path_member("files", name);

        if (strcmp(name, FILE_SCRIPT) == 0)
            mistakes_add(fields->mistakes, MISTAKE_FORBIDDEN, path,
                         "the name " FILE_SCRIPT " is reserved for the script itself");
        if (!json_is_string(text) || run->file_count > RUN_FILES_MAX)
            continue;
        run_spec_add_file(run, name, json_string_value(text), json_string_length(text));
    }
    for (size_t i = 0; i < run->file_count; i++)
        total += run->files[i].size;
    if (total > FILES_TOTAL_MAX)
        mistakes_add(fields->mistakes, MISTAKE_TOO_LONG, "files",
                     "script and files together must not exceed %d KiB", FILES_TOTAL_MAX / 1024);
}

/* New reference; NULL if the item names no interpreter. */
static json_t *read_interpreter(const struct fields *fields)
{
    const json_t *value = field_any(fields, "interpreter");
    json_t *list = NULL;

    if (json_is_string(value))
        return json_string_length(value) > 0 ? json_pack("[O]", value) : NULL;
    list = field_text_list(fields, "interpreter");
    if (list && (json_array_size(list) == 0 || !*json_string_value(json_array_get(list, 0)))) {
        mistakes_add(fields->mistakes, MISTAKE_INVALID, "interpreter",
                     "must name a program, such as [\"/usr/bin/python3\", \"-u\"]");
        json_decref(list);
        return NULL;
    }
    return list;
}

static void make_command(const struct fields *fields, const json_t *script,
                         const struct deployer_config *deployer, struct run_spec *run)
{
    const char *text = json_string_value(script);
    bool has_shebang = strncmp(text, "#!", 2) == 0;
    json_t *command = read_interpreter(fields);

    if (!command && has_shebang) {
        const char *line_end = strchr(text, '\n');

        if (line_end && line_end[-1] == '\r')
            mistakes_add(fields->mistakes, MISTAKE_INVALID, "script",
                         "its first line ends with a carriage return, which would become a part of "
                         "the interpreter's name");
        command = json_array();
    }
    if (!command && json_array_size(deployer->script.command) > 0)
        command = json_deep_copy(deployer->script.command);
    if (!command)
        command = json_pack("[s]", INTERPRETER_DEFAULT);
    (void)json_array_append_new(command, json_string(PATH_SCRIPT));
    run->command = command;
}

/* The part that init needs, as a configuration of a container item. env, args and interpreter are
 * included because redaction takes the values to hide from the inputs. */
static json_t *make_configuration(const json_t *config)
{
    static const char *const copied[] = {"importValues", "blueprint", "componentDescriptor",
                                         "env",          "args",      "interpreter"};
    json_t *configuration = json_pack("{s:s,s:s}", "apiVersion", DEPLOYER_API_VERSION, "kind",
                                      KIND_PROVIDER_CONFIGURATION);

    for (size_t i = 0; i < array_length(copied); i++) {
        json_t *value = json_object_get(config, copied[i]);

        if (value)
            (void)json_object_set_new(configuration, copied[i], json_deep_copy(value));
    }
    return configuration;
}

static void parse_script(const json_t *config, const struct deployer_config *deployer,
                         struct run_spec *run, struct mistakes *mistakes)
{
    const struct fields fields = {config, "", mistakes};
    const json_t *script = field_any(&fields, "script");

    /* Refused by the table below; the program is the script. */
    json_decref(run->command);
    run->command = NULL;
    if (!run->image) {
        run->image = xstrdup(deployer->script.image);
        if (!run->image_pull_policy)
            run->image_pull_policy = xstrdup_or_null(deployer->script.image_pull_policy);
    }
    if (deployer->script.resources && !field_any(&fields, "resources")) {
        json_decref(run->resources);
        run->resources = json_deep_copy(deployer->script.resources);
    }
    run->configuration = make_configuration(config);
    if (!json_is_string(script) || json_string_length(script) == 0)
        return; /* reported by the table */
    run_spec_add_file(run, FILE_SCRIPT, json_string_value(script), json_string_length(script));
    make_command(&fields, script, deployer, run);
    read_files(&fields, run);
}

#define TOO_LARGE "put larger programs into an image"

static const struct field_rule file_text = {
    .types = RULE_TEXT, .max = RUN_FILE_BYTES_MAX, .reason = TOO_LARGE};

static const struct field_rule script_fields[] = {
    {.name = "script",
     .types = RULE_TEXT,
     .max = RUN_FILE_BYTES_MAX,
     .is_required = true,
     .help = "text of the program",
     .reason = TOO_LARGE},
    {.name = "interpreter",
     .types = RULE_TEXT | RULE_LIST,
     .format = &FORMAT_PROGRAM,
     .elements = &ELEMENT_TEXT,
     .help = "program that runs the script, and its arguments; default: the script's #! line, else "
             "that of the Configuration",
     .expected = "a string or a list of strings"},
    {.name = "files",
     .types = RULE_OBJECT,
     .keys = &FORMAT_FILE_NAME,
     .elements = &file_text,
     .max = RUN_FILES_MAX,
     .help = "further files, by name, in the directory of the script"},
    {.name = "command",
     .is_forbidden = true,
     .help = "not supported: use interpreter and args",
     .reason = "a script item has 'interpreter' and 'args' instead"},
    RULES_CONTINUE(PROVIDER_FIELDS),
};

const struct item_type ITEM_TYPE_SCRIPT = {
    .type = DEPLOY_ITEM_TYPE_SCRIPT,
    .api_version = SCRIPT_API_VERSION,
    .fields = script_fields,
    .parse = parse_script,
};
