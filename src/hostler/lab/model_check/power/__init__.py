"""Every corner in which a box may stand when something is asked of it: a way out, no wrong act."""
