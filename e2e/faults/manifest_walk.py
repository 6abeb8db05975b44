# SPDX-License-Identifier: Apache-2.0
"""A random walk of a manifest item, with the real controller and two API servers. The item is changed, interrupted, deleted and
created again, and somebody else changes its objects; meanwhile the network to both clusters fails and the controller is killed,
all determined by a seed. These invariants must hold:

- each job ends in the phase that its specification demands;
- then every object of the specification has the right content, and nothing of an earlier one is left, except with policy keep;
- objects of others are never written;
- the value of a Secret is never in the log, the status or an Event;
- nothing is left after a deletion.
"""

import base64
import json

from api.manifest.harness import EXPORTED, ManifestWorld, config_map, managed
from bench.kube import DEPLOYITEMS, ApiError
from faults.chance import categories_of, kind_of
from faults.walk_base import Broken, ControllerWalk

NAME = "item"
MANAGED, KEPT = "abcdefgh", "kl"        # names of objects; those of KEPT have the policy keep
THEIRS = ("theirs", "a-theirs")
KINDS = {"configmaps": "ConfigMap", "secrets": "Secret"}
STRATEGIES = ("update", "patch", "apply")
# The first fails a job at once, the second at its timeout, because the API server refuses the name; the other objects may have been
# applied by then.
MISTAKES = (lambda space: managed(config_map("z", space), policy="mange"), lambda space: managed(config_map("Not_A_Name", space)))
TIMEOUT, TIMEOUT_OF_MISTAKES = "10m", "5s"


class Job:
    """What Landscaper asks for: the objects, as (resource, name) to data, and the mistake in the specification, if any."""

    def __init__(self, name, rng, secrets):
        self.name = name
        self.objects = {}
        for letter in rng.sample(MANAGED + KEPT, rng.randrange(1, 9)):
            resource = rng.choice(sorted(KINDS))
            value = f"{rng.getrandbits(64):016x}"
            if resource == "secrets":
                value = f"s3cret-{value}"
                secrets.append(value)
            self.objects[resource, letter] = {"answer": value}
            if rng.random() < 0.3:
                self.objects[resource, letter][f"key-{rng.getrandbits(32):08x}"] = "x" * rng.randrange(2000)
        self.mistake = rng.choice(MISTAKES) if rng.random() < 0.15 else None
        self.is_interrupted = rng.random() < 0.25
        self.exported = rng.choice(sorted(self.objects)) if rng.random() < 0.5 else None

    def manifests(self, space):
        made = []
        for (resource, name), data in self.objects.items():
            manifest = config_map(name, space, data)
            if resource == "secrets":
                manifest = {**manifest, "kind": "Secret", "data": {key: encode(value) for key, value in data.items()}}
            made.append(managed(manifest, **({"policy": "keep"} if name in KEPT else {})))
        if self.mistake:
            made.append(self.mistake(space))
        return made

    def exports(self, space):
        if not self.exported or self.mistake:
            return {}
        resource, name = self.exported
        return {"exports": {"exports": [{**EXPORTED, "fromResource": {"apiVersion": "v1", "kind": KINDS[resource], "name": name,
                                                                       "namespace": space}}]}}


def encode(text):
    return base64.b64encode(text.encode()).decode()


