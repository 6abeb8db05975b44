/* SPDX-License-Identifier: Apache-2.0 */
/* Helm items on this machine. As in a cluster, init fetches the chart and main is the real helm, in
 * an OCI runtime. Without a cluster helm renders the chart, and the objects are printed. With one
 * the item is deployed to it: rendered objects are applied like those of a manifest item, or helm
 * installs a release, whose workloads are then waited for. */
#pragma once

#include <jansson.h>

#include "deployer/offline/manifest.h"
#include "deployer/offline/offline.h"
#include "deployer/run/options.h"
#include "deployer/run/workspace.h"

struct local_helm {
    bool is_item;     /* else nothing of this is used */
    bool has_cluster; /* a Target or a kubeconfig is given */
    json_t *item;     /* as given */
};

/* Whether a cluster is given, and what that means for the item, which is changed: without a cluster
 * the chart is rendered, whatever helmDeployment says. */
int local_helm_adapt(const struct run_options *options, const struct bundle *bundle, json_t *item,
                     struct local_helm *helm, struct error *err) must_check;
/* Whether there is nothing to run: the deletion of applied objects needs no helm. */
bool local_helm_is_removal(const struct run_options *options, const struct local_helm *helm);
/* Adds to the run what depends on the Context and on the cluster, which is asked. ret_manifest has
 * the access to it, if there is one. */
int local_helm_prepare(const struct run_options *options, const struct local_helm *helm,
                       struct offline *offline, struct offline_manifest *ret_manifest,
                       struct error *err) must_check;

/* Moves what helm has rendered from the state to the result, for local_helm_finish(). Called in the
 * namespaces of the run, after main. */
int local_helm_collect(struct workspace *workspace, json_t *result, struct error *err) must_check;
/* What follows on a run that has ended, outside of its namespaces. Completes the result. */
void local_helm_finish(const struct run_options *options, const struct local_helm *helm,
                       const struct offline *offline, struct offline_manifest *manifest,
                       json_t *result);
