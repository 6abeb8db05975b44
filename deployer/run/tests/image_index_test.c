/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/run/image_index.h"

#define D1 "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define D2 "sha256:2222222222222222222222222222222222222222222222222222222222222222"
#define NAME(text_) "\"annotations\":{\"org.opencontainers.image.ref.name\":\"" text_ "\"}"

/* 0, or -1 where parsing or choosing refuses. */
static int choose(const char *text, const char *tag, struct manifest *index,
                  const struct content **ret_chosen, struct error *err)
{
    if (manifest_parse(text, strlen(text), NULL, index, err) < 0)
        return -1;
    return image_index_choose(index, tag, ret_chosen, err);
}

static const struct {
    const char *index, *tag, *digest; /* digest NULL: refused */
} choices[] = {
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

static void chooses_the_manifest_by_tag_or_machine(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(choices); i++) {
        cleanup_manifest struct manifest index = {0};
        const struct content *chosen = NULL;
        struct error err = {0};
        int result = choose(choices[i].index, choices[i].tag, &index, &chosen, &err);

        assert_int_equal(result, choices[i].digest ? 0 : -1);
        if (choices[i].digest)
            assert_string_equal(chosen->digest, choices[i].digest);
        else
            assert_int_not_equal(strlen(err.text), 0);
    }
}

static void chooses_this_machine_among_platforms(void **state)
{
    cleanup_json json_t *document =
        json_pack("{s:[{s:s,s:{s:s,s:s}},{s:s,s:{s:s,s:s}}]}", "manifests", "digest", D1,
                  "platform", "os", "linux", "architecture", "other", "digest", D2, "platform",
                  "os", "linux", "architecture", image_index_architecture());
    cleanup_manifest struct manifest index = {0};
    const struct content *chosen = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(manifest_from_doc(document, NULL, &index, &err), 0);
    assert_int_equal(image_index_choose(&index, NULL, &chosen, &err), 0);
    assert_string_equal(chosen->digest, D2);
}

static void names_the_platform_of_an_image_for_another_machine(void **state)
{
    const char *own = image_index_architecture();
    const char *other = strcmp(own, "arm64") == 0 ? "amd64" : "arm64";
    cleanup_free char *foreign = xasprintf("linux/%s", other);
    const struct {
        const char *os, *architecture, *platform;
    } cases[] = {
        {"linux", own, NULL},
        {NULL, NULL, NULL},
        {NULL, own, NULL},
        {"linux", other, foreign},
        {NULL, other, foreign},
        {"windows", own, "windows/"},
        {"windows", NULL, "windows/unknown"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *config =
            json_pack("{s:s*, s:s*}", "os", cases[i].os, "architecture", cases[i].architecture);
        cleanup_free char *platform = image_index_foreign_platform(config);

        if (cases[i].platform)
            assert_memory_equal(platform, cases[i].platform, strlen(cases[i].platform));
        else
            assert_null(platform);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_the_manifest_by_tag_or_machine),
        cmocka_unit_test(names_the_platform_of_an_image_for_another_machine),
        cmocka_unit_test(chooses_this_machine_among_platforms),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
