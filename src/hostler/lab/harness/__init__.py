"""One simulated process: every port call can be stopped or struck."""
