# SPDX-License-Identifier: Apache-2.0
"""A random walk: one item from its first job to its deletion, with the real controller, init and wait. Meanwhile the network
between them and the API server or registry fails, programs are killed and the clock jumps, all determined by a seed. These
invariants must hold:

- main of a job starts at most once, with all of its inputs;
- the job ends in the phase that follows from the result of main and from the killed programs;
- main finds the last state that was saved, or the one before if wait was killed while it saved;
- nothing is left after the deletion.
"""

import base64
import hashlib
import json
import random
import shutil
import signal

from api.controller.harness import World
from bench.kube import ApiError
from bench.waiting import wait_until
from faults.chance import SHORT_TIMEOUT_WEIGHTS, categories_of, kind_of
from faults.clock import HOUR, Clock
from faults.node import Run
from faults.proxy import Action, FaultProxy
from faults.walk_base import Broken, ControllerWalk

NAME = "item"
LARGE_BYTES = 1_300_000     # two chunks of state
# Faults that only the timeout of init ends would take half a minute each.
REGISTRY_WEIGHTS = {"half-open for good": 0}
REGISTRY_TIMES = 3      # init sends only a few requests per run, the other programs dozens
CONFIG = {"garbageCollection": {"requeueTimeSeconds": 10}, "oci": {"allowPlainHttp": True}, "logTail": {"lines": 0}}


class Job:
    """What main does in one job, and the expected result."""

    def __init__(self, name, rng, operation="RECONCILE", kills=True):
        self.name, self.operation = name, operation
        self.exit_code = rng.choice([0, 0, 0, 0, 3])
        self.export = rng.choice([None, {"answer": rng.randrange(1000)}, {"text": "x" * rng.randrange(100_000)}])
        self.is_export_bad = rng.random() < 0.05
        self.state_bytes = rng.choice([0, 0, 100, 100, 100_000, LARGE_BYTES])
        # The number of the request at which init or wait is killed, and whether the server still receives that request.
        self.kill_wait = rng.randrange(4) if kills and rng.random() < 0.15 else None
        self.kill_init = rng.randrange(6) if kills and rng.random() < 0.2 else None
        self.is_applied = rng.random() < 0.5
        self.starts = 0
        self.is_wait_killed = self.is_init_killed = False

    @property
    def is_good(self):
        return not (self.exit_code or self.is_export_bad or self.is_wait_killed or self.is_init_killed)


