/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore render`: prints the objects that the controller would create for an item. */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/objects/render.h"
#include "deployer/offline/manifest.h"
#include "deployer/offline/offline.h"

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

/* Comments on values that depend on the cluster. */
static void print_unknown(const struct offline *offline)
{
    const struct object_names *names = &offline->names;
    bool has_dash = strchr(offline->item->namespace_name, '-') || strchr(offline->item->name, '-');

    if (!*offline->config->identity)
        (void)printf("# Without an identity, the controller sets the label " LABEL_LANDSCAPER
                     " on every object\n# to a hash of Landscaper's address and CA.\n");
    if (has_dash && strcmp(names->host_export, names->host_export_own) != 0)
        (void)printf("# The export Secret is called %s\n# if another item has the same "
                     "namespace and name when joined with '-'.\n",
                     names->host_export_own);
}

static int render_item(const struct render_values *values, struct bundle *bundle,
                       const json_t *item, struct error *err)
{
    cleanup_offline struct offline offline = {0};
    cleanup_pod_objects struct pod_objects objects = {0};

    if (offline_load(bundle, values->config, item, &offline, err) < 0)
        return -1;
    if (offline_missing_context(&offline))
        (void)fprintf(stderr, "warning: %s\n", offline_missing_context(&offline));
    if (offline_objects(&offline, values->operation, &objects, err) < 0)
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

/* Objects of a manifest item need nothing but the item. */
static int render_manifests(const struct render_values *values, const struct item *item,
                            struct error *err)
{
    cleanup_manifest_config struct manifest_config *config = NULL;
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_json json_t *objects = NULL;

    if (offline_manifest_config(item, &config, &mistakes, err) < 0)
        return -1;
    objects = manifest_render(config, item->namespace_name, item->name);
    for (size_t i = 0; i < json_array_size(objects); i++)
        print_object(json_array_get(objects, i), values->output, i == 0);
    return 0;
}

static int render_any(const struct render_values *values, struct bundle *bundle,
                      const json_t *object, struct error *err)
{
    cleanup_json json_t *complete = offline_complete(object);
    cleanup_item struct item *item = NULL;

    if (item_parse(complete, &item, err) < 0)
        return -1;
    if (strcmp(item_effective_type(item), DEPLOY_ITEM_TYPE_MANIFEST) == 0)
        return render_manifests(values, item, err);
    return render_item(values, bundle, object, err);
}

static int render(const struct render_values *values, int count, char **files, struct error *err)
{
    cleanup_bundle struct bundle bundle = {0};
    const json_t *found = NULL;
    cleanup_json json_t *item = NULL;

    bundle_init(&bundle);
    if (offline_load_files(&bundle, (const char *const *)files, (size_t)count, &values->objects,
                           err) < 0 ||
        offline_find_item(&bundle, &found, err) < 0)
        return -1;
    if (!found)
        return error_set(err, ERROR_INVALID, "the files contain no " KIND_DEPLOY_ITEM);
    item = json_deep_copy(found);
    return render_any(values, &bundle, item, err);
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
            result = error_set(&err, ERROR_INVALID, "no file given; see 'longshore render --help'");
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
