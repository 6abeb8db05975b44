/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/data/doc.h"
#include "common/oci/manifest.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define CONFIG "\"config\": {\"mediaType\": \"c\", \"digest\": \"sha256:" HEX_A "\", \"size\": 2}"
#define LAYERS "\"layers\": [{\"mediaType\": \"l\", \"digest\": \"sha256:" HEX_B "\"}]"

static void an_image_manifest_gives_config_and_layers(void **state)
{
    static const char text[] = "{\"schemaVersion\": 2, " CONFIG ", " LAYERS "}";
    cleanup_manifest struct manifest manifest = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(manifest_parse(text, strlen(text), MEDIA_TYPE_OCI_MANIFEST, &manifest, &err),
                     0);
    assert_false(manifest.is_index);
    assert_string_equal(manifest.config.media_type, "c");
    assert_int_equal(manifest.config.size, 2);
    assert_int_equal(manifest.entry_count, 1);
    assert_int_equal(manifest.entries[0].size, -1);
    assert_ptr_equal(manifest_find(&manifest, "sha256:" HEX_B), &manifest.entries[0]);
    assert_ptr_equal(manifest_find(&manifest, "sha256:" HEX_A), &manifest.config);
    assert_null(manifest_find(&manifest, "sha256:" HEX_A "a"));
}

static void an_index_gives_its_manifests(void **state)
{
    static const char text[] =
        "{\"manifests\": [{\"digest\": \"sha256:" HEX_A "\", \"platform\": {\"os\": \"linux\", "
        "\"architecture\": \"arm64\"}, \"annotations\": {\"software.ocm.descriptor\": \"true\", "
        "\"org.opencontainers.image.ref.name\": \"v1\"}}]}";
    cleanup_manifest struct manifest manifest = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(manifest_parse(text, strlen(text), NULL, &manifest, &err), 0);
    assert_true(manifest.is_index);
    assert_string_equal(manifest.entries[0].architecture, "arm64");
    assert_string_equal(manifest.entries[0].os, "linux");
    assert_true(manifest.entries[0].is_component);
    assert_string_equal(manifest.entries[0].ref_name, "v1");
}

static const struct {
    const char *text, *media_type, *why;
} wrong[] = {
    {"", NULL, "empty"},
    {"[]", NULL, "neither"},
    {"{}", NULL, "neither"},
    {"{" CONFIG ", \"manifests\": []}", NULL, "neither"},
    {"{" CONFIG "}", MEDIA_TYPE_OCI_INDEX, "media type"},
    {"{" CONFIG "}", MEDIA_TYPE_DOCKER_LIST, "media type"},
    {"{\"manifests\": []}", MEDIA_TYPE_OCI_MANIFEST "; charset=utf-8", "media type"},
    {"{\"mediaType\": \"" MEDIA_TYPE_OCI_INDEX "\", " CONFIG "}", NULL, "media type"},
    {"{\"config\": 5}", NULL, "config: expected an object"},
    {"{\"config\": {}}", NULL, "config: digest"},
    {"{\"config\": {\"digest\": \"sha256:../../x\"}}", NULL, "config:"},
    {"{\"config\": {\"digest\": \"sha256:0000\"}}", NULL, "config:"},
    {"{\"config\": {\"digest\": \"md5:" HEX_A "\"}}", NULL, "config:"},
    {"{\"config\": {\"digest\": \"sha256:" HEX_A "\", \"size\": -2}}", NULL, "negative"},
    {"{\"config\": {\"digest\": \"sha256:" HEX_A "\", \"size\": \"2\"}}", NULL, "size"},
    {"{" CONFIG ", \"layers\": {}}", NULL, "layers: expected an array"},
    {"{" CONFIG ", \"layers\": [{}]}", NULL, "layers[0]"},
};

static void invalid_manifests_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        struct manifest manifest = {0};
        struct error err = {0};

        print_message("%s\n", wrong[i].text);
        assert_int_equal(manifest_parse(wrong[i].text, strlen(wrong[i].text), wrong[i].media_type,
                                        &manifest, &err),
                         -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, wrong[i].why));
        assert_null(manifest.entries);
    }
}

static void the_number_of_layers_is_bounded(void **state)
{
    for (int over = 0; over <= 1; over++) {
        cleanup_buffer struct buffer text = {0};
        cleanup_manifest struct manifest manifest = {0};
        struct error err = {0};

        (void)state;
        buffer_init(&text, 4 << 20);
        assert_int_equal(buffer_append_text(&text, &err, "{" CONFIG ", \"layers\": ["), 0);
        for (int i = 0; i < MANIFEST_DESCRIPTORS_MAX + over; i++)
            assert_int_equal(buffer_append_text(&text, &err, "%s{\"digest\":\"sha256:" HEX_A "\"}",
                                                i > 0 ? "," : ""),
                             0);
        assert_int_equal(buffer_append_text(&text, &err, "]}"), 0);
        assert_int_equal(manifest_parse(text.data, text.size, NULL, &manifest, &err),
                         over ? -1 : 0);
        assert_int_equal(err.kind, over ? ERROR_TOO_LARGE : ERROR_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_manifest_gives_config_and_layers),
        cmocka_unit_test(an_index_gives_its_manifests),
        cmocka_unit_test(invalid_manifests_are_refused),
        cmocka_unit_test(the_number_of_layers_is_bounded),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
