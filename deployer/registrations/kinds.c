/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/kinds.h"

#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "deployer/validation/fields.h"
#include "deployer/validation/shared_rules.h"
#include "deployer/validation/validate.h"

#define TEMPLATE_START "(("

/* ---- Environment ---- */

static const struct field_rule host_target_fields[] = {
    {.name = "type", .types = RULE_TEXT, .is_required = true, .help = "type of the Target"},
    {.name = "config", .types = RULE_ANY, .help = "content of the Target"},
    {.name = "secretRef",
     .types = RULE_OBJECT,
     .fields = FIELDS_SECRET_REFERENCE,
     .help = "Secret with the content of the Target"},
    {.name = "labels", ROW_NODE_SELECTOR, .help = "labels of the Target"},
    {.name = "annotations",
     .types = RULE_OBJECT,
     .elements = &ELEMENT_TEXT,
     .help = "annotations of the Target"},
    RULES_END,
};

static const struct field_rule cluster_fields[] = {
    {.name = "host",
     .types = RULE_TEXT,
     .is_required = true,
     .help = "host, host:port or URL of the API server of Landscaper's cluster"},
    {.name = "apiPath",
     .types = RULE_TEXT,
     .is_required = true,
     .is_empty_allowed = true,
     .help = "path that is appended to the host; may be empty"},
    {.name = "insecure",
     .types = RULE_BOOL,
     .fallback = "false",
     .help = "do not verify the certificate of the server"},
    {.name = "serverName",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .help = "name in the certificate of the server; default: the host"},
    {.name = "caData",
     .types = RULE_TEXT,
     .is_empty_allowed = true,
     .help = "certificates of the authority: PEM in base64"},
    {.name = "nextProtos",
     ROW_TEXT_LIST,
     .help = "ignored",
     .is_unused = true,
     .reason = "deployers negotiate the protocol themselves"},
    RULES_END,
};

static const struct field_rule environment_spec_fields[] = {
    {.name = "namespace",
     .types = RULE_TEXT,
     .is_required = true,
     .help = "namespace of the deployers in the cluster of the environment"},
    {.name = "hostTarget",
     .types = RULE_OBJECT,
     .fields = host_target_fields,
     .is_required = true,
     .help = "Target for the items that install deployers"},
    {.name = "landscaperClusterConfig",
     .types = RULE_OBJECT,
     .fields = cluster_fields,
     .is_required = true,
     .help = "how deployers connect to Landscaper's cluster"},
    {.name = "targetSelectors",
     .types = RULE_LIST,
     .elements = &SELECTOR_ELEMENT,
     .is_required = true,
     .is_checked_by_code = true,
     .help = "Targets that the deployers serve; empty: all"},
    RULES_END,
};

static const char *const environment_kinds[] = {KIND_ENVIRONMENT, NULL};

const struct field_rule ENVIRONMENT_FIELDS[] = {
    ROWS_OBJECT(environment_kinds),
    {.name = "spec",
     .types = RULE_OBJECT,
     .fields = environment_spec_fields,
     .is_required = true,
     .help = "specification of the environment"},
    {.name = "status", .types = RULE_OBJECT, .help = "written by longshore registrations"},
    RULES_END,
};

const char *template_find(const json_t *value)
{
    const char *key = NULL;
    const char *found = NULL;
    json_t *member = NULL;

    if (json_is_string(value))
        return strstr(json_string_value(value), TEMPLATE_START) ? json_string_value(value) : NULL;
    for (size_t i = 0; i < json_array_size(value) && !found; i++)
        found = template_find(json_array_get(value, i));
    if (!json_is_object(value))
        return found;
    doc_foreach(value, key, member)
    {
        if (strstr(key, TEMPLATE_START))
            return key;
        found = template_find(member);
        if (found)
            return found;
    }
    return NULL;
}

static void refuse_template(const json_t *object, const char *path, struct mistakes *mistakes)
{
    if (template_find(doc_get(object, path)))
        mistakes_add(mistakes, MISTAKE_INVALID, path,
                     "contains \"" TEMPLATE_START "\", which starts a template expression");
}

static bool is_printable(const char *text)
{
    for (; *text; text++) {
        if (!isgraph((unsigned char)*text))
            return false;
    }
    return true;
}

