/* SPDX-License-Identifier: Apache-2.0 */
/* The content of modules, read from a registry once for all clusters.
 *
 * Nobody waits for an answer: a caller asks, and gets what is known. If nothing is known yet, a
 * request starts, and on_change is called when asking again gives another answer. Thousands of
 * clusters that ask for the same version cause three requests for its descriptor and one for its
 * layer. What could not be read is tried again with growing delays, as long as somebody asks. */
#pragma once

#include <jansson.h>

#include "common/base/loop.h"
#include "common/component/repository.h"
#include "common/oci/registry.h"
#include "deployer/lifecycle/module_source.h"

struct module_store;

typedef void module_store_changed_fn(void *data, const char *component);

struct module_store_options {
    struct loop *loop;
    struct registry *registry;           /* borrowed */
    const struct repository *repository; /* where the components are; borrowed */
    /* What module_store_source() or module_store_objects() says about this component has changed.
     */
    module_store_changed_fn *on_change;
    void *data;
};

struct module_store *module_store_new(const struct module_store_options *options);
void module_store_free(struct module_store *store); /* NULL is fine; on_change is not called */

enum module_answer {
    MODULE_ANSWER_WAIT, /* on_change will be called */
    MODULE_ANSWER_KNOWN,
    MODULE_ANSWER_FAILED, /* err says why; asking again later may help, on_change then is called */
};

/* Results are borrowed until the store is freed; what is known stays known. */
enum module_answer module_store_source(struct module_store *store, const char *component,
                                       const char *version, const struct module_source **ret_source,
                                       struct error *err) must_check;
/* The objects of a layer (module_objects.h), by the digest that a module_source or a Manifest
 * names. is_archive as there. */
enum module_answer module_store_objects(struct module_store *store, const char *component,
                                        const char *digest, bool is_archive,
                                        const json_t **ret_objects, struct error *err) must_check;
