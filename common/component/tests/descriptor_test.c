/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/component/descriptor.h"
#include "common/data/doc.h"

/* The same component in both schemas. */
static const char v2_text[] =
    "meta: {schemaVersion: v2}\n"
    "component:\n"
    "  name: example.com/a\n"
    "  version: 1.0.0\n"
    "  provider: acme\n"
    "  creationTime: \"2024-01-01T00:00:00Z\"\n"
    "  labels: [{name: l, value: {b: 1}, version: v1, signing: true}]\n"
    "  repositoryContexts: [{type: a, x: 1}, {type: last}]\n"
    "  sources: [{name: src, version: 1.0.0, type: git, access: {type: g}}]\n"
    "  componentReferences:\n"
    "  - {name: ref, componentName: example.com/b, version: 2.0.0}\n"
    "  resources:\n"
    "  - name: res\n"
    "    version: 1.0.0\n"
    "    type: t\n"
    "    relation: local\n"
    "    extraIdentity: {}\n"
    "    srcRefs: [{identitySelector: {name: src}}]\n"
    "    access: {type: localBlob, unknown: [1]}\n"
    "    digest: {hashAlgorithm: h, normalisationAlgorithm: j, value: v, x: y}\n"
    "nestedDigests: []\n"
    "signatures:\n"
    "- name: s\n"
    "  timestamp: {value: t}\n"
    "  digest: {hashAlgorithm: h, normalisationAlgorithm: j, value: v}\n"
    "  signature: {algorithm: a, value: v, mediaType: m, issuer: i}\n";

static const char v3_text[] =
    "apiVersion: ocm.software/v3alpha1\n"
    "kind: ComponentVersion\n"
    "metadata:\n"
    "  name: example.com/a\n"
    "  version: 1.0.0\n"
    "  provider: {name: acme}\n"
    "  creationTime: \"2024-01-01T00:00:00Z\"\n"
    "  labels: [{name: l, value: {b: 1}, version: v1, signing: true}]\n"
    "repositoryContexts: [{type: a, x: 1}, {type: last}]\n"
    "spec:\n"
    "  sources: [{name: src, version: 1.0.0, type: git, access: {type: g}}]\n"
    "  references:\n"
    "  - {name: ref, componentName: example.com/b, version: 2.0.0}\n"
    "  resources:\n"
    "  - name: res\n"
    "    version: 1.0.0\n"
    "    type: t\n"
    "    relation: local\n"
    "    srcRefs: [{identitySelector: {name: src}}]\n"
    "    access: {type: localBlob, unknown: [1]}\n"
    "    digest: {hashAlgorithm: h, normalisationAlgorithm: j, value: v}\n"
    "nestedDigests: []\n"
    "signatures:\n"
    "- name: s\n"
    "  digest: {hashAlgorithm: h, normalisationAlgorithm: j, value: v}\n"
    "  signature: {algorithm: a, value: v, mediaType: m}\n";

static const char expected[] =
    "{\"component\":{"
    "\"componentReferences\":[{\"componentName\":\"example.com/b\",\"name\":\"ref\","
    "\"version\":\"2.0.0\"}],"
    "\"creationTime\":\"2024-01-01T00:00:00Z\","
    "\"labels\":[{\"name\":\"l\",\"value\":{\"b\":1}}],"
    "\"name\":\"example.com/a\",\"provider\":\"acme\","
    "\"repositoryContexts\":[{\"type\":\"a\",\"x\":1},{\"type\":\"last\"}],"
    "\"resources\":[{\"access\":{\"type\":\"localBlob\",\"unknown\":[1]},"
    "\"digest\":{\"hashAlgorithm\":\"h\",\"normalisationAlgorithm\":\"j\",\"value\":\"v\"},"
    "\"name\":\"res\",\"relation\":\"local\",\"type\":\"t\",\"version\":\"1.0.0\"}],"
    "\"sources\":[{\"access\":{\"type\":\"g\"},\"name\":\"src\",\"type\":\"git\","
    "\"version\":\"1.0.0\"}],"
    "\"version\":\"1.0.0\"},"
    "\"meta\":{\"schemaVersion\":\"v2\"},"
    "\"signatures\":[{\"digest\":{\"hashAlgorithm\":\"h\",\"normalisationAlgorithm\":\"j\","
    "\"value\":\"v\"},\"name\":\"s\","
    "\"signature\":{\"algorithm\":\"a\",\"mediaType\":\"m\",\"value\":\"v\"}}]}";

