/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of `longshore lifecycle` mean. */
#include <string.h>

#include "common/base/memory.h"
#include "common/command_line/table.h"
#include "common/data/doc.h"
#include "common/data/duration.h"
#include "deployer/lifecycle/manager.h"

enum { POLICY_BYTES_MAX = 1 << 20 };

static int read_policy(struct lifecycle *lifecycle, const char *path, struct error *err)
{
    cleanup_buffer struct buffer text = {0};

    if (!path)
        return 0;
    if (doc_read_file(path, POLICY_BYTES_MAX, &text, err) < 0 ||
        maintenance_parse(text.data, text.size, &lifecycle->policy, err) < 0)
        return error_wrap(err, "--maintenance-policy");
    return 0;
}

static int read_credentials(struct lifecycle *lifecycle, const char *path, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_json json_t *config = NULL;
    size_t helpers = 0;

    lifecycle->keyring = keyring_new();
    if (!path)
        return 0;
    if (doc_read_file(path, POLICY_BYTES_MAX, &text, err) < 0 ||
        doc_parse_json(text.data, text.size, POLICY_BYTES_MAX, &config, err) < 0 ||
        keyring_add_docker_config(lifecycle->keyring, path, config, &helpers, err) < 0)
        return error_wrap(err, "--registry-config");
    return 0;
}

int lifecycle_read_options(struct lifecycle *lifecycle, const struct lifecycle_values *values,
                           struct error *err)
{
    static const char *const sources[] = {"both", "manager", "resource"};
    const char *host = values->registry;
    cleanup_json json_t *spec = NULL;
    int64_t window_ns = 0;

    if (!host || !*host)
        return error_set(err, ERROR_INVALID,
                         "--oci-registry-host is required: the registry with the components of "
                         "modules");
    if (duration_parse(values->window_size, &window_ns, err) < 0)
        return error_wrap(err, "--min-maintenance-window-size");
    lifecycle->options = (struct lifecycle_options){
        .namespace_name = values->namespace_name,
        .repository_name = strstr(host, "://") ? strstr(host, "://") + 3 : host,
        .is_own_cluster = values->is_own_cluster,
        .is_shared = values->is_shared,
        .window_least_ms = window_ns / 1000000,
    };
    for (size_t i = 0; i < array_length(sources); i++) {
        if (strcmp(values->module_state, sources[i]) == 0)
            lifecycle->options.state_source = (enum state_source)i;
    }
    spec = json_pack("{s:s, s:s, s:s}", "type", "OCIRegistry", "baseUrl", host, "subPath",
                     values->sub_path ? values->sub_path : "");
    if (repository_parse(spec, &lifecycle->repository, err) < 0)
        return error_wrap(err, "--oci-registry-host");
    return read_policy(lifecycle, values->policy, err) < 0 ||
                   read_credentials(lifecycle, values->registry_config, err) < 0
               ? -1
               : 0;
}
