"""The demo of a rack: a day of demand, over many protocols at once, in less than a minute."""