static struct descriptor *must_parse(const char *text)
{
    struct descriptor *descriptor = NULL;
    struct error err = {0};

    if (descriptor_parse(text, strlen(text), &descriptor, &err) < 0)
        fail_msg("%s", err.text);
    return descriptor;
}

static int append(const char *text, size_t size, void *data)
{
    struct error err = {0};

    return buffer_append(data, text, size, &err);
}

static char *written(const struct descriptor *descriptor)
{
    struct buffer text = {0};

    buffer_init(&text, DESCRIPTOR_MAX_BYTES);
    assert_int_equal(descriptor_write(descriptor, append, &text), 0);
    return buffer_take(&text);
}

static void both_schemas_give_the_same_list_entry(void **state)
{
    static const char *const twins[] = {v2_text, v3_text};

    (void)state;
    for (size_t i = 0; i < array_length(twins); i++) {
        cleanup_descriptor struct descriptor *descriptor = must_parse(twins[i]);
        cleanup_free char *dumped = written(descriptor);

        assert_string_equal(dumped, expected);
        assert_string_equal(descriptor_name(descriptor), "example.com/a");
        assert_string_equal(descriptor_version(descriptor), "1.0.0");
        assert_string_equal(doc_text(descriptor_context(descriptor), "type"), "last");
        assert_int_equal(descriptor_reference_count(descriptor), 1);
    }
}

static void a_provider_with_labels_becomes_a_json_string(void **state)
{
    static const char text[] =
        "{\"apiVersion\":\"ocm.software/v3alpha1\",\"kind\":\"ComponentVersion\","
        "\"metadata\":{\"name\":\"example.com/a\",\"version\":\"1.0.0\",\"provider\":"
        "{\"labels\":[{\"value\":{\"z\":1,\"a\":2},\"name\":\"l\",\"signing\":true,"
        "\"version\":\"v1\"}],\"name\":\"acme\"}},\"repositoryContexts\":[{\"type\":\"x\"}]}";
    cleanup_descriptor struct descriptor *descriptor = must_parse(text);
    cleanup_free char *dumped = written(descriptor);
    cleanup_json json_t *doc = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(doc_parse_json(dumped, strlen(dumped), SIZE_MAX, &doc, &err), 0);
    assert_string_equal(doc_text(doc, "component.provider"),
                        "{\"name\":\"acme\",\"labels\":[{\"name\":\"l\",\"value\":{\"a\":2,"
                        "\"z\":1},\"version\":\"v1\",\"signing\":true}]}");
}

static void null_lists_are_written_as_empty_lists(void **state)
{
    static const char text[] = "{meta: {schemaVersion: v2}, component: {name: example.com/a, "
                               "version: 1.0.0, provider: p, repositoryContexts: [{type: x}], "
                               "sources: null, componentReferences: null, resources: null}}";
    cleanup_descriptor struct descriptor *descriptor = must_parse(text);
    cleanup_free char *dumped = written(descriptor);

    (void)state;
    assert_non_null(strstr(dumped, "\"sources\":[]"));
    assert_non_null(strstr(dumped, "\"componentReferences\":[]"));
    assert_non_null(strstr(dumped, "\"resources\":[]"));
}

/* A v2 descriptor with one part replaced. */
#define V2(more_)                                                                                  \
    "{meta: {schemaVersion: v2}, component: {name: example.com/a, version: 1.0.0, provider: p, "   \
    "repositoryContexts: [{type: x}], sources: [], componentReferences: [], resources: [] " more_  \
    "}}"
#define RESOURCE "name: rr, version: 1.0.0, type: t, relation: local, access: {type: x}"
#define WITH(resources_)                                                                           \
    "{meta: {schemaVersion: v2}, component: {name: example.com/a, version: 1.0.0, provider: p, "   \
    "repositoryContexts: [{type: x}], sources: [], componentReferences: [], resources: "           \
    "[" resources_ "]}}"
#define REFERRING(references_)                                                                     \
    "{meta: {schemaVersion: v2}, component: {name: example.com/a, version: 1.0.0, provider: p, "   \
    "repositoryContexts: [{type: x}], sources: [], resources: [], componentReferences: "           \
    "[" references_ "]}}"
#define V3(metadata_, more_)                                                                       \
    "{apiVersion: ocm.software/v3alpha1, kind: ComponentVersion, metadata: {" metadata_ "}" more_  \
    "}"

