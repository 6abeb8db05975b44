/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/answer.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/object.h"

/* A proxy or load balancer may answer in place of the API server, for example with a login page, or
 * truncate a response. The API server always sends one JSON object. */
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
        return kube_object_parse(body->data, body->size, answer->skipped_members, ret_object,
                                 &fault, err);
    return doc_parse_json_without(body->data, body->size, answer->size_max, answer->skipped_members,
                                  ret_object, err);
}

int kube_answer_read(const struct kube_answer *answer, const struct buffer *body,
                     json_t **ret_object, struct error *err)
{
    *ret_object = NULL;
    if (answer->is_raw) {
        *ret_object = doc_new_string(body->data, body->size);
        return 0;
    }
    if (body->size > 0 && is_foreign(body))
        return error_set(err, ERROR_TEMPORARY,
                         "response did not come from the API server (proxy or login page?)");
    if (answer->is_unread)
        return 0;
    if (body->size == 0) {
        *ret_object = json_object();
        return 0;
    }
    return parse(answer, body, ret_object, err) < 0 ? error_wrap(err, "response") : 0;
}
