/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/documents.h"

#include "deployer/lifecycle/manager.h"

static void release_place(struct documents *documents, size_t place)
{
    struct kyma *kyma = documents->clusters[place];

    if (!kyma)
        return;
    documents->clusters[place] = NULL;
    kyma->has_documents = false;
    kept_release(&kyma->object);
    for (struct module *module = kyma->modules; module; module = module->next)
        kept_release(&module->manifest);
}

void documents_hold(struct documents *documents, struct kyma *kyma)
{
    if (!kyma->has_documents) {
        release_place(documents, documents->next);
        documents->clusters[documents->next] = kyma;
        documents->next = (documents->next + 1) % DOCUMENTS_CLUSTERS_MAX;
        kyma->has_documents = true;
    }
    kept_hold(&kyma->object);
    for (struct module *module = kyma->modules; module; module = module->next)
        kept_hold(&module->manifest);
}

void documents_release(struct documents *documents, struct kyma *kyma)
{
    for (size_t i = 0; kyma->has_documents && i < DOCUMENTS_CLUSTERS_MAX; i++) {
        if (documents->clusters[i] == kyma)
            release_place(documents, i);
    }
}

void documents_release_all(struct documents *documents)
{
    for (size_t i = 0; i < DOCUMENTS_CLUSTERS_MAX; i++)
        release_place(documents, i);
}