static const struct {
    const char *text, *why;
} wrong[] = {
    {"", "expected an object"},
    {"[]", "expected an object"},
    {"{}", "unsupported schema version \"\""},
    {"{meta: {schemaVersion: v1}}", "unsupported schema version \"v1\""},
    {"{apiVersion: ocm.gardener.cloud/v3alpha1}", "unsupported schema version"},
    {"{meta: {schemaVersion: v2}, apiVersion: x}", "both"},
    {"{meta: {schemaVersion: v2}}", "component: expected an object"},
    {"{meta: {schemaVersion: v2}, component: {name: example.com/a, version: 1.0, provider: p}}",
     "version: expected a string"},
    {"{meta: {schemaVersion: v2}, component: {name: ../x, version: 1.0.0, provider: p}}",
     "invalid component name"},
    {"{meta: {schemaVersion: v2}, component: {name: example.com/a, version: 1.0.0}}", "provider"},
    {"{meta: {schemaVersion: v2}, component: {name: example.com/a, version: 1.0.0, provider: ''}}",
     "provider: must not be empty"},
    {"{meta: {schemaVersion: v2}, component: {name: example.com/a, version: 1.0.0, provider: p, "
     "sources: [], componentReferences: [], resources: []}}",
     "repositoryContexts: missing"},
    {"{meta: {schemaVersion: v2}, component: {name: example.com/a, version: 1.0.0, provider: p, "
     "repositoryContexts: [], sources: [], componentReferences: [], resources: []}}",
     "at least one is required"},
    {V2(", labels: [{value: 1}]"), "labels[0]: name: missing"},
    {V2(", labels: [{name: a, value: 1}, {name: a, value: 2}]"), "duplicate name \"a\""},
    {WITH("{" RESOURCE "}, {" RESOURCE "}"), "resources: [1]: duplicate identity of \"rr\""},
    {WITH("{" RESOURCE "}, {name: other}, {name: r}"), "resources: [1]: version: expected"},
    {WITH("{" RESOURCE ", extraIdentity: {a: b}}, {" RESOURCE "}, {" RESOURCE "}, {" RESOURCE
          ", extraIdentity: {a: b}}"),
     "resources: [2]: duplicate identity of \"rr\""},
    {"{component: {resources: [{}]}, meta: {schemaVersion: v1}}", "schema version \"v1\""},
    {"{meta: {schemaVersion: v2}, component: {name: example.com/a, version: 1.0.0, provider: p, "
     "repositoryContexts: [{type: x}], sources: [], componentReferences: {}, resources: [1]}}",
     "componentReferences: expected an array"},
    {WITH("1"), "resources: [0]: "},
    {WITH("{name: r, version: 1.0.0, type: t, relation: local, access: {type: x}}"),
     "invalid element name"},
    {WITH("{name: rr, version: 1.0.0, type: t, relation: local}"), "access"},
    {WITH("{name: rr, version: 1.0.0, type: t, relation: local, access: {}}"), "access"},
    {WITH("{name: rr, version: 1.0.0, type: t, relation: near, access: {type: x}}"), "relation"},
    {WITH("{name: rr, version: 1.0.0, relation: local, access: {type: x}}"), "type"},
    {WITH("{name: rr, type: t, relation: local, access: {type: x}}"), "version"},
    {WITH("{" RESOURCE ", extraIdentity: {a: 1}}"), "extraIdentity"},
    {WITH("{" RESOURCE ", digest: x}"), "digest: expected an object"},
    {REFERRING("{name: ref, componentName: ../../x, version: 1.0.0}"), "invalid component name"},
    {REFERRING("{name: ref, version: 1.0.0}"), "componentName"},
    {V3("name: example.com/a, version: 1.0.0", ""), "provider"},
    {V3("name: example.com/a, version: 1.0.0, provider: {name: p}", ""), "at least one"},
    {V3("name: example.com/a, version: 1.0.0, provider: {name: p}, extra: 1", ""),
     "unknown field \"extra\""},
    {V3("name: example.com/a, version: 1.0.0, provider: {name: p}", ", spec: {components: []}"),
     "unknown field \"components\""},
    {"{apiVersion: ocm.software/v3alpha1, kind: Other}", "kind"},
};

static void invalid_descriptors_name_the_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        struct descriptor *descriptor = NULL;
        struct error err = {0};

        print_message("%s\n", wrong[i].text);
        assert_int_equal(descriptor_parse(wrong[i].text, strlen(wrong[i].text), &descriptor, &err),
                         -1);
        assert_null(descriptor);
        if (!strstr(err.text, wrong[i].why))
            fail_msg("\"%s\" is not in \"%s\"", wrong[i].why, err.text);
    }
}

