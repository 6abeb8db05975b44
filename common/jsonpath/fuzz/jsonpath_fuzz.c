/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of the input is a path, the rest a JSON document. The evaluation ends within its
 * limit, its messages do not contain values, and both modes agree. Besides, a path that is built
 * from any text as a key finds exactly the member with this key. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/utf8.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "common/jsonpath/jsonpath.h"

enum { SIZE_LIMIT = 1 << 16 };

static const char sample[] =
    "{\"metadata\":{\"name\":\"hidden-1\",\"labels\":{\"a.b/"
    "c\":\"hidden-2\"}},\"a\":[1,2.5,true,null,"
    "\"hidden-3\",[],{}],\"status\":{\"conditions\":[{\"type\":\"hidden-4\",\"status\":\"hidden-"
    "5\","
    "\"n\":1},{\"type\":\"hidden-6\",\"status\":\"hidden-7\",\"n\":2.0}]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(const char *text, const struct error *err)
{
    must(err->text[0] != '\0');
    must(strstr(text, "hidden-") || !strstr(err->text, "hidden-"));
}

static void check_find(const char *text, const struct jsonpath *path, const json_t *doc)
{
    cleanup_json json_t *lenient = NULL;
    cleanup_json json_t *strict = NULL;
    struct error lenient_err = {0};
    struct error strict_err = {0};

    if (jsonpath_find(path, doc, JSONPATH_MISSING_IS_NOTHING, &lenient, &lenient_err) < 0) {
        must(lenient_err.kind == ERROR_INVALID || lenient_err.kind == ERROR_TOO_LARGE);
        check_message(text, &lenient_err);
    }
    if (jsonpath_find(path, doc, JSONPATH_MISSING_IS_ERROR, &strict, &strict_err) < 0) {
        must(strict_err.kind == ERROR_NOT_FOUND || strict_err.kind == lenient_err.kind);
        check_message(text, &strict_err);
        return;
    }
    must(lenient && json_array_size(strict) > 0 && json_equal(lenient, strict));
    must(json_array_size(strict) <= JSONPATH_VISITS_MAX);
}

static void check_path(const char *text, const char *doc_text, size_t doc_size)
{
    cleanup_jsonpath struct jsonpath *path = NULL;
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *sample_doc = NULL;
    struct error err = {0};

    if (jsonpath_parse(text, &path, &err) < 0) {
        must(err.kind == ERROR_INVALID && !path);
        return;
    }
    must(doc_parse_json(sample, strlen(sample), SIZE_LIMIT, &sample_doc, &err) == 0);
    check_find(text, path, sample_doc);
    if (doc_parse_json(doc_text, doc_size, SIZE_LIMIT, &doc, &err) == 0)
        check_find(text, path, doc);
}

/* Writes the key with a backslash before each byte that can have a meaning. */
static void escape(const char *key, char *out)
{
    for (; *key; key++) {
        if (strchr(" \t\r\n.,[]$@{}\\*'\"!<>=()?:-", *key))
            *out++ = '\\';
        *out++ = *key;
    }
    *out = '\0';
}

static void check_key(const char *key)
{
    cleanup_free char *escaped = xmalloc(2 * strlen(key) + 1);
    cleanup_free char *text = NULL;
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *values = NULL;
    cleanup_jsonpath struct jsonpath *path = NULL;
    struct error err = {0};

    escape(key, escaped);
    text = xasprintf("$.%s[?(@.%s==7)].%s", escaped, escaped, escaped);
    if (!*key || strlen(text) > JSONPATH_TEXT_MAX)
        return;
    doc = json_pack("{s:i,s:[{s:i},{s:i},{s:i}]}", "_other", 1, key, key, 6, "_other", 7, key, 7);
    must(doc && jsonpath_parse(text, &path, &err) == 0);
    must(jsonpath_find(path, doc, JSONPATH_MISSING_IS_ERROR, &values, &err) == 0);
    must(json_array_size(values) == 1);
    must(json_integer_value(json_array_get(values, 0)) == 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *input = (const char *)data;
    const char *line_end = size > 0 ? memchr(input, '\n', size) : NULL;
    size_t line_size = line_end ? (size_t)(line_end - input) : size;
    cleanup_free char *line = xstrndup(input, line_size);
    cleanup_free char *key = utf8_repair(input, size);

    check_path(line, line_end ? line_end + 1 : "", line_end ? size - line_size - 1 : 0);
    check_key(key);
    return 0;
}
