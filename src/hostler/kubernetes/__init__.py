"""A client of Kubernetes' API that knows nothing of fleets: configuration, verbs, informers.

Public surface:

- `config`: `ClusterConfig`, `in_cluster`; `contexts`: `Place`, `from_kubeconfig`.
- `session`: `Session(config)`, the connections; `client`: `Client(session=…)` with `get`,
  `list_all`, `create`, `replace`, `patch`, `apply`, `delete`, `watch`, and `within(deadline)`.
- `resources`: `Resource`, a kind; `objects`: `Key`, `Metadata`, `Object[Spec, Status]`, `Listing`,
  `key_of`, `micro_time`; `requests`: `Selection`, `Watching`, `merge_patch`, `json_patch`,
  `Deletion`; `watch`: `Event`, `Bookmark`.
- `errors`: `ApiError` and what it can be, each with `retryable`.
- `informer`: `Informer(reader, resource, surroundings)` with its `cache` and `on_change`.
- `queue`: `WorkQueue(clock)`; `schedule`: its laws, pure.
- `election`: `Elector(client, candidate, clock, draw)`, with `holding(name)`.

Nothing here is imported by other commands: it is imported where a cluster is spoken to.
"""
