"""Checkpoints, artifacts and data of a long task, kept by thread: `TaskState`.

states.py           the state's three parts, what they may hold, and the constants of the layer
events.py           what can happen to a task's state
projection.py       PROJECTION: what each event does to it
commands.py         what asks for an event: store, return, complete, artifact, data
recall.py           the state as the text that a model is given, within a budget
places.py           where the state of a thread lies, and its key in a storage
old_file.py         a state file that no journal keeps yet
keepers.py          who keeps a state: a journal, or any storage adapter
task_state.py       TaskState: the layer, as Python programs and the command line use it
storage.py          the protocol StorageAdapter, and storage_get_many
memory_storage.py   an adapter that forgets
file_storage.py     an adapter with one JSON file a key
journal_storage.py  an adapter that keeps the history of each key
storage_events.py   what can happen to a key, and the projection of that adapter
conformance.py      what every adapter must do, to be run against one
"""
