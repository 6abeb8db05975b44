/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/failure.h"

static const struct {
    const char *name;
    uint32_t first_ms, max_ms;
} classes[] = {
    [FAILURE_NONE] = {"none", 0, 0},
    [FAILURE_NETWORK] = {"network", 5000, 5 * 60 * 1000},
    [FAILURE_UNAUTHORIZED] = {"unauthorized", 5000, 5 * 60 * 1000},
    [FAILURE_OBJECT] = {"object", 30 * 1000, 10 * 60 * 1000},
    [FAILURE_BUSY] = {"busy", 1000, 60 * 1000},
    [FAILURE_CONTENT] = {"content", 0, 0},
};

enum failure_class failure_classify(const struct error *err)
{
    if (err->kind == ERROR_NONE)
        return FAILURE_NONE;
    if (err->http_status == 401)
        return FAILURE_UNAUTHORIZED;
    if (err->http_status == 429 || err->http_status >= 500 || err->kind == ERROR_CANCELLED)
        return FAILURE_BUSY;
    if (err->kind == ERROR_TEMPORARY && err->http_status == 0)
        return FAILURE_NETWORK;
    if (err->kind == ERROR_INVALID && err->http_status == 0)
        return FAILURE_CONTENT;
    return FAILURE_OBJECT;
}

const char *failure_name(enum failure_class class)
{
    return classes[class].name;
}

void failure_delays(enum failure_class class, uint32_t *ret_first_ms, uint32_t *ret_max_ms)
{
    *ret_first_ms = classes[class].first_ms;
    *ret_max_ms = classes[class].max_ms;
}
