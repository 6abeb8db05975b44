/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/job.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/uuid.h"
#include "deployer/run/cluster.h"
#include "deployer/run/credentials.h"
#include "deployer/run/source.h"

enum { IMPORTS_MAX = 1024 * 1024 };
/* Stands in the rendered pod for an image that has no reference: one on this machine. */
static const char LOCAL_IMAGE[] = "localhost/longshore/local:latest";

void job_free(struct job *job)
{
    if (!job)
        return;
    offline_done(&job->offline);
    keyring_free(job->keyring);
    free(job->image);
    json_decref(job->state_secrets);
    free(job);
}

/* ---- The item. ---- */

static int set_imports(json_t *item, const char *path, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    json_t *imports = NULL;

    buffer_init(&text, IMPORTS_MAX);
    if (doc_read_file(path, IMPORTS_MAX, &text, err) < 0 ||
        doc_parse_yaml(text.data ? text.data : "", text.size, IMPORTS_MAX, &imports, err) < 0)
        return error_wrap(err, "imports '%s'", path);
    doc_set_new(item, "spec.config.importValues", imports);
    return 0;
}

static json_t *item_from_image(void)
{
    return json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:{s:s, s:s}}}", "apiVersion",
                     LANDSCAPER_API_VERSION, "kind", KIND_DEPLOY_ITEM, "metadata", "name", "local",
                     "spec", "type", DEPLOY_ITEM_TYPE_CONTAINER, "config", "apiVersion",
                     DEPLOYER_API_VERSION, "kind", KIND_PROVIDER_CONFIGURATION);
}

/* What an API server and Landscaper would have filled in. */
static void complete(json_t *item)
{
    char uuid[UUID_TEXT_SIZE] = {0};

    uuid_make(uuid);
    if (!doc_text(item, "metadata.uid"))
        doc_set_text(item, "metadata.uid", uuid);
    uuid_make(uuid);
    json_object_set_new(item, "status", json_pack("{s:s}", "jobID", uuid));
}

/* A local image is taken out of the item before it is checked as a reference. */
static void take_image(struct job *job, const struct run_options *options, json_t *item)
{
    const char *given = doc_text(item, "spec.config.image");
    const char *image = options->image ? options->image : given;

    if (!image)
        return;
    job->image = xstrdup(image);
    doc_set_text(item, "spec.config.image", source_is_local(image) ? LOCAL_IMAGE : image);
}

static int find_item(const struct bundle *bundle, const struct run_options *options,
                     json_t **ret_item, struct error *err)
{
    const json_t *found = bundle_at(bundle, KIND_DEPLOY_ITEM, 0);
    const json_t *second = bundle_at(bundle, KIND_DEPLOY_ITEM, 1);

    if (second)
        return error_set(err, ERROR_INVALID,
                         "the files hold more than one DeployItem ('%s' and '%s'); a run is of one",
                         doc_text_or(found, "metadata.name", ""),
                         doc_text_or(second, "metadata.name", ""));
    if (!found && !options->image)
        return error_set(err, ERROR_INVALID, "the files hold no DeployItem");
    *ret_item = found ? json_deep_copy(found) : item_from_image();
    return 0;
}

/* ---- What goes with it. ---- */

/* The user's own credentials come last: what the documents name is more precise. */
static int load_credentials(struct job *job, struct error *err)
{
    const json_t *row = NULL;
    size_t index = 0;

    if (credentials_add(job->offline.docker_configs, err) < 0)
        return -1;
    job->keyring = keyring_new();
    json_array_foreach(job->offline.docker_configs, index, row)
    {
        size_t helpers = 0;

        if (keyring_add_docker_config(job->keyring, doc_text_or(row, "origin", ""),
                                      doc_get(row, "config"), &helpers, err) < 0)
            return -1;
    }
    return 0;
}

static int load_files(struct job *job, struct bundle *bundle, const struct run_options *options,
                      struct error *err)
{
    for (size_t i = 0; i < options->file_count; i++) {
        if (bundle_load(bundle, options->files[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < options->objects.count; i++) {
        if (bundle_load(bundle, options->objects.items[i], err) < 0)
            return -1;
    }
    return options->from_cluster ? cluster_read(options->kubeconfig, options->from_cluster, bundle,
                                                &job->state_secrets, err)
                                 : 0;
}

int job_load(const struct run_options *options, struct job **ret_job, struct error *err)
{
    cleanup_job struct job *job = xcalloc(1, sizeof(*job));
    cleanup_bundle struct bundle bundle = {0};
    cleanup_json json_t *item = NULL;

    bundle_init(&bundle);
    if (load_files(job, &bundle, options, err) < 0 || find_item(&bundle, options, &item, err) < 0)
        return -1;
    take_image(job, options, item);
    if (options->imports && set_imports(item, options->imports, err) < 0)
        return -1;
    complete(item);
    if (offline_load(&bundle, options->config, item, &job->offline, err) < 0 ||
        load_credentials(job, err) < 0)
        return -1;
    if (!job->image)
        job->image = xstrdup(job->offline.run->image);
    *ret_job = steal(&job);
    return 0;
}
