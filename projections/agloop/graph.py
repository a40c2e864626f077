"""What depends on what: cycles in it, found without recursion."""

from collections.abc import Iterable, Mapping


def find_cycles(needs: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the cycles among ids that need each other, each once, by its first id.

    `needs` maps an id to those it depends on; one that is not among its keys ends a path. Of
    cycles that share an id one is named: without it the others are looked for again by whoever
    mends it.
    """
    done: set[str] = set()
    cycles: list[list[str]] = []
    for start in needs:
        if start in done:
            continue
        path = [start]
        place = {start: 0}
        ways = [iter(needs[start])]
        while path:
            step = next(ways[-1], None)
            if step is None:
                done.add(path[-1])
                del place[path[-1]]
                path.pop()
                ways.pop()
            elif step in place:
                cycles.append(path[place[step] :])
            elif step in needs and step not in done:
                place[step] = len(path)
                path.append(step)
                ways.append(iter(needs[step]))
    return cycles
