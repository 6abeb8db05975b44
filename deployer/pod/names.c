/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/names.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/digest.h"

/* Enough of the hash of a job to be unique among the jobs of one item. */
enum { JOB_HASH_LENGTH = 10, STATE_SUFFIX_LENGTH = 64 };

/* "NS-N-export", as in Go, if that is a valid name, else our own. */
static char *go_name_or(const char *go_name, const char *own)
{
    return xstrdup(strlen(go_name) <= NAME_MAX_SUBDOMAIN ? go_name : own);
}

/* The same prefix as in Go, for people; only labels identify the state. */
static char *state_prefix(const char *namespace_name, const char *name)
{
    cleanup_free char *go_prefix = xasprintf(PREFIX_STATE "%s-%s", namespace_name, name);
    cleanup_free char *own = NULL;

    /* wait appends a unique suffix. */
    if (strlen(go_prefix) <= NAME_MAX_SUBDOMAIN - STATE_SUFFIX_LENGTH)
        return steal(&go_prefix);
    own = name_make(namespace_name, name, "", NAME_MAX_LABEL);
    return xasprintf(PREFIX_STATE "%s", own);
}

/* A label selector "key=value". */
static char *equals(const char *key, const char *value)
{
    return xasprintf("%s=%s", key, value);
}

void object_names_init(struct object_names *names, const char *namespace_name, const char *name,
                       const char *job)
{
    cleanup_free char *host_export = xasprintf("%s-%s" SUFFIX_EXPORT, namespace_name, name);
    cleanup_free char *name_value = name_label_value(name);
    cleanup_free char *namespace_value = name_label_value(namespace_name);
    char job_hash[DIGEST_HEX_MAX] = "";
    cleanup_free char *input_suffix = NULL;
    cleanup_free char *pull_suffix = NULL;

    if (job && *job)
        digest_sha256_hex(job, strlen(job), job_hash);
    input_suffix = xasprintf("-in-%.*s", JOB_HASH_LENGTH, job_hash);
    pull_suffix = xasprintf("-pull-%.*s", JOB_HASH_LENGTH, job_hash);

    *names = (struct object_names){0};
    name_hash(namespace_name, name, names->hash);
    names->pod = name_make(namespace_name, name, "", NAME_MAX_LABEL);
    names->account = name_make(namespace_name, name, "-run", NAME_MAX_LABEL);
    if (*job_hash) {
        names->input = name_make(namespace_name, name, input_suffix, NAME_MAX_LABEL);
        names->pull = name_make(namespace_name, name, pull_suffix, NAME_MAX_LABEL);
    }
    names->state_prefix = state_prefix(namespace_name, name);
    names->report = name_make(namespace_name, name, SUFFIX_REPORT, NAME_MAX_LABEL);
    names->host_export_own = name_make(namespace_name, name, SUFFIX_EXPORT, NAME_MAX_LABEL);
    names->host_export = go_name_or(host_export, names->host_export_own);
    names->selector = equals(LABEL_ITEM_HASH, names->hash);
    names->run_selector =
        xasprintf(LABEL_ITEM_HASH "=%s," LABEL_ROLE "=" LABEL_ROLE_RUN, names->hash);
    names->state_selector = xasprintf(LABEL_ITEM_NAME "=%s," LABEL_ITEM_NAMESPACE "=%s," LABEL_TYPE
                                                      "=" LABEL_TYPE_STATE,
                                      name_value, namespace_value);
}

void object_names_done(struct object_names *names)
{
    free(names->pod);
    free(names->account);
    free(names->input);
    free(names->pull);
    free(names->state_prefix);
    free(names->report);
    free(names->host_export);
    free(names->host_export_own);
    free(names->selector);
    free(names->run_selector);
    free(names->state_selector);
    *names = (struct object_names){0};
}

static void set_label(json_t *labels, const char *key, const char *text)
{
    cleanup_free char *value = name_label_value(text);

    (void)json_object_set_new(labels, key, json_string(value));
}

json_t *object_labels(const struct deployer_config *config, const char *namespace_name,
                      const char *name)
{
    char hash[NAME_HASH_SIZE];
    json_t *labels = json_object();

    name_hash(namespace_name, name, hash);
    set_label(labels, LABEL_DEPLOYER_ID, config->identity);
    if (!*config->identity && *config->landscaper_mark)
        set_label(labels, LABEL_LANDSCAPER, config->landscaper_mark);
    set_label(labels, LABEL_NAME, name);
    set_label(labels, LABEL_ITEM_NAME, name);
    set_label(labels, LABEL_ITEM_NAMESPACE, namespace_name);
    set_label(labels, LABEL_ITEM_HASH, hash);
    set_label(labels, LABEL_MANAGED_BY, MANAGED_BY);
    return labels;
}

json_t *object_annotations(const struct item *item)
{
    return json_pack("{s:s,s:s,s:s}", ANNOTATION_ITEM_NAME, item->name, ANNOTATION_ITEM_NAMESPACE,
                     item->namespace_name, ANNOTATION_ITEM_UID, item->uid);
}

json_t *object_new(const char *api_version, const char *kind, const char *name,
                   const struct deployer_config *config, const struct item *item)
{
    return json_pack("{s:s,s:s,s:{s:s,s:s,s:o,s:o}}", "apiVersion", api_version, "kind", kind,
                     "metadata", "name", name, "namespace", config->namespace_name, "labels",
                     object_labels(config, item->namespace_name, item->name), "annotations",
                     object_annotations(item));
}
