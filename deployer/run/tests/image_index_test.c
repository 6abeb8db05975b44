/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/doc.h"
#include "deployer/run/layout.h"

#define D1 "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define D2 "sha256:2222222222222222222222222222222222222222222222222222222222222222"
#define NAME(text_) "\"annotations\":{\"org.opencontainers.image.ref.name\":\"" text_ "\"}"

static json_t *parse(const char *text)
{
    struct error err = {0};
    json_t *doc = NULL;

    if (doc_parse_json(text, strlen(text), 65536, &doc, &err) < 0)
        fail_msg("%s", err.text);
    return doc;
}

static const struct {
    const char *index, *tag, *digest; /* digest NULL: refused */
} picks[] = {
    {"{\"manifests\":[{\"digest\":\"" D1 "\"}]}", NULL, D1},
    {"{\"manifests\":[{\"digest\":\"" D1 "\"," NAME("a") "},{\"digest\":\"" D2
                                                         "\"," NAME("b") "}]}",
     "b", D2},
    {"{\"manifests\":[{\"digest\":\"" D1 "\"," NAME("host/x:v1") "}]}", "v1", D1},
    {"{\"manifests\":[{\"digest\":\"" D1 "\"," NAME("a") "},{\"digest\":\"" D2
                                                         "\"," NAME("b") "}]}",
     NULL, NULL},
    {"{\"manifests\":[{\"digest\":\"" D1 "\"," NAME("a") "}]}", "c", NULL},
    {"{\"manifests\":[{\"digest\":\"" D1 "\",\"platform\":{\"os\":\"windows\"}}]}", NULL, NULL},
    {"{\"manifests\":[{\"digest\":\"" D1
     "\",\"platform\":{\"os\":\"linux\",\"architecture\":\"none\"}}]}",
     NULL, NULL},
    {"{\"manifests\":[{\"digest\":\"sha256:../../etc/passwd\"}]}", NULL, NULL},
    {"{\"manifests\":[{}]}", NULL, NULL},
    {"{\"manifests\":[]}", NULL, NULL},
    {"{\"manifests\":[5]}", NULL, NULL},
};

static void picks_the_manifest_by_tag_or_machine(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(picks); i++) {
        cleanup_json json_t *index = parse(picks[i].index);
        struct layout_blob blob = {0};
        struct error err = {0};
        int result = layout_pick(index, picks[i].tag, &blob, &err);

        assert_int_equal(result, picks[i].digest ? 0 : -1);
        if (picks[i].digest)
            assert_string_equal(blob.digest, picks[i].digest);
        else
            assert_int_not_equal(strlen(err.text), 0);
    }
}

static void picks_this_machine_among_platforms(void **state)
{
    cleanup_json json_t *index =
        json_pack("{s:[{s:s,s:{s:s,s:s}},{s:s,s:{s:s,s:s}}]}", "manifests", "digest", D1,
                  "platform", "os", "linux", "architecture", "other", "digest", D2, "platform",
                  "os", "linux", "architecture", layout_architecture());
    struct layout_blob blob = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(layout_pick(index, NULL, &blob, &err), 0);
    assert_string_equal(blob.digest, D2);
}

static void reads_layers_and_refuses_what_is_no_digest(void **state)
{
    cleanup_json json_t *manifest =
        parse("{\"config\":{\"digest\":\"" D1 "\",\"size\":7},\"layers\":[{\"digest\":\"" D2
              "\",\"size\":9},{\"digest\":\"md5:00\"}]}");
    struct layout_blob blob = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(layout_config(manifest, &blob, &err), 0);
    assert_int_equal(blob.size, 7);
    assert_int_equal(layout_layer_count(manifest), 2);
    assert_int_equal(layout_layer(manifest, 0, &blob, &err), 0);
    assert_string_equal(blob.digest, D2);
    assert_int_equal(layout_layer(manifest, 1, &blob, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_the_manifest_by_tag_or_machine),
        cmocka_unit_test(picks_this_machine_among_platforms),
        cmocka_unit_test(reads_layers_and_refuses_what_is_no_digest),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
