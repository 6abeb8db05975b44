#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs many random walks (walk.py, manifest_walk.py) at once, on the same API servers and registry.

    walks.py                    one walk with a new seed, which is printed
    walks.py --seed 42          repeat that walk
    walks.py --count 100        100 walks, with consecutive seeds that start at --seed
    walks.py --count 9 --jobs 1 one walk at a time
    walks.py --items manifest   of a manifest item instead of a container item

Each walk has its own namespaces, proxies, controller and directories. Walks that run at the same time share only the API servers,
the registry and the machine.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import pathlib
import random
import sys
import time

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from bench import leftovers, process  # noqa: E402 (the path must be set first)
from bench.apiserver import ApiServer  # noqa: E402
from bench.registry import Registry  # noqa: E402
from faults.manifest_walk import ManifestWalk  # noqa: E402
from faults.walk import Walk  # noqa: E402
from faults.walk_base import Broken  # noqa: E402
from init.parts import blueprint_blob, context, descriptor, push_component, reference, resource  # noqa: E402

JOBS = 16       # walks at the same time: a walk is mostly idle
COMPONENT = "example.com/walks/root"


def make_component(registry):
    """Publishes the component that init downloads. Returns (registry, function from the URL of a proxy to the configuration)."""
    blob = blueprint_blob({"data": random.Random(1).randbytes(50_000)})
    child = "example.com/walks/child"
    push_component(registry.client(), "walks", descriptor(child))
    push_component(registry.client(), "walks", descriptor(COMPONENT, references=[(child, "1.0.0")], resources=[resource(blob)]),
                   [blob])
    return registry, lambda url: reference(context(f"{url}/walks"), COMPONENT, blueprint="blueprint")


def walk_all(make_walk, seeds, *, jobs=JOBS, say=lambda line: None):
    """Returns (statistics of the walks, Broken exceptions)."""
    figures, broken = [], []

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        walks = {pool.submit(lambda seed=seed: make_walk(seed).run()): seed for seed in seeds}
        for done in concurrent.futures.as_completed(walks):
            try:
                figures.append(done.result())
                say(f"walk {walks[done]} passed: {figures[-1]}")
            except Broken as error:
                broken.append(error)
                say(f"BROKEN: {error}")
    return figures, broken


def summarize(make_walk, count, first_seed, **options):
    """Runs count walks from first_seed on and returns the statistics for make bench. Raises Broken if a walk failed."""
    began = time.monotonic()
    figures, broken = walk_all(make_walk, range(first_seed, first_seed + count), **options)
    if broken:
        seeds = ", ".join(str(error.seed) for error in broken)
        raise Broken(f"{len(broken)} of {count} walks failed, with the seeds {seeds}; the first one:\n{broken[0]}")
    faults, registry_faults = (sum((collections.Counter(one.get(key, {})) for one in figures), collections.Counter())
                               for key in ("faults", "registry faults"))
    return {"walks": count, "first seed": first_seed, "broken": 0, "faults": faults.total(),
            "crashes": sum(faults[kind] for kind in faults if kind.endswith("killed")),
            "jobs": sum(one["jobs"] for one in figures), "requests": sum(one["requests"] for one in figures),
            "by fault": dict(sorted(faults.items())), "by registry fault": dict(sorted(registry_faults.items())),
            "seconds": round(time.monotonic() - began, 1)}


def run(count, first_seed=1, *, apiserver=None, registry=None, **options):
    """Walks of container items, see summarize()."""
    with contextlib.ExitStack() as own:
        apiserver = apiserver or own.enter_context(contextlib.closing(ApiServer()))
        registry = registry or own.enter_context(contextlib.closing(Registry()))
        component = make_component(registry)
        return summarize(lambda seed: Walk(apiserver, component, seed), count, first_seed, **options)


def run_manifest(count, first_seed=1, *, apiserver=None, cluster=None, **options):
    """Walks of manifest items, see summarize()."""
    with contextlib.ExitStack() as own:
        apiserver = apiserver or own.enter_context(contextlib.closing(ApiServer()))
        cluster = cluster or own.enter_context(contextlib.closing(ApiServer(with_crds=False)))
        return summarize(lambda seed: ManifestWalk(apiserver, cluster, seed), count, first_seed, **options)


def main():
    parser = argparse.ArgumentParser(description="run random walks of an item with injected faults")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 10**9))
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=JOBS, help="number of walks at the same time")
    parser.add_argument("--items", choices=("container", "manifest"), default="container")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    leftovers.clean()
    walk = run if arguments.items == "container" else run_manifest
    try:
        print(walk(arguments.count, arguments.seed, jobs=arguments.jobs, say=lambda line: print(line, flush=True)))
    except Broken as error:
        sys.exit(f"{error}")
    finally:
        process.stop_all()


if __name__ == "__main__":
    main()
