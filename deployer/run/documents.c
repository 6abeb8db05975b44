/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/documents.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/data/uuid.h"
#include "deployer/run/cluster.h"
#include "deployer/run/credentials.h"
#include "deployer/run/source.h"

enum { IMPORTS_MAX = 1024 * 1024 };
/* Replaces an image on this machine, which has no reference, in the rendered pod. */
static const char LOCAL_IMAGE[] = "localhost/longshore/local:latest";

void documents_free(struct documents *documents)
{
    if (!documents)
        return;
    offline_manifest_done(&documents->manifest);
    offline_done(&documents->offline);
    keyring_free(documents->keyring);
    free(documents->image);
    json_decref(documents->helm.item);
    json_decref(documents->state_secrets);
    free(documents);
}

/* ---- The item. ---- */

static int set_imports(json_t *item, const char *path, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    json_t *imports = NULL;

    buffer_init(&text, IMPORTS_MAX);
    if (doc_read_file(path, IMPORTS_MAX, &text, err) < 0 ||
        doc_parse_yaml(text.data ? text.data : "", text.size, IMPORTS_MAX, &imports, err) < 0) {
        err->kind = ERROR_INVALID;
        return error_wrap(err, "option --imports \"%s\"", path);
    }
    doc_set_new(item, "spec.config.importValues", imports);
    return 0;
}

/* Named after the image, so that each image has a state of its own. */
static json_t *item_from_image(const char *image)
{
    cleanup_free char *identity = source_identity(image);
    const char *slash = strrchr(identity, '/');
    cleanup_free char *name = name_make(identity, slash ? slash + 1 : identity, "", 0);

    return json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:{s:s, s:s}}}", "apiVersion",
                     LANDSCAPER_API_VERSION, "kind", KIND_DEPLOY_ITEM, "metadata", "name", name,
                     "spec", "type", DEPLOY_ITEM_TYPE_CONTAINER, "config", "apiVersion",
                     DEPLOYER_API_VERSION, "kind", KIND_PROVIDER_CONFIGURATION);
}

/* Sets the fields that an API server and Landscaper would have set. */
static void complete(json_t *item)
{
    char uuid[UUID_TEXT_SIZE] = {0};

    uuid_make(uuid);
    if (!doc_text(item, "metadata.uid"))
        doc_set_text(item, "metadata.uid", uuid);
    uuid_make(uuid);
    json_object_set_new(item, "status", json_pack("{s:s}", "jobID", uuid));
}

/* Remembers the image, and replaces a local one in the item, which would not be a valid reference.
 */
static int take_image(struct documents *documents, const struct run_options *options, json_t *item,
                      struct error *err)
{
    const char *given = documents->helm.is_item ? NULL : doc_text(item, "spec.config.image");
    const char *image = options->image ? options->image : given;

    if (!image)
        return 0;
    if (source_check_reference(image, err) < 0)
        return -1;
    documents->image = xstrdup(image);
    if (documents->helm.is_item) /* its image is that of the configuration */
        return 0;
    doc_set_text(item, "spec.config.image", source_is_local(image) ? LOCAL_IMAGE : image);
    return 0;
}

static int find_item(const struct bundle *bundle, const struct run_options *options,
                     json_t **ret_item, struct error *err)
{
    const json_t *found = NULL;

    if (offline_find_item(bundle, &found, err) < 0)
        return -1;
    if (!found && !options->image)
        return error_set(err, ERROR_INVALID, "the files contain no " KIND_DEPLOY_ITEM);
    *ret_item = found ? json_deep_copy(found) : item_from_image(options->image);
    return 0;
}

/* ---- Credentials and files. ---- */

/* The user's own credentials come last: those of the documents take precedence. */
static int load_credentials(struct documents *documents, struct error *err)
{
    const json_t *row = NULL;
    size_t index = 0;

    if (credentials_add(documents->offline.docker_configs, err) < 0)
        return -1;
    documents->keyring = keyring_new();
    json_array_foreach(documents->offline.docker_configs, index, row)
    {
        size_t helpers = 0;

        if (keyring_add_docker_config(documents->keyring, doc_text_or(row, "origin", ""),
                                      doc_get(row, "config"), &helpers, err) < 0)
            return -1;
    }
    return 0;
}

