/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/component/access.h"
#include "common/data/doc.h"

#define HEX "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define BLUEPRINT "application/vnd.gardener.landscaper.blueprint."

static int parse(const char *type, const char *access_text, struct access *ret_access,
                 struct error *err)
{
    char text[1024];
    cleanup_json json_t *resource = NULL;

    (void)snprintf(text, sizeof(text),
                   "{name: bp, type: %s, digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: "
                   "genericBlobDigest/v1, value: " HEX "}, access: %s}",
                   type, access_text);
    assert_int_equal(doc_parse_yaml(text, strlen(text), sizeof(text), &resource, err), 0);
    return access_parse(resource, ACCESS_BLUEPRINT, ret_access, err);
}

static const struct {
    const char *text;
    enum access_kind kind;
    size_t references;
    const char *first, *host, *repository, *object;
    bool is_plain_http;
} accesses[] = {
    {"{type: localBlob, localReference: 'a'}", ACCESS_LOCAL_BLOB, 1, "a", NULL, NULL, NULL, false},
    {"{type: LocalBlob/v1, localReference: 'a , b,c'}", ACCESS_LOCAL_BLOB, 3, "a", NULL, NULL, NULL,
     false},
    {"{type: localFilesystemBlob, filename: f}", ACCESS_LOCAL_BLOB, 1, "f", NULL, NULL, NULL,
     false},
    {"{type: localOciBlob, digest: d}", ACCESS_LOCAL_OCI_BLOB, 1, "d", NULL, NULL, NULL, false},
    {"{type: ociArtifact, imageReference: 'h.example/a/b:1'}", ACCESS_ARTIFACT, 0, NULL,
     "h.example", "a/b", "1", false},
    {"{type: ociRegistry/v1, imageReference: 'http://h.example:5/a@sha256:" HEX "'}",
     ACCESS_ARTIFACT, 0, NULL, "h.example:5", "a", "sha256:" HEX, true},
    {"{type: OCIImage, imageReference: 'alpine'}", ACCESS_ARTIFACT, 0, NULL, "docker.io",
     "library/alpine", "latest", false},
    {"{type: ociImage, imageReference: 'oci://h.example/a:1'}", ACCESS_ARTIFACT, 0, NULL,
     "h.example", "a", "1", false},
    {"{type: OCIArtifact, imageReference: 'localhost/a'}", ACCESS_ARTIFACT, 0, NULL, "localhost",
     "a", "latest", false},
    {"{type: relativeOciReference, reference: 'a/b:1'}", ACCESS_RELATIVE, 0, NULL, NULL, "a/b", "1",
     false},
    {"{type: ociBlob, ref: h.example/a, digest: d, size: 5}", ACCESS_BLOB, 1, "d", "h.example", "a",
     "latest", false},
};

static void assert_text(const char *found, const char *wanted)
{
    if (wanted)
        assert_string_equal(found, wanted);
    else
        assert_null(found);
}

