/* SPDX-License-Identifier: Apache-2.0 */
/* The list of objects that were applied, or are about to be: the only memory of what has to be
 * removed one day. Pure; who stores it is the caller's business.
 *
 * An entry is recorded before its object is applied, without a uid. On removal an object stays if
 * its uid is another one (it was replaced), if its owner label names another owner (it moved), or
 * if the entry has no uid and the label is not ours (recorded, but never applied). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/apply/reference.h"

enum apply_policy {
    POLICY_MANAGE,    /* create, change, delete */
    POLICY_FALLBACK,  /* the same, but only if the object is absent or has our owner label */
    POLICY_KEEP,      /* create, change, never delete */
    POLICY_IMMUTABLE, /* create, never change, delete */
    POLICY_IGNORE,    /* not applied, not recorded */
};

const char *policy_name(enum apply_policy policy);
/* "" is POLICY_MANAGE; an unknown word is ERROR_INVALID. */
int policy_parse(const char *text, enum apply_policy *ret_policy, struct error *err) must_check;

struct inventory_entry {
    struct object_ref ref;
    enum apply_policy policy;
    bool is_crd, is_namespaced;
    json_t *annotate_before_delete; /* object, or NULL */
    json_t *patch_before_delete;    /* object, or NULL */
    /* Finalizers and owner references that the applied manifest itself contained: taken back when
     * they leave the manifest. NULL: none. */
    json_t *own_finalizers, *own_owners;
    /* What was applied last and what the server made of it (merge.h: merge_note_applied()), to
     * find out that nothing changed. Both NULL: unknown, the object is compared, and written in
     * case of doubt. Like own_* they may get lost without harm. */
    char *desired_hash, *applied_hash;
    /* Of this process, not stored: recorded for the plan under way, and no request was sent that
     * may have created the object. */
    bool is_new;
};

/* To be initialised with {0}, and changed only by the functions below. */
struct inventory {
    struct inventory_entry *entries; /* members may be changed, but not ref */
    size_t count, capacity;
    json_t *places; /* of the entries, by name and by uid; NULL if it is empty */
};

void inventory_entry_done(struct inventory_entry *entry);
struct inventory_entry inventory_entry_copy(const struct inventory_entry *entry);
void inventory_done(struct inventory *inventory);
#define cleanup_inventory __attribute__((cleanup(inventory_done)))
struct inventory inventory_copy(const struct inventory *inventory);
/* A copy without entries that are new: no such object can exist. */
struct inventory inventory_copy_made(const struct inventory *inventory);
/* Takes the entry over and returns it. An entry with the same uid or the same name is replaced: a
 * name belongs to one object at a time. Of the replaced entry these are kept if the new one has
 * none: uid, desired_hash and applied_hash (the hashes only if the uid is not
 * another one). own_finalizers and own_owners are united, because they have to be remembered until
 * a write has removed them. It is new only if the replaced one is. The result is borrowed until the
 * inventory changes. */
struct inventory_entry *inventory_add(struct inventory *inventory, struct inventory_entry entry);
/* The entry with the same uid, else the one with the same name, else NULL. Borrowed likewise. */
struct inventory_entry *inventory_find(const struct inventory *inventory,
                                       const struct object_ref *ref);
/* Sets the uid of an entry of this inventory. NULL: unknown. */
void inventory_set_uid(struct inventory *inventory, struct inventory_entry *entry, const char *uid);
/* Removes the entry that is equal (object_ref_equal()), so not one with the same name and another
 * uid. The last entry takes its place: the list has to be sorted again. */
void inventory_remove(struct inventory *inventory, const struct object_ref *ref);
/* CRDs, cluster-scoped, namespaced; within a group by kind, namespace, name, uid, apiVersion. */
void inventory_sort(struct inventory *inventory);
/* Entries of before whose uid and name are both not in now, as a new inventory: what left the list.
 */
struct inventory inventory_orphans(const struct inventory *before, const struct inventory *now);

/* Who an object belongs to: a label whose value identifies the owner, and an annotation that has
 * the full identity (the label may be hashed, and is equal for owners of the same name in different
 * namespaces). An object without the annotation is judged by the label alone: the Go deployer does
 * not write it. */
struct apply_owner {
    const char *label_key, *label_value;
    const char *annotation_key, *annotation_value; /* NULL: none */
};

bool owner_has_object(const struct apply_owner *owner, const json_t *object);
/* Whether the live object carries the mark of another owner. */
bool owner_is_other(const struct apply_owner *owner, const json_t *object);

enum removal_verdict {
    REMOVAL_DELETE,   /* ours: delete it, with its uid as precondition */
    REMOVAL_REPLACED, /* another uid: somebody deleted it and created another one */
    REMOVAL_MOVED,    /* belongs to another owner now */
    REMOVAL_FOREIGN,  /* has no owner label, and was perhaps never applied by us */
    REMOVAL_KEPT,     /* its policy says so */
};

/* live is the object as the server has it. Policies: POLICY_KEEP and POLICY_IGNORE are kept;
 * POLICY_FALLBACK needs the owner label; the others need it only if the entry has no uid. */
enum removal_verdict removal_judge(const struct inventory_entry *entry, const json_t *live,
                                   const struct apply_owner *owner);
const char *removal_verdict_text(enum removal_verdict verdict); /* "was replaced", for messages */
