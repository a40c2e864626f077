"""One measurement in a fresh process: `python -m bench.worker JOB SYSTEM PARAMETERS FOLDER`.

Prints one JSON object: `value` (lower is better; its unit is the measure's) and `detail`.
"""

import json
import multiprocessing
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import workload
from bench.systems import Missing, find

Result = dict[str, Any]
Job = Callable[[str, Path, dict[str, Any]], Result]


def reference(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Fold the workload without any system; the digests in the detail."""
    del system, folder
    count = given["events"]
    places = workload.random_places(count, given["places"])
    found = workload.reference(count, places=places)
    at = workload.digest_all(found[place] for place in places)
    return {"value": 0.0, "digest": found[count], "places_digest": at}


def fill(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Make a history; us an event."""
    start = time.perf_counter()
    find(system)(folder).fill(given["events"])
    return {"value": (time.perf_counter() - start) / given["events"] * 1e6}


def replay(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Fold a whole history from nothing; us an event. The peak of memory is in the detail."""
    before = _peak_bytes()
    state, took = find(system)(folder).replay()
    grown = _peak_bytes() - before
    _check(state, given["digest"])
    return {"value": took / given["events"] * 1e6, "detail": {"grown_mb": grown / 1e6}}


def verify(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Verify a whole journal; us an event."""
    return {"value": find(system)(folder).verify() / given["events"] * 1e6}


def cold_open(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Open to the current state, once; ms."""
    state, took = find(system)(folder).cold_open()
    _check(state, given["digest"])
    return {"value": took * 1e3}


def states_at(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Read the state at random places; ms at the median, the 99th percentile in the detail."""
    subject = find(system)(folder)
    digests, took = [], []
    places = workload.random_places(given["events"], given["places"])
    for state, seconds in subject.states_at(places):
        digests.append(workload.digest(state))
        took.append(seconds * 1e3)
    if workload.digest_all(digests) != given["places_digest"]:
        raise AssertionError("a state is not the one that the workload folds to")
    took.sort()
    detail = {"p99_ms": took[int(len(took) * 0.99)]}
    if system == "journal":
        detail["beyond_log"] = subject.sizes(given["events"])["beyond_log"]
    return {"value": statistics.median(took), "detail": detail}


def append(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Append one by one; us an append at the median, the mean and p99 in the detail."""
    options = {name: given[name] for name in ("durable", "view") if name in given}
    subject = find(system)(folder, given.get("tasks", workload.TASKS))
    took = sorted(seconds * 1e6 for seconds in subject.append(given["events"], **options))
    return {
        "value": statistics.median(took),
        "detail": {"mean_us": statistics.fmean(took), "p99_us": took[int(len(took) * 0.99)]},
    }


def append_behind(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Append one by one behind a long history, to a fork of it; us an append at the median."""
    place = folder.with_name(f"{folder.name}-fork")
    try:
        took = sorted(s * 1e6 for s in find(system)(folder).append_behind(given["count"], place))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return {
        "value": statistics.median(took),
        "detail": {"mean_us": statistics.fmean(took), "p99_us": took[int(len(took) * 0.99)]},
    }


def export(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Export a whole history; us an event."""
    return {"value": find(system)(folder).export() / given["events"] * 1e6}


def scan(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Go through a whole history; us an event."""
    return {"value": find(system)(folder).scan(given["what"]) / given["events"] * 1e6}


def imports(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Import real histories of at most so many bytes, each several times over; us a version."""
    named = os.environ.get("JOURNAL_HISTORIES")
    data = Path(__file__).parents[1] / "tests" / "data"
    found = {path.name: path for path in data.glob("*.jsonl.gz")}
    found |= {path.name: path for path in Path(named).glob("*.jsonl.gz")} if named else {}
    sources = [path for path in found.values() if path.stat().st_size <= given["most_bytes"]]
    if not sources:
        raise Missing(f"no history (*.jsonl.gz) in {named or data}")
    folder.mkdir(parents=True, exist_ok=True)
    count, took = find(system)(folder).imports(sorted(sources), times=given["times"])
    return {
        "value": took / count * 1e6,
        "detail": {"histories": len(sources), "versions": count, "seconds": took},
    }


def batches(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Append batches; us an event."""
    took = find(system)(folder).batches(
        given["events"], size=given["size"], durable=given["durable"]
    )
    return {"value": took / given["events"] * 1e6}


def sizes(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Bytes of log an event beyond its JSON payload and the envelope that it needs anyway."""
    import msgspec

    count = given["events"]
    find(system)(folder).append(count, durable=True)
    plain = 0
    for number, event in enumerate(workload.events(count), 2):
        envelope = {
            "seq": number,
            "time": "2026-03-01T14:45:00.000Z",
            "type": workload.NAMES[type(event)],
            "actor": "bench",
        }
        plain += len(json.dumps(envelope, separators=(",", ":"))) + len(
            b',"data":' + msgspec.json.encode(event)
        )
    found = find(system)(folder).sizes(count)
    return {"value": found["log"] - plain / count, "detail": found}


# --- many at once --------------------------------------------------------------------------------


def processes(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Let several processes append, each append durable; us an append over all of them."""
    target = {"floor": _append_floor_locked, "journal": _append_journal}[system]
    count = given["events"] // given["processes"]
    if system == "journal":
        find(system)(folder).append(1, durable=True)
    else:
        folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    barrier = context.Barrier(given["processes"])
    workers = [
        context.Process(target=target, args=(folder, count, barrier, results))
        for _ in range(given["processes"])
    ]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=600) for _ in workers]
    for worker in workers:
        worker.join(60)
    rates = [count / seconds for seconds, _ in found]
    jain = sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))
    if system == "journal" and (kept := _count_kept(folder)) != count * len(workers) + 1:
        raise AssertionError(f"{kept} events are in the log, not {count * len(workers) + 1}")
    return {
        "value": max(seconds for seconds, _ in found) / (count * len(workers)) * 1e6,
        "detail": {
            "unfairness": 1 / jain,
            "worst_ms": max(worst for _, worst in found) * 1e3,
        },
    }


def _count_kept(folder: Path) -> int:
    import journal

    with journal.open(folder, projection=workload.projection(), read_only=True) as engine:
        if not engine.verify().ok:
            raise AssertionError("the journal does not verify")
        return sum(event.actor == "bench" for event in engine.events())


def _append_floor_locked(folder: Path, count: int, barrier: Any, results: Any) -> None:
    import fcntl

    from bench.systems.floor import encode

    lines = [encode(n, event) for n, event in enumerate(workload.events(count), 1)]
    fd = os.open(folder / "events.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    barrier.wait()
    start, worst = time.perf_counter(), 0.0
    for line in lines:
        began = time.perf_counter()
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, line)
        os.fdatasync(fd)
        fcntl.flock(fd, fcntl.LOCK_UN)
        worst = max(worst, time.perf_counter() - began)
    results.put((time.perf_counter() - start, worst))


def _append_journal(folder: Path, count: int, barrier: Any, results: Any) -> None:
    import journal

    found = list(workload.events(count))
    with journal.open(folder, projection=workload.projection(), lock_timeout_s=60) as engine:
        engine.config.views.every_ms = 1_000_000
        barrier.wait()
        start, worst = time.perf_counter(), 0.0
        for event in found:
            began = time.perf_counter()
            engine.append(event, actor="bench")
            worst = max(worst, time.perf_counter() - began)
        results.put((time.perf_counter() - start, worst))


def threads(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Let threads of one process append, each append durable; us an append over all of them."""
    import journal

    found = list(workload.events(given["events"]))
    count = given["threads"]
    find(system)(folder).append(1, durable=True)
    with journal.open(folder, projection=workload.projection(), lock_timeout_s=60) as engine:
        engine.config.views.every_ms = 1_000_000

        def work(number: int) -> None:
            for event in found[number::count]:
                engine.append(event, actor="bench")

        workers = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        took = time.perf_counter() - start
    return {"value": took / given["events"] * 1e6}


# --- commands ------------------------------------------------------------------------------------


def command(system: str, folder: Path, given: dict[str, Any]) -> Result:
    """Run a command as a whole process, several times; ms at the median."""
    del system
    middle = str(given.get("events", 0) // 2)
    words = [
        word.replace("{folder}", str(folder)).replace("{middle}", middle)
        for word in given["command"]
    ]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or every start would compile everything
    if not folder.exists():
        import journal

        journal.init(folder).close()
    took = []
    for number in range(-1, given["runs"]):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, *words],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        if number >= 0:  # the one before warms up
            took.append((time.perf_counter() - start) * 1e3)
    return {"value": statistics.median(took)}


JOBS: dict[str, Job] = {
    job.__name__: job
    for job in (
        reference,
        fill,
        replay,
        verify,
        cold_open,
        states_at,
        append,
        append_behind,
        export,
        scan,
        imports,
        batches,
        sizes,
        processes,
        threads,
        command,
    )
}


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _check(state: Any, digest: str) -> None:
    if workload.digest(state) != digest:
        raise AssertionError("the state is not the one that the workload folds to")


def main() -> None:
    """Run one job and print its result."""
    job, system, given, folder = sys.argv[1:5]
    try:
        result = JOBS[job](system, Path(folder), json.loads(given))
    except Missing as error:
        result = {"missing": str(error)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
