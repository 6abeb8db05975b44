/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore diff`: shows what a manifest item would change in its cluster. */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/terminal.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"
#include "deployer/diff/print.h"
#include "deployer/diff/records.h"
#include "deployer/offline/offline.h"
#include "deployer/run/cluster.h"

static bool is_same_name(const json_t *item, const char *path, const json_t *other)
{
    return strcmp(doc_text_or(item, path, ""), doc_text_or(other, path, "")) == 0;
}

/* The item of the files, as it would be in the cluster after an update: with the status of the one
 * that is there, and with its target unless the files name another one. */
static int update_item(json_t *item, const json_t *stored, struct error *err)
{
    if (!doc_text(item, "metadata.namespace"))
        doc_set_text(item, "metadata.namespace", doc_text_or(stored, "metadata.namespace", ""));
    if (!is_same_name(item, "metadata.name", stored) ||
        !is_same_name(item, "metadata.namespace", stored))
        return error_set(err, ERROR_INVALID,
                         "the file contains deploy item \"%s/%s\", but --from-cluster names "
                         "\"%s/%s\"; they have to be the same item",
                         doc_text_or(item, "metadata.namespace", ""),
                         doc_text_or(item, "metadata.name", ""),
                         doc_text_or(stored, "metadata.namespace", ""),
                         doc_text_or(stored, "metadata.name", ""));
    if (!doc_get(item, "spec.target") && doc_get(stored, "spec.target"))
        doc_set_new(item, "spec.target", json_deep_copy(doc_get(stored, "spec.target")));
    (void)json_object_del(item, "status");
    if (doc_get(stored, "status"))
        doc_set_new(item, "status", json_deep_copy(doc_get(stored, "status")));
    return 0;
}

static int load_from_cluster(const struct diff_values *values, struct bundle *bundle, json_t **item,
                             struct error *err)
{
    cleanup_bundle struct bundle stored = {0};
    cleanup_json json_t *ignored = NULL;
    const json_t *found = NULL;

    bundle_init(&stored);
    if (cluster_read(values->kubeconfig, values->from_cluster, &stored, &ignored, err) < 0 ||
        offline_find_item(&stored, &found, err) < 0)
        return -1;
    /* Those of the files come first, so they are found first. */
    (void)json_array_extend(bundle->objects, stored.objects);
    if (*item)
        return update_item(*item, found, err);
    *item = json_deep_copy(found);
    return 0;
}

static int load_item(const struct diff_values *values, const char *const *files, size_t count,
                     struct bundle *bundle, json_t **ret_item, struct error *err)
{
    cleanup_json json_t *item = NULL;
    const json_t *found = NULL;

    if (offline_load_files(bundle, files, count, &values->objects, err) < 0 ||
        offline_find_item(bundle, &found, err) < 0)
        return -1;
    item = found ? json_deep_copy(found) : NULL;
    if (values->from_cluster && load_from_cluster(values, bundle, &item, err) < 0)
        return -1;
    if (!item)
        return error_set(err, ERROR_INVALID, "the files contain no " KIND_DEPLOY_ITEM);
    if (!offline_is_manifest(item))
        return error_set(err, ERROR_INVALID,
                         "deploy item \"%s\" has type \"%s\"; only manifest items "
                         "(" DEPLOY_ITEM_TYPE_MANIFEST ") can be compared with a cluster",
                         doc_text_or(item, "metadata.name", ""),
                         doc_text_or(item, "spec.type", ""));
    *ret_item = steal(&item);
    return 0;
}

static void warn(const char *text)
{
    (void)fprintf(stderr, "warning: %s\n", text);
}

static void warn_of_unknown(const struct mistakes *unknown)
{
    for (size_t i = 0; i < unknown->count; i++)
        (void)fprintf(stderr, "warning: ignored %s: %s\n", unknown->items[i].path,
                      unknown->items[i].text);
}

static int compare(const struct diff_values *values, const char *const *files, size_t count,
                   json_t **ret_document, struct error *err)
{
    cleanup_bundle struct bundle bundle = {0};
    cleanup_json json_t *item = NULL;
    cleanup_offline_manifest struct offline_manifest manifest = {0};
    cleanup_compare_records struct compare_records records = {0};
    struct offline_manifest_options options = {
        .bundle = &bundle, .kubeconfig = values->from_cluster ? NULL : values->kubeconfig};
    bool is_found = false;

    bundle_init(&bundle);
    if (load_item(values, files, count, &bundle, &item, err) < 0)
        return -1;
    options.item = item;
    if (offline_manifest_load(&options, &manifest, err) < 0 ||
        records_find(&manifest, values->state, &records, &is_found, err) < 0)
        return -1;
    warn_of_unknown(&manifest.unknown_fields);
    if (!is_found)
        warn("it is not known what the item has applied before, so objects that left it are not "
             "shown; --from-cluster reads that from Landscaper's cluster");
    return compare_item(&manifest, &records, ret_document, err);
}

static int exit_code(const json_t *document)
{
    const char *result = doc_text_or(document, "result", "");

    if (strcmp(result, "same") == 0)
        return EXIT_SUCCESS;
    return strcmp(result, "different") == 0 ? EXIT_DIFFERENT : EXIT_NOT_COMPARED;
}

static void print_json(const json_t *document)
{
    cleanup_free char *text = doc_dump(document);

    (void)printf("%s\n", text);
}

/* Programs get a document in any case. */
static int complain(const struct diff_values *values, const struct error *err)
{
    static const char program[] = "longshore diff: ";
    struct terminal terminal = {0};

    terminal_init(&terminal, stderr);
    (void)fputs(program, stderr);
    terminal_print(&terminal, err->text, strlen(program), 2);
    if (strcmp(values->output, "json") == 0) {
        cleanup_json json_t *document =
            json_pack("{s:s,s:o,s:[],s:[]}", "result", "failed", "error", doc_new_text(err->text),
                      "notes", "objects");

        print_json(document);
    }
    return err->kind == ERROR_INVALID ? EXIT_USAGE : EXIT_NOT_COMPARED;
}

static int run(const struct diff_values *values, const char *const *files, size_t count)
{
    cleanup_json json_t *document = NULL;
    struct error err = {0};

    if (count == 0 && !values->from_cluster) {
        (void)error_set(&err, ERROR_INVALID,
                        "nothing to compare: give the file of a " KIND_DEPLOY_ITEM
                        ", or --from-cluster");
        return complain(values, &err);
    }
    if (compare(values, files, count, &document, &err) < 0)
        return complain(values, &err);
    if (strcmp(values->output, "json") == 0)
        print_json(document);
    else
        print_comparison(document);
    return fflush(stdout) == 0 ? exit_code(document) : EXIT_NOT_COMPARED;
}

int diff_main(int argc, char **argv)
{
    struct diff_values values = {0};
    struct error err = {0};
    int first = 0;
    int code = EXIT_SUCCESS;

    if (options_parse(&COMMAND_DIFF, argc, argv, &values, &first, &err) < 0)
        code = complain(&values, &err);
    else if (values.is_help)
        options_print_help(&COMMAND_DIFF, stdout);
    else
        code = run(&values, (const char *const *)argv + first, (size_t)(argc - first));
    option_list_done(&values.objects);
    return code;
}