#define NAMED(name_, version_, extra_)                                                             \
    "{name: " name_ ", version: " version_ ", type: t, relation: local, access: {type: x}" extra_  \
    "}"

static void a_name_finds_a_resource_only_if_it_is_its_whole_identity(void **state)
{
    static const char text[] =
        WITH(NAMED("one", "1.0.0", "") ", " NAMED("twice", "1.0.0", "") ", " NAMED(
            "twice", "2.0.0",
            "") ", " NAMED("extra", "1.0.0",
                           ", extraIdentity: {a: b}") ", "
                                                      "" NAMED("mix", "1.0.0", "") ", " NAMED(
                                                          "mix", "2.0.0",
                                                          ", extraIdentity: {a: b}"));
    static const struct {
        const char *name, *identity, *version; /* version: of what is found, or NULL */
    } cases[] = {
        {"one", NULL, "1.0.0"},
        {"twice", NULL, NULL},
        {"extra", NULL, NULL},
        {"mix", NULL, "1.0.0"},
        {"none", NULL, NULL},
        {"../one", NULL, NULL},
        {"one", "{name: one}", "1.0.0"},
        {"one", "{name: one, version: 1.0.0}", "1.0.0"},
        {"one", "{name: one, version: 2.0.0}", NULL},
        {"one", "{name: one, a: b}", NULL},
        {"twice", "{name: twice, version: 2.0.0}", "2.0.0"},
        {"extra", "{name: extra, a: b}", "1.0.0"},
        {"extra", "{name: extra, a: c}", NULL},
        {"extra", "{name: extra, a: b, c: d}", NULL},
        {"extra", "{name: extra, a: 1}", NULL},
        {"mix", "{name: mix, a: b}", "2.0.0"},
        {"mix", "{name: mix, a: b, version: 1.0.0}", NULL},
    };
    cleanup_descriptor struct descriptor *descriptor = must_parse(text);

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        const char *identity_text = cases[i].identity ? cases[i].identity : "null";
        cleanup_json json_t *resource = NULL;
        cleanup_json json_t *identity = NULL;
        struct error err = {0};
        int result = 0;

        print_message("%s %s\n", cases[i].name, identity_text);
        assert_int_equal(
            doc_parse_yaml(identity_text, strlen(identity_text), 1024, &identity, &err), 0);
        result = descriptor_resource(descriptor, cases[i].name, identity, &resource, &err);
        assert_int_equal(result, cases[i].version ? 0 : -1);
        assert_int_equal(err.kind, cases[i].version ? ERROR_NONE : ERROR_NOT_FOUND);
        if (cases[i].version)
            assert_string_equal(doc_text(resource, "version"), cases[i].version);
    }
}

static void lists_of_the_other_schema_are_ignored(void **state)
{
    static const char text[] = "{spec: {resources: [1]}, meta: {schemaVersion: v2}, component: "
                               "{name: example.com/a, version: 1.0.0, provider: p, "
                               "repositoryContexts: [{type: x}], sources: null, "
                               "componentReferences: null, resources: [{" RESOURCE "}]}}";
    cleanup_descriptor struct descriptor *descriptor = must_parse(text);
    cleanup_json json_t *resource = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(descriptor_resource(descriptor, "rr", NULL, &resource, &err), 0);
    assert_string_equal(doc_text(resource, "access.type"), "x");
}

static void lists_may_be_yaml_aliases(void **state)
{
    static const char text[] =
        "component: &c\n"
        "  name: example.com/a\n  version: 1.0.0\n  provider: p\n"
        "  repositoryContexts: [{type: x}]\n  sources: []\n  componentReferences: []\n"
        "  resources: [{" RESOURCE "}]\n"
        "meta: {schemaVersion: v2}\n";
    cleanup_descriptor struct descriptor *descriptor = must_parse(text);
    cleanup_json json_t *resource = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(descriptor_resource(descriptor, "rr", NULL, &resource, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_schemas_give_the_same_list_entry),
        cmocka_unit_test(a_provider_with_labels_becomes_a_json_string),
        cmocka_unit_test(null_lists_are_written_as_empty_lists),
        cmocka_unit_test(invalid_descriptors_name_the_field),
        cmocka_unit_test(lists_of_the_other_schema_are_ignored),
        cmocka_unit_test(lists_may_be_yaml_aliases),
        cmocka_unit_test(a_name_finds_a_resource_only_if_it_is_its_whole_identity),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