static void check_cluster(const json_t *environment, struct mistakes *mistakes)
{
    static const char *const texts[] = {"spec.landscaperClusterConfig.host",
                                        "spec.landscaperClusterConfig.apiPath",
                                        "spec.landscaperClusterConfig.serverName"};
    const char *path = "spec.landscaperClusterConfig.caData";
    const char *authority = doc_text_or(environment, path, "");
    cleanup_buffer struct buffer decoded = {0};
    struct error err = {0};

    for (size_t i = 0; i < array_length(texts); i++) {
        refuse_template(environment, texts[i], mistakes);
        if (!is_printable(doc_text_or(environment, texts[i], "")))
            mistakes_add(mistakes, MISTAKE_INVALID, texts[i],
                         "must not contain blanks or control characters");
    }
    buffer_init(&decoded, strlen(authority) + 1);
    if (*authority && base64_decode(authority, strlen(authority), &decoded, &err) < 0)
        mistakes_add(mistakes, MISTAKE_INVALID, path, "must be base64");
    if (*authority && doc_bool_or(environment, "spec.landscaperClusterConfig.insecure", false))
        mistakes_add(mistakes, MISTAKE_FORBIDDEN, path,
                     "clients reject an authority together with insecure; remove one of them");
}

void environment_check(const json_t *environment, struct mistakes *mistakes)
{
    const json_t *target = doc_get(environment, "spec.hostTarget");
    const json_t *selectors = doc_get(environment, "spec.targetSelectors");
    const char *namespace_name = doc_text_or(environment, "spec.namespace", "");
    const struct fields fields = {target, "spec.hostTarget", mistakes};

    rules_check(environment, ENVIRONMENT_FIELDS, "", mistakes);
    if (*namespace_name && (strlen(namespace_name) > NAME_MAX_LABEL ||
                            strchr(namespace_name, '.') || !name_is_dns_subdomain(namespace_name)))
        mistakes_add(mistakes, MISTAKE_INVALID, "spec.namespace",
                     "\"%.100s\": must be the name of a namespace", namespace_name);
    if (json_is_object(target) && !field_any(&fields, "config") == !field_any(&fields, "secretRef"))
        mistakes_add(mistakes, MISTAKE_REQUIRED, "spec.hostTarget",
                     "exactly one of config and secretRef must be set");
    if (json_is_array(selectors))
        selector_free(selector_parse(selectors, "spec.targetSelectors", mistakes));
    refuse_template(environment, "spec.targetSelectors", mistakes);
    if (json_is_object(doc_get(environment, "spec.landscaperClusterConfig")))
        check_cluster(environment, mistakes);
}

json_t *registration_selectors(const json_t *environment, const char *registration)
{
    json_t *selectors = json_deep_copy(doc_get(environment, "spec.targetSelectors"));
    size_t i = 0;
    json_t *element = NULL;

    if (!selectors)
        selectors = json_array();
    if (strcmp(registration, REGISTRATION_HELM) != 0)
        return selectors;
    json_array_foreach(selectors, i, element)
    {
        json_t *annotations = json_object_get(element, "annotations");

        if (!json_is_array(annotations)) {
            annotations = json_array();
            (void)json_object_set_new(element, "annotations", annotations);
        }
        (void)json_array_append_new(
            annotations, json_pack("{s:s,s:s}", "key", ANNOTATION_DEPLOYER_ONLY, "operator", "!"));
    }
    return selectors;
}

json_t *environment_host_target(const json_t *environment, const char *namespace_name)
{
    static const char *const spec[] = {"type", "config", "secretRef"};
    static const char *const metadata[] = {"labels", "annotations"};
    const json_t *host = doc_get(environment, "spec.hostTarget");
    json_t *target =
        json_pack("{s:s,s:s,s:{s:s,s:s},s:{}}", "apiVersion", LANDSCAPER_API_VERSION, "kind",
                  KIND_TARGET, "metadata", "name", doc_text_or(environment, "metadata.name", ""),
                  "namespace", namespace_name, "spec");

    for (size_t i = 0; i < array_length(spec); i++) {
        json_t *value = doc_writable(doc_member(host, spec[i]));

        if (value && !json_is_null(value))
            (void)json_object_set_new(json_object_get(target, "spec"), spec[i],
                                      json_deep_copy(value));
    }
    for (size_t i = 0; i < array_length(metadata); i++) {
        json_t *value = doc_writable(doc_member(host, metadata[i]));

        if (json_object_size(value) > 0)
            (void)json_object_set_new(json_object_get(target, "metadata"), metadata[i],
                                      json_deep_copy(value));
    }
    return target;
}