static int load_files(struct documents *documents, struct bundle *bundle,
                      const struct run_options *options, struct error *err)
{
    if (offline_load_files(bundle, options->files, options->file_count, &options->objects, err) < 0)
        return -1;
    return options->from_cluster ? cluster_read(options->kubeconfig, options->from_cluster, bundle,
                                                &documents->state_secrets, err)
                                 : 0;
}

/* ---- Manifest items. ---- */

static int refuse_options(const struct run_options *options, struct error *err)
{
    const char *option = options->image      ? "--image"
                         : options->imports  ? "--imports"
                         : options->is_shell ? "--shell"
                                             : NULL;

    if (option)
        return error_set(err, ERROR_INVALID,
                         "option %s cannot be used with a manifest item, which has no pod", option);
    /* The controller would not know what was applied behind its back. */
    if (options->from_cluster)
        return error_set(err, ERROR_INVALID,
                         "option --from-cluster: \"%s\" is a manifest item, which the controller "
                         "of that cluster applies; compare it with 'longshore diff --from-cluster "
                         "%s', or run a copy of it from a file",
                         options->from_cluster, options->from_cluster);
    return 0;
}

static int load_manifest(const struct run_options *options, const struct bundle *bundle,
                         const json_t *item, struct documents *documents, struct error *err)
{
    const struct offline_manifest_options wanted = {
        .bundle = bundle,
        .item = item,
        .kubeconfig = options->kubeconfig,
        .is_delete = strcmp(options->operation, OPERATION_DELETE) == 0};

    documents->is_manifest = true;
    if (refuse_options(options, err) < 0)
        return -1;
    return offline_manifest_load(&wanted, &documents->manifest, err);
}

/* ---- Helm items. ---- */

static int load_removal(const struct run_options *options, const struct bundle *bundle,
                        struct documents *documents, struct error *err)
{
    const struct offline_manifest_options wanted = {.bundle = bundle,
                                                    .item = documents->helm.item,
                                                    .kubeconfig = options->kubeconfig,
                                                    .is_delete = true};

    documents->is_manifest = true;
    return offline_manifest_load(&wanted, &documents->manifest, err);
}

/* ---- Items with a pod. ---- */

static int load_run(const struct run_options *options, struct bundle *bundle, json_t *item,
                    struct documents *documents, struct error *err)
{
    if (take_image(documents, options, item, err) < 0)
        return -1;
    if (options->imports && set_imports(item, options->imports, err) < 0)
        return -1;
    complete(item);
    if (offline_load(bundle, options->config, item, &documents->offline, err) < 0 ||
        load_credentials(documents, err) < 0)
        return -1;
    if (documents->helm.is_item &&
        local_helm_prepare(options, &documents->helm, &documents->offline, &documents->manifest,
                           err) < 0)
        return -1;
    if (!documents->image)
        documents->image = xstrdup(documents->offline.run->image);
    return 0;
}

static int load_item(const struct run_options *options, struct bundle *bundle, json_t *item,
                     struct documents *documents, struct error *err)
{
    if (offline_is_manifest(item))
        return load_manifest(options, bundle, item, documents, err);
    if (offline_is_type(item, DEPLOY_ITEM_TYPE_HELM)) {
        if (local_helm_adapt(options, bundle, item, &documents->helm, err) < 0)
            return -1;
        if (local_helm_is_removal(options, &documents->helm))
            return load_removal(options, bundle, documents, err);
    }
    return load_run(options, bundle, item, documents, err);
}

int documents_load(const struct run_options *options, struct documents **ret_documents,
                   struct error *err)
{
    cleanup_documents struct documents *documents = xcalloc(1, sizeof(*documents));
    cleanup_bundle struct bundle bundle = {0};
    cleanup_json json_t *item = NULL;

    bundle_init(&bundle);
    if (load_files(documents, &bundle, options, err) < 0 ||
        find_item(&bundle, options, &item, err) < 0)
        return -1;
    if (load_item(options, &bundle, item, documents, err) < 0)
        return -1;
    *ret_documents = steal(&documents);
    return 0;
}
