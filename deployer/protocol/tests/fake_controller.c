/* SPDX-License-Identifier: Apache-2.0 */
/* The item protocol with an engine of the tests as a program, for e2e/api/controller: the options
 * that its tests use, of those of "longshore controller", and --engine=smallest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/data/doc.h"
#include "deployer/controller/setup.h"
#include "deployer/protocol/tests/fake_engine.h"
#include "deployer/protocol/tests/smallest_engine.h"
#include "deployer/serve/daemon.h"
#include "deployer/validation/mistakes.h"

static const char *value_of(const char *argument, const char *name)
{
    size_t length = strlen(name);

    return strncmp(argument, name, length) == 0 ? argument + length : NULL;
}

int main(int argc, char **argv)
{
    const struct engine_class *engines[] = {&FAKE_ENGINE, NULL};
    struct controller_options options = {
        .engines = engines, .metrics_address = "off", .health_address = "off"};
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_config struct deployer_config *config = NULL;
    struct error err = {0};

    daemon_block_signals();
    doc_setup();
    log_configure("fake", LOG_LEVEL_DEBUG, LOG_FORMAT_JSON);
    for (int i = 1; i < argc; i++) {
        const char *given = NULL;

        if ((given = value_of(argv[i], "--config=")))
            options.config = given;
        else if ((given = value_of(argv[i], "--kubeconfig=")))
            options.kubeconfig = given;
        else if ((given = value_of(argv[i], "--metrics-address=")))
            options.metrics_address = given;
        else if (strcmp(argv[i], "--engine=smallest") == 0)
            engines[0] = &SMALLEST_ENGINE;
    }
    if (config_load(options.config, &config, &mistakes) < 0 ||
        controller_run(&options, config, &err) < 0) {
        log_error("unable to run", log_text("error", err.text));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