bool registration_serves_host(const json_t *environment, const char *registration,
                              const char *namespace_name)
{
    cleanup_mistakes struct mistakes ignored = {0};
    cleanup_json json_t *selectors = registration_selectors(environment, registration);
    cleanup_json json_t *target = environment_host_target(environment, namespace_name);
    cleanup_selector struct selector *selector = selector_parse(selectors, "", &ignored);

    return selector_matches(selector, target);
}

/* ---- DeployerRegistration ---- */

static const struct field_rule key_reference_fields[] = {
    {.name = "name", ROW_OBJECT_NAME, .is_required = true, .help = "name of the object"},
    {.name = "key", .types = RULE_TEXT, .is_empty_allowed = true, .help = "key; default: all"},
    RULES_END,
};

static const struct field_rule data_import_fields[] = {
    {.name = "name", .types = RULE_TEXT, .is_required = true, .help = "name of the import"},
    {.name = "dataRef", .types = RULE_TEXT, .help = "name of a DataObject"},
    {.name = "configMapRef",
     .types = RULE_OBJECT,
     .fields = key_reference_fields,
     .help = "ConfigMap with the value"},
    {.name = "secretRef",
     .types = RULE_OBJECT,
     .fields = key_reference_fields,
     .help = "Secret with the value"},
    {.name = "version", .types = RULE_TEXT, .help = "ignored by current Landscapers"},
    RULES_END,
};

static const struct field_rule target_import_fields[] = {
    {.name = "name", .types = RULE_TEXT, .is_required = true, .help = "name of the import"},
    {.name = "target", .types = RULE_TEXT, .help = "name of a Target"},
    {.name = "targets", ROW_TEXT_LIST, .help = "names of Targets"},
    {.name = "targetListRef", .types = RULE_TEXT, .help = "name of a list of Targets"},
    {.name = "targetMap",
     .types = RULE_OBJECT,
     .elements = &ELEMENT_TEXT,
     .help = "names of Targets by key"},
    {.name = "targetMapRef", .types = RULE_TEXT, .help = "name of a map of Targets"},
    RULES_END,
};

static const struct field_rule data_import = {.types = RULE_OBJECT, .fields = data_import_fields};
static const struct field_rule target_import = {.types = RULE_OBJECT,
                                                .fields = target_import_fields};

static const struct field_rule imports_fields[] = {
    {.name = "data", .types = RULE_LIST, .elements = &data_import, .help = "data imports"},
    {.name = "targets",
     .types = RULE_LIST,
     .elements = &target_import,
     .help = "target imports; " IMPORT_CLUSTER " and " IMPORT_LANDSCAPER_CLUSTER " are added"},
    RULES_END,
};

static const struct field_rule template_fields[] = {
    {.name = "componentDescriptor",
     .types = RULE_OBJECT,
     .fields = FIELDS_COMPONENT_DESCRIPTOR,
     .is_checked_by_code = true,
     .help = "component with the blueprint"},
    {.name = "blueprint",
     .types = RULE_OBJECT,
     .fields = FIELDS_BLUEPRINT,
     .is_required = true,
     .help = "blueprint that installs the deployer"},
    {.name = "imports",
     .types = RULE_OBJECT,
     .fields = imports_fields,
     .help = "imports of the Installation"},
    {.name = "importDataMappings",
     .types = RULE_OBJECT,
     .help = "templates for further imports, by name; " IMPORT_RELEASE_NAME
             ", " IMPORT_RELEASE_NAMESPACE ", " IMPORT_IDENTITY " and " IMPORT_TARGET_SELECTORS
             " are added"},
    RULES_END,
};

