/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/answer.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/utf8.h"
#include "common/data/doc.h"
#include "common/kube/object.h"

/* Text of any program is UTF-8 here: what is not becomes U+FFFD. */
static json_t *raw_text(const char *text, size_t size)
{
    static const char replacement[3] = {'\xef', '\xbf', '\xbd'};
    cleanup_free char *clean = xmalloc(size * sizeof(replacement) + 1);
    size_t used = 0;

    for (size_t i = 0; i < size;) {
        uint32_t code = 0;
        size_t length = utf8_decode(text + i, size - i, &code);

        if (length == 0 || code == 0) {
            memcpy(clean + used, replacement, sizeof(replacement));
            used += sizeof(replacement);
            i++;
            continue;
        }
        memcpy(clean + used, text + i, length);
        used += length;
        i += length;
    }
    return json_stringn(clean, used);
}

/* Whatever stands between us and the API server may answer in its place: a login page, an answer
 * that was cut. What the API server writes is an object from brace to brace. */
static bool is_foreign(const struct buffer *body)
{
    static const char space[] = " \t\r\n";
    size_t first = 0;
    size_t end = body->size;

    while (first < end && memchr(space, body->data[first], sizeof(space) - 1))
        first++;
    while (end > first && memchr(space, body->data[end - 1], sizeof(space) - 1))
        end--;
    return end - first < 2 || body->data[first] != '{' || body->data[end - 1] != '}';
}

static int parse(const struct kube_answer *answer, const struct buffer *body, json_t **ret_object,
                 struct error *err)
{
    struct error fault = {0};

    if (answer->is_reducible && body->size <= answer->size_max)
        return kube_object_parse(body->data, body->size, answer->left_out, ret_object, &fault, err);
    return doc_parse_json_without(body->data, body->size, answer->size_max, answer->left_out,
                                  ret_object, err);
}

int kube_answer_read(const struct kube_answer *answer, const struct buffer *body,
                     json_t **ret_object, struct error *err)
{
    *ret_object = NULL;
    if (answer->is_raw) {
        *ret_object = raw_text(body->data, body->size);
        return 0;
    }
    if (body->size > 0 && is_foreign(body))
        return error_set(err, ERROR_TEMPORARY, "the answer is not of the API server");
    if (answer->is_unread)
        return 0;
    if (body->size == 0) {
        *ret_object = json_object();
        return 0;
    }
    return parse(answer, body, ret_object, err) < 0 ? error_wrap(err, "answer") : 0;
}
