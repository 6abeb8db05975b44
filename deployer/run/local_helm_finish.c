/* SPDX-License-Identifier: Apache-2.0 */
/* What follows on main in a local run of a helm item. The rendered files pass from the namespaces
 * of the run to the parent as a member of the result, which the parent removes. */
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/state/texts.h"
#include "deployer/helm/rendered.h"
#include "deployer/helm/type_helm.h"
#include "deployer/objects/render.h"
#include "deployer/run/local_apply.h"
#include "deployer/run/local_helm.h"
#include "deployer/run/local_helm_cluster.h"
#include "deployer/run/result.h"

/* An object: the names of the files and their texts. */
#define MEMBER_RENDERED "rendered"

/* ---- In the namespaces ---- */

struct collected {
    json_t *files;
    struct error err; /* of a file that cannot be passed on: none is left out */
};

static void add_text(void *data, const char *name, const char *text, size_t size)
{
    struct collected *collected = data;
    json_t *value = json_stringn(text, size);

    if (!value || json_object_set_new(collected->files, name, value) < 0)
        (void)error_set(&collected->err, ERROR_INVALID,
                        "rendered file \"%.200s\" is not UTF-8 text", name);
}

static int read_state(const struct workspace *workspace, json_t *files, struct error *err)
{
    struct collected collected = {.files = files};
    int state_fd = workspace_state_fd(workspace);
    struct state_source source = state_source_directory(&state_fd);
    struct text_budget budget = {.unpacked = RENDERED_UNPACKED_MAX, .text = RENDERED_TEXT_MAX};
    const struct state_generation *generation = NULL;
    struct state_set set = {0};
    int result = state_set_add_directory(&set, state_fd, err);

    if (result == 0) {
        state_set_arrange(&set);
        generation = state_set_newest(&set);
    }
    if (generation)
        result = state_find_texts(generation, &source, &budget, add_text, &collected, err);
    state_set_done(&set);
    if (result < 0)
        return error_wrap(err, "read the rendered objects");
    *err = collected.err;
    return collected.err.kind == ERROR_NONE ? 0 : -1;
}

int local_helm_collect(struct workspace *workspace, json_t *result, struct error *err)
{
    json_t *files = json_object();

    (void)json_object_set_new(result, MEMBER_RENDERED, files);
    if (result_is_success(result) && read_state(workspace, files, err) < 0)
        return -1;
    (void)json_object_del(result, "state");
    /* They may contain secrets, and no later run needs them. */
    return workspace_forget(workspace, err);
}

/* ---- In the parent ---- */

struct finish {
    const struct run_options *options;
    const struct local_helm *helm;
    const struct offline *offline;
    struct offline_manifest *manifest;
    json_t *result;
    json_t *exports; /* from values; or NULL */
};

static int make_config(struct finish *finish, const json_t *files,
                       struct manifest_config **ret_config, struct error *err)
{
    cleanup_rendered struct rendered rendered = {0};
    const char *name = NULL;
    json_t *text = NULL;

    doc_foreach(files, name, text)
        rendered_add(&rendered, name, json_string_value(text), json_string_length(text));
    return rendered_config(&rendered, finish->offline->item->config, finish->offline->item->name,
                           ret_config, &finish->exports, err);
}

/* An object of a kind that has no namespaces got that of the release. */
static void drop_namespace(json_t *object)
{
    const struct kind *kind =
        kind_builtin(doc_text_or(object, "apiVersion", ""), doc_text_or(object, "kind", ""));

    if (kind && !kind->is_namespaced)
        (void)json_object_del(json_object_get(object, "metadata"), "namespace");
}

static void show_objects(struct finish *finish, const struct manifest_config *config)
{
    const struct item *item = finish->offline->item;
    json_t *objects = manifest_render(config, item->namespace_name, item->name);

    for (size_t i = 0; i < json_array_size(objects); i++)
        drop_namespace(json_array_get(objects, i));
    (void)json_object_set_new(finish->result, "manifests", objects);
}

/* The steps of helm and those of local_apply_run() are steps of one run. */
static void deploy(struct finish *finish, struct inventory *observed)
{
    cleanup_json json_t *durations = json_incref(json_object_get(finish->result, "durations"));

    local_apply_run(finish->options, finish->manifest, observed, finish->result);
    (void)json_object_update(durations, json_object_get(finish->result, "durations"));
    (void)json_object_set(finish->result, "durations", durations);
}

static int finish_rendering(struct finish *finish, const json_t *files, struct error *err)
{
    cleanup_manifest_config struct manifest_config *config = NULL;

    if (make_config(finish, files, &config, err) < 0)
        return -1;
    if (!finish->helm->has_cluster) {
        show_objects(finish, config);
        return 0;
    }
    manifest_config_free(finish->manifest->config);
    finish->manifest->config = steal(&config);
    deploy(finish, NULL);
    return 0;
}

static int finish_release(struct finish *finish, struct error *err)
{
    cleanup_inventory struct inventory objects = {0};

    if (local_helm_read_release(finish->manifest->access, finish->offline->run->data,
                                finish->manifest->config, &objects, &finish->exports, err) < 0)
        return -1;
    deploy(finish, &objects);
    return 0;
}

void local_helm_finish(const struct run_options *options, const struct local_helm *helm,
                       const struct offline *offline, struct offline_manifest *manifest,
                       json_t *result)
{
    cleanup_json json_t *files = json_incref(json_object_get(result, MEMBER_RENDERED));
    const struct helm_config *config = offline->run->data;
    struct finish finish = {.options = options,
                            .helm = helm,
                            .offline = offline,
                            .manifest = manifest,
                            .result = result};
    struct error err = {0};
    int failed = 0;

    (void)json_object_del(result, MEMBER_RENDERED);
    if (!result_is_success(result) || strcmp(options->operation, OPERATION_DELETE) == 0)
        return;
    failed =
        config->is_release ? finish_release(&finish, &err) : finish_rendering(&finish, files, &err);
    if (failed)
        result_fail(result, RESULT_FAILED, err.text);
    else if (result_is_success(result) && finish.exports)
        (void)json_object_update_recursive(json_object_get(result, "exports"), finish.exports);
    json_decref(finish.exports);
}
