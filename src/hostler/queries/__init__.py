"""Read models for every frontend: how things stand, why, and what comes next."""