static const struct field_rule registration_spec_fields[] = {
    {.name = "types",
     .types = RULE_LIST,
     .elements = &ELEMENT_TEXT,
     .is_required = true,
     .help = "types of items that the deployer serves"},
    {.name = "requiredTypes",
     .types = RULE_LIST,
     .elements = &ELEMENT_TEXT,
     .help = "types of the items that install the deployer"},
    {.name = "installationTemplate",
     .types = RULE_OBJECT,
     .fields = template_fields,
     .is_required = true,
     .help = "becomes an Installation in each environment"},
    RULES_END,
};

static const char *const registration_kinds[] = {KIND_DEPLOYER_REGISTRATION, NULL};

const struct field_rule REGISTRATION_FIELDS[] = {
    ROWS_OBJECT(registration_kinds),
    {.name = "spec",
     .types = RULE_OBJECT,
     .fields = registration_spec_fields,
     .is_required = true,
     .help = "specification of the deployer"},
    {.name = "status", .types = RULE_OBJECT, .help = "written by longshore registrations"},
    RULES_END,
};

#define TEMPLATE_PATH "spec.installationTemplate"

/* Names of data and target imports are unique together; each import has exactly one source. */
static void check_imports(const json_t *list, const char *path, json_t *names,
                          struct mistakes *mistakes)
{
    static const char *const sources[] = {"dataRef", "configMapRef",  "secretRef", "target",
                                          "targets", "targetListRef", "targetMap", "targetMapRef"};
    size_t i = 0;
    json_t *import = NULL;

    if (!json_is_array(list))
        return;
    json_array_foreach(doc_writable(list), i, import)
    {
        const char *name = doc_text_or(import, "name", "");
        cleanup_free char *at = path_index(path, i);
        cleanup_free char *name_at = path_member(at, "name");
        size_t count = 0;

        for (size_t k = 0; k < array_length(sources); k++) {
            const json_t *source = doc_member(import, sources[k]);

            count += source && !json_is_null(source);
        }
        if (count != 1)
            mistakes_add(mistakes, MISTAKE_REQUIRED, at, "exactly one source, found %zu", count);
        if (strcmp(name, IMPORT_CLUSTER) == 0 || strcmp(name, IMPORT_LANDSCAPER_CLUSTER) == 0)
            mistakes_add(mistakes, MISTAKE_FORBIDDEN, name_at,
                         "the import \"%s\" is added to every deployer; use another name", name);
        else if (json_object_get(names, name))
            mistakes_add(mistakes, MISTAKE_DUPLICATE, name_at, "\"%.100s\"", name);
        (void)json_object_set_new(names, name, json_true());
    }
}

static void check_blueprint(const json_t *registration, struct mistakes *mistakes)
{
    const json_t *blueprint = doc_get(registration, TEMPLATE_PATH ".blueprint");
    const json_t *descriptor = doc_get(registration, TEMPLATE_PATH ".componentDescriptor");
    bool has_reference = json_is_object(doc_member(blueprint, "ref"));

    if (json_is_object(blueprint) &&
        has_reference == json_is_object(doc_member(blueprint, "inline")))
        mistakes_add(mistakes, MISTAKE_REQUIRED, TEMPLATE_PATH ".blueprint",
                     "exactly one of ref and inline must be set");
    else if (has_reference && json_object_size(descriptor) == 0)
        mistakes_add(mistakes, MISTAKE_REQUIRED, TEMPLATE_PATH ".componentDescriptor",
                     "blueprint.ref is a resource of the component");
    validate_component_descriptor(descriptor, TEMPLATE_PATH ".componentDescriptor", true, mistakes);
}

void registration_check(const json_t *registration, struct mistakes *mistakes)
{
    cleanup_json json_t *names = json_object();
    const json_t *types = doc_get(registration, "spec.types");

    rules_check(registration, REGISTRATION_FIELDS, "", mistakes);
    if (json_is_array(types) && json_array_size(types) == 0)
        mistakes_add(mistakes, MISTAKE_REQUIRED, "spec.types", "at least one type");
    check_blueprint(registration, mistakes);
    check_imports(doc_get(registration, TEMPLATE_PATH ".imports.data"),
                  TEMPLATE_PATH ".imports.data", names, mistakes);
    check_imports(doc_get(registration, TEMPLATE_PATH ".imports.targets"),
                  TEMPLATE_PATH ".imports.targets", names, mistakes);
}