class Walk(ControllerWalk):
    def __init__(self, apiserver, component, seed, rate=0.12):
        """component is (registry, function that returns the provider configuration) for init, see walks.py."""
        super().__init__(seed, rate)
        self.apiserver, self.component = apiserver, component
        rng = self.rng
        self.is_http2 = rng.random() < 0.75
        self.has_component = rng.random() < 0.5
        self.jobs = {}
        for number in range(rng.choice([1, 1, 2, 2, 3])):
            self._plan_job(f"job-{number + 1}")
        self.crashes = {rng.randrange(5, 80): rng.choice(["before", "after"]) for _ in range(rng.choice([0, 1, 1, 2]))}
        # The request of the controller at which the clock jumps, and by how much. Never combined with a crash: a controller
        # that restarts has to trust its clock, and would time out a job that seems to have started hours ago.
        self.jumps = {} if self.crashes else {rng.randrange(5, 60): rng.choice([-48, -5, -1, 1, 5, 48]) * HOUR for _ in range(4)}
        self.clock = Clock() if self.jumps else None
        self.states = {None}        # the states that main may find
        self.runs = []

    def _plan_job(self, name, operation="RECONCILE", **more):
        self.jobs[name] = Job(name, self.chance.rng("job", name), operation, **more)
        return self.jobs[name]

    # --- the walk ---

    def run(self):
        """Raises Broken if an invariant is violated. Returns statistics."""
        namespace, rewrite = self.make_namespace(self.apiserver.kube)
        self.world = World(self.apiserver, namespace)
        registry, configure = self.component
        # HTTP/2 needs TLS.
        registry_authority = self.apiserver.authority if self.is_http2 else None
        with FaultProxy(self.apiserver, self._controller_plan, http2=self.is_http2,
                        rewrite=rewrite) as self.controller_proxy, \
                FaultProxy(self.apiserver, self._wait_plan, http2=self.is_http2) as self.wait_proxy, \
                FaultProxy(registry, self._init_plan, http2=self.is_http2,
                           authority=registry_authority) as self.init_proxy:
            self.world.kubelet.behaviour = self._run_pod
            try:
                self._run_jobs(configure(self.init_proxy.url) if self.has_component else {})
            except Exception as error:
                raise self.broken(error) from error
            finally:
                self.close()
        return self.figures((self.controller_proxy, self.wait_proxy, self.init_proxy), jobs=len(self.jobs),
                            **{"registry faults": dict(sorted(self.init_proxy.injected.items()))})

    def _run_jobs(self, configuration):
        world = self.world
        self.start_controller()
        world.item(NAME, job=None, config=configuration)
        for job in list(self.jobs.values()):
            world.trigger(NAME, job.name)
            self.wait_for(lambda: world.status(NAME).get("jobIDFinished") == job.name, f"{job.name} finished")
            self._check_job(job)
        self._delete()
        self.stop_controller()

    def _delete(self):
        world = self.world
        job = self._plan_job("job-delete", "DELETE", kills=False)
        world.delete(NAME, job.name)
        if not job.is_good:
            self.wait_for(lambda: world.status(NAME).get("jobIDFinished") == job.name, "the failed deletion to finish")
            self._check_job(job)
            job = self._plan_job("job-delete-again", "DELETE", kills=False)
            job.exit_code, job.is_export_bad = 0, False
            world.trigger(NAME, job.name)
        self.wait_for(lambda: world.kube.find("landscaper.gardener.cloud/v1alpha1/deployitems", NAME, world.namespace) is None,
                       "the item to be deleted")
        if job.starts != 1:
            raise Broken(f"the item was deleted, but main ran {job.starts} times with DELETE")
        self.wait_for(lambda: not world.host_objects(), lambda: f"deletion of the objects on the host: {world.host_objects()}")
        if world.kube.find("secrets", f"{NAME}-export", world.namespace):
            raise Broken("the export Secret was not deleted")

    def _check_job(self, job):
        found = self.world.status(NAME)
        wanted = ("Succeeded" if job.is_good else "Failed") if job.operation == "RECONCILE" else "DeleteFailed"
        if found.get("phase") != wanted:
            raise Broken(f"{job.name} ended in phase {found.get('phase')}, not {wanted}: {found.get('lastError')}")
        if job.starts != (0 if job.is_init_killed else 1):
            raise Broken(f"{job.name} has finished, but its main ran {job.starts} times")
        if job.is_good and job.export and self._export(found) != job.export:
            raise Broken(f"{job.name} exported {str(self._export(found))[:80]}")

    def _export(self, found):
        if "exportRef" not in found:
            return None
        secret = self.world.kube.find("secrets", found["exportRef"]["name"], self.world.namespace)
        return secret and json.loads(base64.b64decode(secret["data"]["config"]))

    # --- the controller ---

    def start_controller(self):
        self.controller = self.world.start(config=CONFIG, proxy=self.controller_proxy, env=self.clock and self.clock.environment)

    def _controller_plan(self, request):
        number = None if request.is_watch else self.chance.count("controller requests")
        if number in self.jumps:
            self.clock.jump(self.jumps[number])
            self.other_faults["clock set"] += 1
            self.chance.drawn.append(("controller", kind_of(request), f"clock set by {self.jumps[number] // HOUR} h"))
        return self.crash_at(number, request) or self.chance.pick("controller", kind_of(request), categories_of(request))

    # --- the pods ---

    def _run_pod(self, pod):
        job = self.jobs.get(pod.job)
        if job is None:
            self.failures.append(f"a pod of an unknown job: {pod.job}")
            return
        environment = {"SSL_CERT_FILE": str(self.apiserver.authority.certificate)}
        if self.clock:
            environment.update(self.clock.environment)
        run = Run(pod, self.apiserver.authority, lambda run: self._main(run, job), api=self.wait_proxy, environment=environment)
        self.runs.append(run)
        run.job = job
        try:
            run.execute()
        except (ApiError, TimeoutError, OSError, KeyError, ValueError, Broken) as error:
            self.failures.append(f"pod of {job.name}: {error!r}")

    def _main(self, run, job):
        job.starts += 1
        if run.pod.operation != job.operation:
            raise Broken(f"{job.name} runs with operation {run.pod.operation}")
        if not run.file("TARGET_PATH").parent.is_dir():
            raise Broken("main started before init")
        if self.has_component and not (run.file("CONTENT_PATH") / "blueprint.yaml").exists():
            raise Broken("the content is missing")
        state = run.file("STATE_PATH")
        found = _state_of(state)
        if found not in self.states:
            raise Broken(f"{job.name} found the state of {found}, expected one of {self.states}")
        left = found
        if job.state_bytes:
            left = _write_state(state, job.name, random.Random(f"{self.seed}/{job.name}").randbytes(job.state_bytes))
        # If wait is killed while it saves, either state is possible.
        self.states = {left, found} if job.kill_wait is not None else {left}
        if job.is_export_bad:
            run.file("EXPORTS_PATH").write_text("[1, 2]")
        elif job.export:
            run.file("EXPORTS_PATH").write_text(json.dumps(job.export))
        return job.exit_code

    def _wait_plan(self, request):
        run = self.runs[-1]
        if not request.is_watch and run.job.kill_wait is not None:
            if self.chance.count("wait requests", run.job.name) == run.job.kill_wait:
                return self._kill(run, "wait", request)
        return self.chance.pick(f"wait of {run.job.name}", kind_of(request), categories_of(request), weights=SHORT_TIMEOUT_WEIGHTS)

    def _init_plan(self, request):
        run = self.runs[-1]
        kind = request.path.rstrip("/").split("/")[-2]  # manifests, blobs
        if run.job.kill_init is not None and self.chance.count("init requests", run.job.name) == run.job.kill_init:
            return self._kill(run, "init", request)
        return self.chance.pick(f"init of {run.job.name}", kind, {"any"}, weights=REGISTRY_WEIGHTS, times=REGISTRY_TIMES)

    def _kill(self, run, program, request):
        self.chance.drawn.append((f"{program} of {run.job.name}", f"{request.method} {request.path}", "killed"))

        def kill():
            # The request may arrive before the thread that started the process has stored it.
            process = wait_until(lambda: getattr(run, program), f"{program} started")
            setattr(run.job, f"is_{program}_killed", True)
            process.kill()
            # If the server was slow to respond, the program may have retried and finished in the meantime.
            if process.exit_code != -signal.SIGKILL:
                setattr(run.job, f"is_{program}_killed", False)
            else:
                self.other_faults[f"{program} killed"] += 1
        return Action(lose=True, applied=kill) if run.job.is_applied else Action(forward=False, lose=True, before=kill)

    # --- the end ---

    def command(self):
        return f"e2e/faults/walks.py --seed {self.seed}"

    def close(self):
        super().close()
        for run in self.runs:
            run.forget()
            shutil.rmtree(run.volumes.root, ignore_errors=True)


def _state_of(directory):
    """The name of the job that wrote the state. Raises Broken if the state is incomplete."""
    if not (directory / "job").exists():
        if any(directory.iterdir()):
            raise Broken("the state is incomplete")
        return None
    job, digest = (directory / "job").read_text().split()
    if hashlib.sha256((directory / "data").read_bytes()).hexdigest() != digest:
            raise Broken(f"the state of {job} is corrupt")
    return job


def _write_state(directory, job, data):
    (directory / "data").write_bytes(data)
    (directory / "job").write_text(f"{job} {hashlib.sha256(data).hexdigest()}")
    return job
