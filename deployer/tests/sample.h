/* SPDX-License-Identifier: Apache-2.0 */
/* Samples for the tests and fuzzers of the deployer: documents from short YAML texts. */
#pragma once

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/config/config.h"
#include "deployer/item/item.h"
#include "deployer/item/provider.h"
#include "deployer/pod/names.h"
#include "deployer/pod/run_objects.h"

#define SAMPLE_JOB "7d5c0000-0000-4000-8000-000000000001"
#define SAMPLE_UID "11111111-2222-4333-8444-555555555555"

/* Invalid YAML is a bug in the test and fails it. */
static inline json_t *sample_doc(const char *yaml)
{
    struct error err = {0};
    json_t *doc = NULL;

    if (doc_parse_yaml(yaml, strlen(yaml), 1 << 24, &doc, &err) < 0) {
        (void)fprintf(stderr, "sample: %s\n%s\n", err.text, yaml);
        abort();
    }
    return doc;
}

static inline struct deployer_config *sample_config(const char *yaml)
{
    cleanup_json json_t *doc = yaml ? sample_doc(yaml) : NULL;
    cleanup_mistakes struct mistakes mistakes = {0};
    struct deployer_config *config = NULL;

    if (config_parse(doc, &config, &mistakes) < 0) {
        cleanup_free char *text = mistakes_text(&mistakes);

        (void)fprintf(stderr, "sample: %s\n", text);
        abort();
    }
    return config;
}

/* An item of a type with a provider configuration (taken over; may be NULL). */
static inline struct item *sample_item(const char *namespace_name, const char *name,
                                       const char *type, json_t *config)
{
    cleanup_json json_t *object =
        json_pack("{s:{s:s,s:s,s:s,s:i},s:{s:s},s:{s:s,s:s}}", "metadata", "name", name,
                  "namespace", namespace_name, "uid", SAMPLE_UID, "generation", 3, "spec", "type",
                  type, "status", "phase", PHASE_INIT, "jobID", SAMPLE_JOB);
    struct error err = {0};
    struct item *item = NULL;

    if (config)
        (void)json_object_set_new(json_object_get(object, "spec"), "config", config);
    if (item_parse(object, &item, &err) < 0)
        abort();
    return item;
}

/* All data of one run, with the request filled in. Tests may change fields of the request. */
struct sample_run {
    struct deployer_config *config;
    struct item *item;
    struct run_spec *run;
    struct object_names names;
    struct mistakes mistakes; /* of the provider configuration */
    struct pod_request request;
};

static inline void sample_run_done(struct sample_run *sample)
{
    config_free(sample->config);
    item_free(sample->item);
    run_spec_free(sample->run);
    object_names_done(&sample->names);
    mistakes_done(&sample->mistakes);
}
#define cleanup_sample_run __attribute__((cleanup(sample_run_done)))

/* -1 if the provider configuration (taken over) was refused. config is taken over. */
static inline int sample_run_parse(struct sample_run *sample, const char *type,
                                   struct deployer_config *config, json_t *provider)
{
    *sample = (struct sample_run){.config = config};
    sample->item = sample_item("team", "job", type, provider);
    object_names_init(&sample->names, "team", "job", SAMPLE_JOB);
    if (run_spec_parse(sample->item, config, &sample->run, &sample->mistakes) < 0)
        return -1;
    sample->request = (struct pod_request){
        .config = config,
        .item = sample->item,
        .run = sample->run,
        .names = &sample->names,
        .job = SAMPLE_JOB,
        .operation = OPERATION_RECONCILE,
        .export_name = sample->names.host_export,
        .target_file = "null",
        .target_file_size = 4,
        .next_sequence = 1,
        .now_unix_ms = 1000000,
        .deadline_unix_ms = 1600000,
    };
    return 0;
}

static inline void sample_run_init(struct sample_run *sample, const char *type,
                                   const char *config_yaml, const char *provider_yaml)
{
    if (sample_run_parse(sample, type, sample_config(config_yaml), sample_doc(provider_yaml)) < 0) {
        cleanup_free char *text = mistakes_text(&sample->mistakes);

        (void)fprintf(stderr, "sample: %s\n", text);
        abort();
    }
}
