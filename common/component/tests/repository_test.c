/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/component/repository.h"
#include "common/data/doc.h"

static struct repository *parse(const char *text, struct error *err)
{
    cleanup_json json_t *spec = NULL;
    struct repository *repository = NULL;

    assert_int_equal(doc_parse_yaml(text, strlen(text), 1 << 20, &spec, err), 0);
    return repository_parse(spec, &repository, err) < 0 ? NULL : repository;
}

static const struct {
    const char *spec, *host;
    bool is_plain_http;
    const char *path; /* of component example.com/acme/d07 */
} registries[] = {
    {"{type: ociRegistry, baseUrl: h.example}", "h.example", false,
     "component-descriptors/example.com/acme/d07"},
    {"{type: OCIRegistry, baseUrl: h.example/sub/}", "h.example", false,
     "sub/component-descriptors/example.com/acme/d07"},
    {"{type: OCIRegistry/v1, baseUrl: 'https://h.example:5000/sub'}", "h.example:5000", false,
     "sub/component-descriptors/example.com/acme/d07"},
    {"{type: oci, baseUrl: 'oci://h.example/sub'}", "h.example", false,
     "sub/component-descriptors/example.com/acme/d07"},
    {"{type: oci/v1, baseUrl: 'http://h.example/sub'}", "h.example", true,
     "sub/component-descriptors/example.com/acme/d07"},
    {"{type: OCI/v1, baseUrl: h.example, subPath: /sub/}", "h.example", false,
     "sub/component-descriptors/example.com/acme/d07"},
    {"{type: OCIRepository, baseurl: h.example/a, subPath: b}", "h.example", false,
     "a/b/component-descriptors/example.com/acme/d07"},
    {"{type: ociRegistry/v1, baseUrl: h.example, componentNameMapping: urlPath}", "h.example",
     false, "component-descriptors/example.com/acme/d07"},
    {"{type: ociRegistry, baseUrl: h.example/x, componentNameMapping: sha256-digest}", "h.example",
     false, "x/bd4b58f2185fcd2b4b53a3c72b6edeeb487a4273e64aa3bc36aeaf3a2d2e27e9"},
};

static void every_alias_of_a_registry_is_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(registries); i++) {
        struct error err = {0};
        cleanup_repository struct repository *repository = parse(registries[i].spec, &err);
        cleanup_free char *path = NULL;

        print_message("%s\n", registries[i].spec);
        assert_non_null(repository);
        assert_int_equal(repository->kind, REPOSITORY_REGISTRY);
        assert_string_equal(repository->host, registries[i].host);
        assert_int_equal(repository->is_plain_http, registries[i].is_plain_http);
        path = repository_component_path(repository, "example.com/acme/d07");
        assert_string_equal(path, registries[i].path);
    }
}

static const struct {
    const char *spec;
    enum repository_kind kind;
} kinds[] = {
    {"{type: CommonTransportFormat, filePath: /x}", REPOSITORY_TRANSPORT},
    {"{type: CommonTransportFormat/v1, filePath: /x}", REPOSITORY_TRANSPORT},
    {"{type: ComponentArchive, filePath: /x}", REPOSITORY_ARCHIVE},
    {"{type: local, filePath: /x}", REPOSITORY_DIRECTORY},
    {"{type: inline, fileSystem: {}}", REPOSITORY_INLINE},
    {"{type: s3, bucket: x}", REPOSITORY_UNSUPPORTED},
};

static void every_kind_of_repository_is_recognized(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(kinds); i++) {
        struct error err = {0};
        cleanup_repository struct repository *repository = parse(kinds[i].spec, &err);

        assert_non_null(repository);
        assert_int_equal(repository->kind, kinds[i].kind);
        assert_int_equal(repository->directory_fd, -1);
    }
}

static const struct {
    const char *spec, *why;
} wrong[] = {
    {"{}", "type"},
    {"x", "type"},
    {"{type: ociRegistry}", "baseUrl: missing"},
    {"{type: ociRegistry, baseUrl: 'ftp://x'}", "unknown scheme"},
    {"{type: ociRegistry, baseUrl: 'https:///x'}", "expected host"},
    {"{type: ociRegistry, baseUrl: /x}", "expected host"},
    {"{type: ociRegistry, baseUrl: 'https://u:p@h/x'}", "expected host"},
    {"{type: ociRegistry, baseUrl: 'https://h/a', subPath: b}", "subPath is set"},
    {"{type: ociRegistry, baseUrl: h, componentNameMapping: md5}", "unknown value \"md5\""},
    {"{type: ComponentArchive}", "filePath: missing"},
    {"{type: inline, fileSystem: 5}", "fileSystem"},
};

static void malformed_specifications_are_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        struct error err = {0};

        print_message("%s\n", wrong[i].spec);
        assert_null(parse(wrong[i].spec, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        if (!strstr(err.text, wrong[i].why))
            fail_msg("\"%s\" is not in \"%s\"", wrong[i].why, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_alias_of_a_registry_is_understood),
        cmocka_unit_test(every_kind_of_repository_is_recognized),
        cmocka_unit_test(malformed_specifications_are_rejected),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
