/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/credentials.h"

#include <stdlib.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/pod/inputs.h"

enum { FILE_MAX_BYTES = 1024 * 1024 };

static int add_file(json_t *docker_configs, const char *path, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    json_t *config = NULL;

    buffer_init(&text, FILE_MAX_BYTES);
    if (doc_read_file(path, FILE_MAX_BYTES, &text, err) < 0) {
        if (err->kind == ERROR_NOT_FOUND)
            return 0;
        return error_wrap(err, "registry credentials");
    }
    if (doc_parse_json(text.data ? text.data : "", text.size, FILE_MAX_BYTES, &config, err) < 0)
        return error_wrap(err, "registry credentials \"%s\"", path);
    inputs_add_docker_config(docker_configs, path, config);
    return 0;
}

static int add_below(json_t *docker_configs, const char *variable, const char *rest,
                     struct error *err)
{
    const char *base = getenv(variable);
    cleanup_free char *path = base && *base ? xasprintf("%s%s", base, rest) : NULL;

    return path ? add_file(docker_configs, path, err) : 0;
}

int credentials_add(json_t *docker_configs, struct error *err)
{
    if (add_below(docker_configs, "REGISTRY_AUTH_FILE", "", err) < 0 ||
        add_below(docker_configs, "XDG_RUNTIME_DIR", "/containers/auth.json", err) < 0)
        return -1;
    if (getenv("DOCKER_CONFIG"))
        return add_below(docker_configs, "DOCKER_CONFIG", "/config.json", err);
    return add_below(docker_configs, "HOME", "/.docker/config.json", err);
}
