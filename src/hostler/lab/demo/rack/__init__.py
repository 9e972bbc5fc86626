"""The demo of a rack: a day of demand, many protocols, and what was saved by switching off."""