class ManifestWalk(ControllerWalk):
    def __init__(self, apiserver, cluster, seed, rate=0.12):
        super().__init__(seed, rate)
        self.apiserver, self.cluster = apiserver, cluster
        rng = self.rng
        self.secrets = []
        self.jobs = [Job(f"job-{number}", rng, self.secrets) for number in range(rng.randrange(3, 7))]
        self.jobs[-1].mistake = self.jobs[-1].is_interrupted = None
        self.recreations = {job.name for job in self.jobs[1:] if rng.random() < 0.2}
        self.strategy = rng.choice(STRATEGIES)
        self.is_http2 = rng.random() < 0.75
        self.crashes = {rng.randrange(5, 90): rng.choice(["before", "after"]) for _ in range(rng.choice([0, 1, 1, 2, 3]))}
        self.kept = {}      # objects with the policy keep that must stay: their data, by (resource, name)

    def command(self):
        return f"e2e/faults/walks.py --items manifest --seed {self.seed}"

    # --- the walk ---

    def run(self):
        """Raises Broken if an invariant is violated. Returns statistics."""
        namespace, rewrite = self.make_namespace(self.apiserver.kube)
        self.world = ManifestWorld(self.apiserver, namespace, self.cluster)
        self.theirs = [self.world.create(self.world.config(name)) for name in THEIRS]
        try:
            with self.world.behind_proxies(lambda request: self._plan("host", request), lambda request: self._plan("target", request),
                                           http2=self.is_http2, rewrite=rewrite) as target:
                self.controller_proxy = self.world.proxy
                self._run_jobs()
                return self.figures((self.controller_proxy, target), jobs=len(self.jobs))
        except Exception as error:
            raise self.broken(error) from error
        finally:
            self.close()

    def _run_jobs(self):
        self.start_controller()
        is_there = False
        for job in self.jobs:
            if is_there and job.name in self.recreations:
                self._delete(f"delete-before-{job.name}")
                is_there = False
            self._begin(job, is_there)
            is_there = True
            if job.is_interrupted:
                self._interrupt(job)
                continue
            self.wait_for(lambda: self.world.status(NAME).get("jobIDFinished") == job.name, f"{job.name} finished")
            self._check_job(job)
            self._disturb()
        self._delete("delete")
        self._check_secrets()
        self.stop_controller()

    def _begin(self, job, is_there):
        config = {"updateStrategy": self.strategy, **job.exports(self.world.space),
                  "spec": {"timeout": TIMEOUT_OF_MISTAKES if job.mistake else TIMEOUT}}
        manifests = job.manifests(self.world.space)
        for _ in range(20):
            try:
                if is_there:
                    self.world.update(NAME, manifests, job=job.name, **config)
                else:
                    self.world.deploy(NAME, manifests, job=job.name, **config)
                return
            except ApiError as error:   # the controller has written the item in the meantime
                if error.status != 409:
                    raise
        raise Broken(f"{job.name} could not be started")

    def _interrupt(self, job):
        """After a random number of requests, as a user does with a job that hangs. The job may be over by then."""
        last = len(self.controller_proxy.requests) + self.rng.randrange(12)
        self.wait_for(lambda: len(self.controller_proxy.requests) >= last or
                      self.world.status(NAME).get("jobIDFinished") == job.name, f"{job.name} to be interrupted")
        if self.world.status(NAME).get("jobIDFinished") != job.name:
            self.world.interrupt(NAME, job.name)
        # Some of its objects with the policy keep may have been applied.
        for key in job.objects:
            self.kept.pop(key, None)

    def _delete(self, job):
        self.world.kube.patch(DEPLOYITEMS, NAME, {"spec": {"timeout": TIMEOUT}}, self.world.namespace)
        self.world.delete(NAME, job)
        self.wait_for(lambda: self.world.kube.find(DEPLOYITEMS, NAME, self.world.namespace) is None, "the item to be deleted")
        self._check_objects({}, job)
        if self.world.kube.find("secrets", f"{NAME}-export", self.world.namespace):
            raise Broken("the export Secret was not deleted")

    def _disturb(self):
        """Somebody else deletes or changes one of the objects."""
        ours = [(resource, name) for resource in sorted(KINDS) for name in self._names(resource) if name not in THEIRS]
        if not ours or self.rng.random() < 0.5:
            return
        resource, name = self.rng.choice(ours)
        self.kept.pop((resource, name), None)
        if self.rng.random() < 0.5:
            self.world.remote.delete(resource, name, self.world.space)
        else:
            self.world.remote.patch(resource, name, {"data": {"answer": encode("changed")}}, self.world.space)

    # --- the invariants ---

    def _names(self, resource):
        return self.world.names(resource)

    def _check_job(self, job):
        status = self.world.status(NAME)
        wanted = "Failed" if job.mistake else "Succeeded"
        if status.get("phase") != wanted:
            raise Broken(f"{job.name} ended in phase {status.get('phase')}, not {wanted}: {status.get('lastError')}")
        if job.mistake:     # what it has applied is up to the order of the requests
            for key in job.objects:
                self.kept.pop(key, None)
            self._check_theirs()
            return
        for key, data in job.objects.items():
            if key[1] in KEPT:
                self.kept[key] = data
        self._check_objects(job.objects, job.name)
        recorded = sorted(self.world.recorded(NAME))
        if recorded != sorted(name for _, name in job.objects):
            raise Broken(f"after {job.name} the status lists {recorded}")
        if job.exported:
            found = self.world.exported(status["exportRef"]["name"])
            answer = job.objects[job.exported]["answer"]
            if found != {"answer": encode(answer) if job.exported[0] == "secrets" else answer}:
                raise Broken(f"{job.name} exported {found}")

    def _check_objects(self, wanted, after):
        """The objects are those that are wanted or kept, with the right content."""
        wanted = {**self.kept, **wanted}
        for resource in KINDS:
            found = {name: self.world.found(name, resource) for name in self._names(resource)}
            for name, thing in found.items():
                if name in THEIRS or name in KEPT and (resource, name) not in wanted:
                    continue
                if (resource, name) not in wanted:
                    raise Broken(f"after {after} {resource}/{name} is left")
                data = {key: base64.b64decode(value).decode() if resource == "secrets" else value
                        for key, value in thing.get("data", {}).items()}
                if data != wanted[resource, name]:
                    raise Broken(f"after {after} {resource}/{name} has the keys {sorted(data)} or other values")
            for kind, name in wanted:
                if kind == resource and name not in found:
                    raise Broken(f"after {after} {resource}/{name} is missing")
        self._check_theirs()

    def _check_theirs(self):
        for thing in self.theirs:
            if self.world.found(thing["metadata"]["name"]) != thing:
                raise Broken(f"{thing['metadata']['name']} of somebody else was changed")

    def _check_secrets(self):
        texts = {"the log": "".join(controller.output() for controller in self.world.controllers),
                 "an Event": json.dumps(self.world.kube.items("events", self.world.namespace)),
                 "a request that writes the status": "".join(
                     request.body.decode(errors="replace") for request in self.controller_proxy.requests
                     if request.path.endswith("/status") or "/events" in request.path)}
        for where, text in texts.items():
            if any(value in text or encode(value)[:-4] in text for value in self.secrets):
                raise Broken(f"the value of a Secret is in {where}")

    # --- the controller ---

    def start_controller(self):
        self.controller = self.world.start(proxy=self.world.proxy)
        self.controller.expected = False

    def _plan(self, actor, request):
        number = None if request.is_watch else self.chance.count("controller requests")
        return self.crash_at(number, request) or self.chance.pick(actor, kind_of(request), categories_of(request))
