"""The fake passes what the client is tested by against Kubernetes' own API server."""

from test_client import *  # noqa: F403 - all of its tests, with this folder's fixtures
