/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/item/provider.h"

static void print_json(void)
{
    cleanup_json json_t *types = json_array();
    cleanup_json json_t *doc = NULL;
    cleanup_free char *text = NULL;

    for (size_t i = 0; item_type_at(i); i++)
        (void)json_array_append_new(types, json_string(item_type_at(i)->type));
    doc = json_pack("{s:s,s:s,s:s,s:O}", "name", "longshore", "version", LONGSHORE_VERSION,
                    "compiler", __VERSION__, "types", types);
    text = doc_dump(doc);
    (void)printf("%s\n", text);
}

int version_main(int argc, char **argv)
{
    struct version_values values = {0};
    struct error err = {0};
    int first = 0;

    if (options_parse(&COMMAND_VERSION, argc, argv, &values, &first, &err) < 0) {
        (void)fprintf(stderr, "longshore version: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (values.is_help)
        options_print_help(&COMMAND_VERSION, stdout);
    else if (values.is_json)
        print_json();
    else
        (void)printf("longshore %s\n", LONGSHORE_VERSION);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
