"""The frontend for GitLab Runner: a fleeting plugin, launched by the runner over go-plugin."""
