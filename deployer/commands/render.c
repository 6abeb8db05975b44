/* SPDX-License-Identifier: Apache-2.0 */
/* longshore render: every object that the controller would make for an item, as YAML. */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/commands/offline.h"

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

/* A Context of the item's own choice is as much an input as its Target. The default one is there in
 * every namespace, and most often says nothing. */
static int check_context(const struct offline *offline, struct error *err)
{
    if (offline_context(offline))
        return 0;
    if (strcmp(offline->item->context, CONTEXT_DEFAULT) != 0)
        return error_set(err, ERROR_INVALID,
                         "the item's context '%s' is missing; give it with --context FILE",
                         offline->item->context);
    (void)fprintf(stderr, "longshore render: context '" CONTEXT_DEFAULT
                          "' is not given: the controller would also use its pull Secrets and its "
                          "OCM configuration; give it with --context FILE\n");
    return 0;
}

/* What depends on the cluster. */
static void print_unknown(const struct offline *offline)
{
    const struct object_names *names = &offline->names;
    bool has_dash = strchr(offline->item->namespace_name, '-') || strchr(offline->item->name, '-');

    if (!*offline->config->identity)
        (void)printf(
            "# Without an identity the controller gives every object the label " LABEL_LANDSCAPER
            ",\n# a hash of the Landscaper's address and CA.\n");
    if (has_dash && strcmp(names->host_export, names->host_export_own) != 0)
        (void)printf("# The export is %s\n# if there is another item whose namespace and name "
                     "read the same, joined with '-'.\n",
                     names->host_export_own);
}

static int render_item(const struct render_values *values, struct bundle *bundle,
                       const json_t *item, struct error *err)
{
    cleanup_offline struct offline offline = {0};
    cleanup_pod_objects struct pod_objects objects = {0};

    if (offline_load(bundle, values->config, item, &offline, err) < 0 ||
        check_context(&offline, err) < 0 ||
        offline_objects(&offline, values->operation, &objects, err) < 0)
        return -1;
    if (strcmp(values->output, "json") != 0)
        print_unknown(&offline);
    print_object(objects.account, values->output, true);
    print_object(objects.role, values->output, false);
    print_object(objects.role_binding, values->output, false);
    print_object(objects.input, values->output, false);
    print_object(objects.pull, values->output, false);
    print_object(objects.pod, values->output, false);
    return 0;
}

static int render(const struct render_values *values, int count, char **files, struct error *err)
{
    cleanup_bundle struct bundle bundle = {0};
    cleanup_json json_t *item = NULL;

    bundle_init(&bundle);
    for (int i = 0; i < count; i++) {
        if (bundle_load(&bundle, files[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < values->objects.count; i++) {
        if (bundle_load(&bundle, values->objects.items[i], err) < 0)
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
    return render_item(values, &bundle, item, err);
}

int render_main(int argc, char **argv)
{
    struct render_values values = {0};
    struct error err = {0};
    int first = 0;
    int result = options_parse(&COMMAND_RENDER, argc, argv, &values, &first, &err);

    if (result == 0 && values.is_help) {
        options_print_help(&COMMAND_RENDER, stdout);
    } else {
        if (result == 0 && first == argc)
            result =
                error_set(&err, ERROR_INVALID, "no file is given; see 'longshore render --help'");
        if (result == 0)
            result = render(&values, argc - first, argv + first, &err);
    }
    option_list_done(&values.objects);
    if (result < 0) {
        (void)fprintf(stderr, "longshore render: %s\n", err.text);
        return err.kind == ERROR_INVALID ? EXIT_USAGE : EXIT_FAILURE;
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