static void every_alias_of_an_access_is_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(accesses); i++) {
        cleanup_access struct access access = {0};
        struct error err = {0};

        print_message("%s\n", accesses[i].text);
        if (parse("blueprint", accesses[i].text, &access, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(access.kind, accesses[i].kind);
        assert_int_equal(access.reference_count, accesses[i].references);
        if (accesses[i].references > 0)
            assert_string_equal(access.references[0], accesses[i].first);
        assert_text(access.host, accesses[i].host);
        assert_text(access.repository, accesses[i].repository);
        assert_text(access.object, accesses[i].object);
        assert_int_equal(access.is_plain_http, accesses[i].is_plain_http);
        assert_string_equal(access.blob_digest, "sha256:" HEX);
    }
}

static const struct {
    const char *type, *access, *why;
} wrong[] = {
    {"plainText", "{type: localBlob, localReference: a}", "is not a blueprint"},
    {"landscaper.gardener.cloud/jsonschema", "{type: localBlob, localReference: a}",
     "not a blueprint"},
    {"blueprint", "{type: localBlob}", "localReference: missing"},
    {"blueprint", "{type: localBlob, localReference: 'a,,b'}", "empty reference"},
    {"blueprint", "{type: localOciBlob}", "digest: missing"},
    {"blueprint", "{type: ociArtifact}", "imageReference: missing"},
    {"blueprint", "{type: ociArtifact, imageReference: 'ftp://x/y'}", "unknown scheme"},
    {"blueprint", "{type: ociArtifact, imageReference: 'H/../x'}", "access"},
    {"blueprint", "{type: relativeOciReference, reference: '../x'}", "access"},
    {"blueprint", "{type: ociBlob, digest: d}", "ref: missing"},
    {"blueprint", "{type: s3, bucket: b}", "type \"s3\" is not supported"},
    {"blueprint", "{type: wget, URL: 'http://x'}", "type \"wget\" is not supported"},
};

static void unsupported_accesses_are_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        struct access access = {0};
        struct error err = {0};

        print_message("%s\n", wrong[i].access);
        assert_int_equal(parse(wrong[i].type, wrong[i].access, &access, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        if (!strstr(err.text, wrong[i].why))
            fail_msg("\"%s\" is not in \"%s\"", wrong[i].why, err.text);
    }
}

/* ---- Charts: access type helm. ---- */

static const struct {
    const char *access;
    const char *host, *repository, *object; /* of an artifact */
    const char *url, *name, *version;       /* of a chart repository */
    const char *why;                        /* it is not valid */
} charts[] = {
    {"{type: helm, helmRepository: 'oci://h.example/charts/', helmChart: 'app:1.0.0'}", "h.example",
     "charts/app", "1.0.0", NULL, NULL, NULL, NULL},
    {"{type: helm/v1, helmRepository: 'oci://h.example/charts', helmChart: app, version: 1.0.0+b}",
     "h.example", "charts/app", "1.0.0_b", NULL, NULL, NULL, NULL},
    {"{type: Helm, helmRepository: 'https://h.example/c', helmChart: 'app:1.0.0+b'}", NULL, NULL,
     NULL, "https://h.example/c", "app", "1.0.0+b", NULL},
    {"{type: helm, helmRepository: 'http://h.example', helmChart: 'app:1', version: '2'}", NULL,
     NULL, NULL, "http://h.example", "app", "2", NULL},
    {"{type: helm, helmChart: 'app:1'}", NULL, NULL, NULL, NULL, NULL, NULL, "helmRepository"},
    {"{type: helm, helmRepository: 'https://h.example'}", NULL, NULL, NULL, NULL, NULL, NULL,
     "helmChart"},
    {"{type: helm, helmRepository: 'https://h.example', helmChart: ':1'}", NULL, NULL, NULL, NULL,
     NULL, NULL, "helmChart"},
    {"{type: helm, helmRepository: 'https://h.example', helmChart: 'app:'}", NULL, NULL, NULL, NULL,
     NULL, NULL, "version"},
    {"{type: helm, helmRepository: 'file:///etc', helmChart: 'app:1'}", NULL, NULL, NULL, NULL,
     NULL, NULL, "must begin with"},
    {"{type: helm, helmRepository: 'oci://h.example', helmChart: '../app:1'}", NULL, NULL, NULL,
     NULL, NULL, NULL, "access"},
};

static void charts_are_in_registries_or_in_chart_repositories(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(charts); i++) {
        cleanup_access struct access access = {0};
        cleanup_free char *text =
            xasprintf("{name: c, type: helmChart, access: %s}", charts[i].access);
        cleanup_json json_t *resource = NULL;
        struct error err = {0};
        int result = 0;

        print_message("%s\n", charts[i].access);
        assert_int_equal(doc_parse_yaml(text, strlen(text), 1024, &resource, &err), 0);
        result = access_parse(resource, ACCESS_CHART, &access, &err);
        assert_int_equal(result, charts[i].why ? -1 : 0);
        if (charts[i].why) {
            assert_int_equal(err.kind, ERROR_INVALID);
            assert_non_null(strstr(err.text, charts[i].why));
            continue;
        }
        assert_int_equal(access.kind, charts[i].host ? ACCESS_ARTIFACT : ACCESS_CHART_REPOSITORY);
        assert_text(access.host, charts[i].host);
        assert_text(access.repository, charts[i].repository);
        assert_text(access.object, charts[i].object);
        assert_text(doc_text(access.chart, "url"), charts[i].url);
        assert_text(doc_text(access.chart, "name"), charts[i].name);
        assert_text(doc_text(access.chart, "version"), charts[i].version);
    }
}

static void a_chart_repository_has_no_blueprints(void **state)
{
    struct access access = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(parse("blueprint", charts[0].access, &access, &err), -1);
    assert_non_null(strstr(err.text, "type \"helm\" is not supported"));
}

static void only_media_types_of_blueprints_are_accepted(void **state)
{
    static const char *const good[] = {
        "application/x-tar",
        "application/x-tgz",
        "application/x-tar+gzip",
        (BLUEPRINT "v1+tar"),
        (BLUEPRINT "v1+tar+gzip"),
        (BLUEPRINT "layer.v1.tar"),
        (BLUEPRINT "layer.v1.tar+gzip"),
    };
    static const char *const bad[] = {
        "",
        "application/gzip",
        "application/octet-stream",
        "application/tar+gzip",
        (BLUEPRINT "config.v1"),
    };
    struct error err = {0};

    (void)state;
    for (size_t i = 0; i < array_length(good); i++)
        assert_int_equal(access_check_blob_type(ACCESS_BLUEPRINT, good[i], &err), 0);
    for (size_t i = 0; i < array_length(bad); i++)
        assert_int_equal(access_check_blob_type(ACCESS_BLUEPRINT, bad[i], &err), -1);
}

static void the_config_or_the_first_layer_marks_a_blueprint(void **state)
{
    static const struct {
        const char *config, *layer;
        size_t layers;
        bool is_index, is_good;
    } cases[] = {
        {BLUEPRINT "config.v1", "anything", 2, false, true},
        {"other", BLUEPRINT "v1+tar+gzip", 1, false, true},
        {"other", "application/x-tar", 1, false, false},
        {BLUEPRINT "config.v1", "anything", 0, false, false},
        {BLUEPRINT "config.v1", "anything", 1, true, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct content layers[2] = {0};
        struct manifest manifest = {
            .is_index = cases[i].is_index, .entries = layers, .entry_count = cases[i].layers};
        cleanup_free char *config = xstrdup(cases[i].config);
        cleanup_free char *layer = xstrdup(cases[i].layer);
        const struct content *picked = NULL;
        struct error err = {0};

        manifest.config.media_type = config;
        layers[0].media_type = layers[1].media_type = layer;
        assert_int_equal(access_pick_layer(ACCESS_BLUEPRINT, &manifest, &picked, &err),
                         cases[i].is_good ? 0 : -1);
        if (cases[i].is_good)
            assert_ptr_equal(picked, &layers[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_alias_of_an_access_is_understood),
        cmocka_unit_test(unsupported_accesses_are_rejected),
        cmocka_unit_test(charts_are_in_registries_or_in_chart_repositories),
        cmocka_unit_test(a_chart_repository_has_no_blueprints),
        cmocka_unit_test(only_media_types_of_blueprints_are_accepted),
        cmocka_unit_test(the_config_or_the_first_layer_marks_a_blueprint),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
