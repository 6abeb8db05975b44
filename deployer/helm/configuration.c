/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/helm/configuration.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/reference.h"
#include "deployer/objects/configuration.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/validate.h"

enum { RESOURCE_REF_MAX = 64 * 1024 };

void helm_config_free(struct helm_config *config)
{
    if (!config)
        return;
    free(config->release);
    free(config->namespace_name);
    json_decref(config->values);
    json_decref(config->chart);
    json_decref(config->component);
    json_decref(config->document);
    free(config);
}

bool helm_is_release(const json_t *document)
{
    return doc_bool_or(document, "helmDeployment", true);
}

/* ---- The chart ---- */

static bool is_url(const char *text)
{
    return strncasecmp(text, "https://", 8) == 0 || strncasecmp(text, "http://", 7) == 0;
}

static json_t *read_archive(const struct fields *chart)
{
    const struct fields archive = {field_object(chart, "archive"), "chart.archive",
                                   chart->mistakes};
    const char *raw = field_text(&archive, "raw");
    const char *url = doc_text(archive.object, "remote.url");

    if (raw && *raw)
        return json_pack("{s:s}", "raw", raw);
    if (!url || !*url) {
        mistakes_add(chart->mistakes, MISTAKE_REQUIRED, "chart.archive",
                     "raw or remote.url must be defined");
        return NULL;
    }
    if (!is_url(url)) {
        mistakes_add(chart->mistakes, MISTAKE_INVALID, "chart.archive.remote.url",
                     "must begin with https:// or http://");
        return NULL;
    }
    return json_pack("{s:s}", "url", url);
}

/* A reference without tag and digest would mean "latest", which no chart has. */
static json_t *read_reference(const char *text, struct mistakes *mistakes)
{
    cleanup_reference struct reference *reference = NULL;
    const char *slash = strrchr(text, '/');
    struct error err = {0};

    if (strstr(text, "://"))
        mistakes_add(mistakes, MISTAKE_INVALID, "chart.ref",
                     "\"%s\": must have no scheme: write host/path:version", text);
    else if (reference_parse(text, &reference, &err) < 0)
        mistakes_add(mistakes, MISTAKE_INVALID, "chart.ref", "%s", err.text);
    else if (!slash || !strpbrk(slash, ":@"))
        mistakes_add(mistakes, MISTAKE_INVALID, "chart.ref",
                     "\"%s\": must have a tag or a digest: host/path:version", text);
    else
        return json_pack("{s:s}", "ref", text);
    return NULL;
}

static json_t *read_repository(const struct fields *chart)
{
    const struct fields repository = {field_object(chart, "helmChartRepo"), "chart.helmChartRepo",
                                      chart->mistakes};
    const char *url = field_text(&repository, "helmChartRepoUrl");
    const char *name = field_text(&repository, "helmChartName");
    const char *version = field_text(&repository, "helmChartVersion");

    if (!url || !name || !version)
        return NULL; /* reported by the table */
    if (!is_url(url)) {
        mistakes_add(chart->mistakes, MISTAKE_INVALID, "chart.helmChartRepo.helmChartRepoUrl",
                     "must begin with https:// or http://; for charts in OCI registries use "
                     "chart.ref");
        return NULL;
    }
    return json_pack("{s:{s:s,s:s,s:s}}", "repository", "url", url, "name", name, "version",
                     version);
}

/* {component: {name, version}, resource: {name, ...}} as YAML in base64: the function
 * getResourceKey of blueprints makes it. */
static int parse_resource_ref(const char *text, json_t **ret_doc, struct error *err)
{
    cleanup_buffer struct buffer bytes = {0};
    const char *key = NULL;
    json_t *value = NULL;

    buffer_init(&bytes, RESOURCE_REF_MAX);
    if (base64_decode(text, strlen(text), &bytes, err) < 0 ||
        doc_parse_yaml(bytes.data ? bytes.data : "", bytes.size, RESOURCE_REF_MAX, ret_doc, err) <
            0)
        return error_set(err, ERROR_INVALID, "must be the base64 text of a YAML document");
    if (!doc_text(*ret_doc, "component.name") || !doc_text(*ret_doc, "component.version") ||
        !doc_text(*ret_doc, "resource.name"))
        return error_set(err, ERROR_INVALID,
                         "must contain component.name, component.version and resource.name");
    doc_foreach(json_object_get(*ret_doc, "resource"), key, value)
    {
        if (!json_is_string(value))
            return error_set(err, ERROR_INVALID, "resource.%.100s must be a string", key);
    }
    return 0;
}

