/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"
#include "deployer/lifecycle/module_source.h"

#define DIGEST "sha256:9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a"
#define RESOURCE(name_, type_, access_)                                                            \
    "{'name':'" name_ "','version':'1','type':'" type_ "','relation':'local','access':{" access_   \
    "}}"
#define DESCRIPTOR(resources_)                                                                     \
    "{'meta':{'schemaVersion':'v2'},'component':{'name':'example.com/m','version':'1.0.0',"        \
    "'provider':'p','repositoryContexts':[{'type':'OCIRegistry','baseUrl':'x.io'}],"               \
    "'sources':[],'componentReferences':[],'resources':[" resources_ "]}}"
#define RAW(access_) RESOURCE("raw-manifest", "directoryTree", access_)
#define LOCAL "'type':'localBlob/v1','localReference':'" DIGEST "','mediaType':"

static int find(const char *text, const char *layer_type, struct module_source *ret_source,
                struct error *err)
{
    cleanup_json json_t *doc = parse(text);
    cleanup_descriptor struct descriptor *descriptor = NULL;
    cleanup_free char *media_type = xstrdup(layer_type ? layer_type : ""),
                      *digest = xstrdup(DIGEST);
    struct content layer = {.media_type = media_type, .digest = digest};
    struct manifest manifest = {.entries = &layer, .entry_count = layer_type ? 1 : 0};

    if (descriptor_from_doc(doc, &descriptor, err) < 0)
        fail_msg("%s", err->text);
    return module_source_find(descriptor, &manifest, ret_source, err);
}

static void layers_are_found(void **state)
{
    static const struct {
        const char *resource, *layer_type;
        bool is_archive;
    } rows[] = {
        {RAW(LOCAL "'application/octet-stream'"), NULL, false},
        {RAW(LOCAL "'application/x-tar'"), NULL, true},
        {RAW("'type':'localOciBlob','digest':'" DIGEST "'"), NULL, false},
        {RAW("'type':'localOciBlob','digest':'" DIGEST "'"), "application/x-tar", true},
        {RAW(LOCAL "'text/yaml'") "," RESOURCE("other", "weird", "'type':'gitHub'"), NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_module_source struct module_source source = {0};
        char text[4000];
        struct error err = {0};

        (void)snprintf(text, sizeof(text), DESCRIPTOR("%s"), rows[i].resource);
        if (find(text, rows[i].layer_type, &source, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(source.digest, DIGEST);
        assert_int_equal(source.is_archive, rows[i].is_archive);
        assert_null(source.images);
    }
}

static void images_are_listed(void **state)
{
    cleanup_module_source struct module_source source = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(find(DESCRIPTOR(RAW(LOCAL "'a/b'") "," RESOURCE(
                              "image", "ociArtifact",
                              "'type':'ociArtifact/v1','imageReference':'r/"
                              "a:1'") "," RESOURCE("other", "ociImage",
                                                   "'type':'ociRegistry','"
                                                   "imageReference':'r/b:1'")),
                          NULL, &source, &err),
                     0);
    assert_int_equal(json_array_size(source.images), 2);
    assert_string_equal(json_string_value(json_array_get(source.images, 1)), "r/b:1");
}

static void what_is_not_a_module_is_refused(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {DESCRIPTOR(""), "component \"example.com/m:1.0.0\" has no resource \"raw-manifest\""},
        {DESCRIPTOR(RAW("'type':'ociArtifact','imageReference':'a/b:1'")),
         "the access type \"ociArtifact\" is not supported"},
        {DESCRIPTOR(RAW("'type':'localBlob','localReference':'file','mediaType':'a/b'")),
         "resource \"raw-manifest\": the digest of its layer"},
        {DESCRIPTOR(RAW("'type':'localBlobs','localReference':'" DIGEST "'")), "localBlobs"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_module_source struct module_source source = {0};
        struct error err = {0};

        assert_int_equal(find(rows[i].text, NULL, &source, &err), -1);
        print_message("%s\n", err.text);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, rows[i].expected));
        assert_null(source.digest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_found),
        cmocka_unit_test(images_are_listed),
        cmocka_unit_test(what_is_not_a_module_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
