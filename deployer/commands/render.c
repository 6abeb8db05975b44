/* SPDX-License-Identifier: Apache-2.0 */
/* longshore render: every object that the controller would make for an item, as YAML. */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/options.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/commands/offline.h"

struct render_options {
    struct option_list objects;
    const char *config, *operation, *output;
    bool is_help;
};

static void print_object(const json_t *object, const char *output, bool is_first)
{
    cleanup_wipe char *text = NULL;

    if (!object)
        return;
    if (strcmp(output, "json") == 0) {
        text = doc_dump(object);
        (void)printf("%s\n", text);
        return;
    }
    text = doc_dump_yaml(object);
    (void)printf("%s%s", is_first ? "" : "---\n", text);
}

static int render_item(const struct render_options *options, struct bundle *bundle,
                       const json_t *item, struct error *err)
{
    cleanup_offline struct offline offline = {0};
    cleanup_pod_objects struct pod_objects objects = {0};

    if (offline_load(bundle, options->config, item, &offline, err) < 0 ||
        offline_objects(&offline, options->operation, &objects, err) < 0)
        return -1;
    print_object(objects.account, options->output, true);
    print_object(objects.role, options->output, false);
    print_object(objects.role_binding, options->output, false);
    print_object(objects.input, options->output, false);
    print_object(objects.pull, options->output, false);
    print_object(objects.pod, options->output, false);
    return 0;
}

static int render(const struct render_options *options, int count, char **files, struct error *err)
{
    cleanup_bundle struct bundle bundle = {0};
    cleanup_json json_t *item = NULL;

    bundle_init(&bundle);
    for (int i = 0; i < count; i++) {
        if (bundle_load(&bundle, files[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < options->objects.count; i++) {
        if (bundle_load(&bundle, options->objects.items[i], err) < 0)
            return -1;
    }
    if (!bundle_at(&bundle, KIND_DEPLOY_ITEM, 0))
        return error_set(err, ERROR_INVALID, "the files hold no " KIND_DEPLOY_ITEM);
    if (bundle_at(&bundle, KIND_DEPLOY_ITEM, 1))
        return error_set(err, ERROR_INVALID,
                         "the files hold more than one " KIND_DEPLOY_ITEM ": '%s' and '%s'",
                         doc_text_or(bundle_at(&bundle, KIND_DEPLOY_ITEM, 0), "metadata.name", ""),
                         doc_text_or(bundle_at(&bundle, KIND_DEPLOY_ITEM, 1), "metadata.name", ""));
    item = json_deep_copy(bundle_at(&bundle, KIND_DEPLOY_ITEM, 0));
    return render_item(options, &bundle, item, err);
}

static int check_options(const struct render_options *options, int first, int argc,
                         struct error *err)
{
    if (first == argc)
        return error_set(err, ERROR_INVALID, "no file is given; see 'longshore render --help'");
    if (strcmp(options->operation, OPERATION_RECONCILE) != 0 &&
        strcmp(options->operation, OPERATION_DELETE) != 0)
        return error_set(err, ERROR_INVALID,
                         "option '--operation' must be " OPERATION_RECONCILE
                         " or " OPERATION_DELETE);
    if (strcmp(options->output, "yaml") != 0 && strcmp(options->output, "json") != 0)
        return error_set(err, ERROR_INVALID, "option '--output' must be yaml or json");
    return 0;
}

int render_main(int argc, char **argv)
{
    struct render_options options = {.operation = OPERATION_RECONCILE, .output = "yaml"};
    const struct option_row rows[] = {
        {"target", 0, OPTION_TEXT_LIST, &options.objects, "FILE", "the Target, and its Secret"},
        {"context", 0, OPTION_TEXT_LIST, &options.objects, "FILE",
         "the Context, and its ConfigMap"},
        {"secret", 0, OPTION_TEXT_LIST, &options.objects, "FILE",
         "Secrets: registry credentials, the target's, the state's; may be repeated"},
        {"config", 0, OPTION_TEXT, &options.config, "FILE", "the deployer's configuration"},
        {"operation", 0, OPTION_TEXT, &options.operation, "OP",
         OPERATION_RECONCILE " (default) or " OPERATION_DELETE},
        {"output", 'o', OPTION_TEXT, &options.output, "FORM",
         "yaml (default) or json, an object a line"},
        {"help", 'h', OPTION_FLAG, &options.is_help, NULL, "print this help"},
        {0},
    };
    const struct option_command command = {
        "longshore render", "[OPTIONS] FILE...",
        "Prints every object that the controller would make for a DeployItem, Secrets included",
        rows};
    struct error err = {0};
    int first = 0;
    int result = options_parse(&command, argc, argv, &first, &err);

    if (result == 0 && options.is_help) {
        options_print_help(&command, stdout);
    } else {
        if (result == 0)
            result = check_options(&options, first, argc, &err);
        if (result == 0)
            result = render(&options, argc - first, argv + first, &err);
    }
    option_list_done(&options.objects);
    if (result < 0) {
        (void)fprintf(stderr, "longshore render: %s\n", err.text);
        return err.kind == ERROR_INVALID ? EXIT_USAGE : EXIT_FAILURE;
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
