"""What the runner's `plugin_config` says, turned into a fleet and all that a group needs."""