static json_t *read_resource(const char *text, struct helm_config *config,
                             struct mistakes *mistakes)
{
    cleanup_json json_t *doc = NULL;
    struct error err = {0};

    if (parse_resource_ref(text, &doc, &err) < 0) {
        mistakes_add(mistakes, MISTAKE_INVALID, "chart.resourceRef", "%s", err.text);
        return NULL;
    }
    config->component =
        json_pack("{s:{s:s,s:s}}", "ref", "componentName", doc_text(doc, "component.name"),
                  "version", doc_text(doc, "component.version"));
    return json_pack("{s:O}", "resource", json_object_get(doc, "resource"));
}

/* The first source that is given counts, in the order of the Go deployer. */
static json_t *read_chart(const struct fields *root, struct helm_config *config)
{
    const struct fields chart = {field_object(root, "chart"), "chart", root->mistakes};
    const char *reference = field_text(&chart, "ref");
    const char *resource = field_text(&chart, "resourceRef");

    if (!chart.object)
        return NULL; /* reported by the table */
    if (field_object(&chart, "archive"))
        return read_archive(&chart);
    if (reference && *reference)
        return read_reference(reference, root->mistakes);
    if (field_object(&chart, "helmChartRepo"))
        return read_repository(&chart);
    if (resource && *resource)
        return read_resource(resource, config, root->mistakes);
    if (!field_any(&chart, "fromResource"))
        mistakes_add(root->mistakes, MISTAKE_REQUIRED, "chart",
                     "must name a chart: archive, ref, helmChartRepo or resourceRef");
    return NULL;
}

/* ---- Releases ---- */

static struct helm_flags read_flags(const struct fields *root, const char *key)
{
    cleanup_free char *path = path_member("helmDeploymentConfig", key);
    const struct fields parent = {field_object(root, "helmDeploymentConfig"),
                                  "helmDeploymentConfig", root->mistakes};
    const struct fields fields = {field_object(&parent, key), path, root->mistakes};

    return (struct helm_flags){
        .is_atomic = field_bool(&fields, "atomic", false),
        .is_forced = field_bool(&fields, "force", false),
        .is_schema_skipped = field_bool(&fields, "skipSchemaValidation", false),
        .is_ownership_taken = field_bool(&fields, "takeOwnership", false),
        .is_waiting = field_bool(&fields, "wait", false),
        .timeout_ms = field_duration_ms(&fields, "timeout", 0),
    };
}

/* ---- The document ---- */

/* Everything that is wrong in checks, exports and groups is reported now, not after the pod. */
static void check_objects(struct helm_config *config, struct mistakes *mistakes)
{
    struct manifest_config *objects = manifest_config_for_chart(config->document, mistakes);

    config->has_value_exports = objects->value_export_count > 0;
    manifest_config_free(objects);
}

struct helm_config *helm_config_read(const json_t *document, struct mistakes *mistakes)
{
    struct helm_config *config = xcalloc(1, sizeof(*config));
    const struct fields root = {document, "", mistakes};

    config->document = json_incref(doc_writable(document));
    config->release = field_text_copy(&root, "name", "");
    config->namespace_name = field_text_copy(&root, "namespace", "");
    config->is_release = field_bool(&root, "helmDeployment", true);
    config->is_namespace_created = field_bool(&root, "createNamespace", false);
    config->values = field_copy(&root, "values");
    if (!config->values)
        config->values = json_object();
    config->install = read_flags(&root, "install");
    config->upgrade = read_flags(&root, "upgrade");
    config->uninstall = read_flags(&root, "uninstall");
    config->chart = read_chart(&root, config);
    (void)validate_continuous_reconcile(field_any(&root, "continuousReconcile"),
                                        "continuousReconcile", mistakes);
    check_objects(config, mistakes);
    return config;
}
