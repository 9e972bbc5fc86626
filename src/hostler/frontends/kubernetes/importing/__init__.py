"""Importing: objects of other programs as objects of ours, so that their users can move over."""
